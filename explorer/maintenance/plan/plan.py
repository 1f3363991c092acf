"""A plan: what would be done to a table, why, and what it costs, as plain data.

A plan is a document. Its digest covers every word of it and every row of its file
list, so that what is approved is what is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal

import orjson
import pyarrow as pa

from explorer.maintenance.plan._step_documents import parse_steps, render_step
from explorer.maintenance.plan.file_list import FILES_SCHEMA, digest_files
from explorer.maintenance.plan.step_types import Step, check_steps
from explorer.protocol.values.unicode_text import check_unicode

if TYPE_CHECKING:
    from explorer.table.table import Table

FORMAT = 2
"""Of the document. In format 1 steps referred to each other by their positions."""

Outcome = Literal["allow", "warn", "refuse"]

Operation = Literal[
    "checkpoint",
    "compact-log",
    "vacuum",
    "clean-log",
    "cluster-by",
    "column",
    "constraint",
    "drop-feature",
    "optimize",
    "restore",
    "set-properties",
    "repair",
    "upgrade",
]

Ground = Literal["protocol", "metadata", "files", "every file"]
"""What a plan may rest on: a newer commit that touches it makes the plan stale. `files` are
those of the plan, `every file` any that is added or removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one guard says of a plan.

    `asks_for_name` says that the approval has to carry the table's name, typed, and
    `asks_for_reason` that it has to say why: where files are kept for less than the minimum,
    and where something is lost that nothing brings back.
    """

    guard: str
    outcome: Outcome
    message: str
    remedy: str = ""
    asks_for_name: bool = False
    asks_for_reason: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The version that a plan was made on, and what tells that the log is still the same
    one: the SHA-256 of its commit, None where only a checkpoint is left of it."""

    version: int
    commit_sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The table that a plan is about.

    `name` is what a person types where a guard asks for it. `protocol` has the fields of
    the action.
    """

    uri: str
    id: str
    name: str
    protocol: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What must still hold afterwards: these versions open, with so many files each (None
    where they were not counted), and where `checks_files` says so none of their files is
    among those that went."""

    versions: Mapping[str, int | None] = field(default_factory=dict)
    checks_files: bool = False


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be done to one table.

    `files` has the columns of `FILES_SCHEMA`, sorted by path. `planned_at` is the clock of
    the planner, in milliseconds since the epoch. `parameters` are what was asked for,
    `effect` what comes of it, both plain data. `table` is the table that the plan was
    made for in this process, and no part of the document.
    """

    operation: Operation
    subject: Subject
    anchor: Anchor
    planned_at: int
    summary: str
    parameters: Mapping[str, Any]
    effect: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]
    steps: tuple[Step, ...]
    rests_on: tuple[Ground, ...]
    promise: Promise = field(default_factory=Promise)
    files: pa.Table = field(default_factory=lambda: pa.Table.from_batches([], FILES_SCHEMA))
    table: Table | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_steps(self.steps)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the document, in hexadecimal."""
        return digest_document(self.document)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The plan as JSON; its file list is there by its own digest."""
        return {
            "format": FORMAT,
            "operation": self.operation,
            "subject": {
                "uri": self.subject.uri,
                "id": self.subject.id,
                "name": self.subject.name,
                "protocol": dict(self.subject.protocol),
            },
            "anchor": {"version": self.anchor.version, "commit_sha256": self.anchor.commit_sha256},
            "planned_at": self.planned_at,
            "summary": self.summary,
            "parameters": dict(self.parameters),
            "effect": dict(self.effect),
            "verdicts": [_render_verdict(verdict) for verdict in self.verdicts],
            "steps": [render_step(step) for step in self.steps],
            "rests_on": list(self.rests_on),
            "promise": {
                "versions": dict(self.promise.versions),
                "checks_files": self.promise.checks_files,
            },
            "files": {"num_files": self.files.num_rows, "sha256": digest_files(self.files)},
        }

    @property
    def refusals(self) -> tuple[Verdict, ...]:
        """The verdicts that forbid it."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "refuse")

    @property
    def sentence(self) -> str:
        """What blocks it, with what helps, and then what was planned; where nothing does, what
        it does."""
        return _sentence(self.summary, [(one.message, one.remedy) for one in self.refusals])

    @property
    def asks_for_name(self) -> bool:
        """Whether the approval needs the table's name."""
        return any(verdict.asks_for_name for verdict in self.verdicts)

    @property
    def asks_for_reason(self) -> bool:
        """Whether the approval needs a reason."""
        return any(verdict.asks_for_reason for verdict in self.verdicts)


def sentence_of(document: Mapping[str, Any]) -> str:
    """`Plan.sentence` of a plan by its document, or by as much of one as is left, after the
    `note` of one that another release made."""
    summary = str(document.get("summary", ""))
    if note := document.get("note"):
        return f"{note} Planned: {summary}"
    refusals = [one for one in document.get("verdicts", ()) if one["outcome"] == "refuse"]
    blocks = [(one["message"], one.get("remedy") or "") for one in refusals]
    return _sentence(summary, blocks)


def _sentence(summary: str, blocks: Sequence[tuple[str, str]]) -> str:
    if not blocks:
        return summary
    said = " ".join(f"{message} {remedy}".strip() for message, remedy in blocks)
    return f"Blocked: {said} Planned: {summary}"


def digest_document(document: Mapping[str, Any]) -> str:
    """The digest of a plan by its document, in hexadecimal."""
    return sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()


def parse_plan(document: Mapping[str, Any], files: pa.Table) -> Plan:
    """The plan of a document; raises `KeyError`, `TypeError` or `ValueError` for what is none."""
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']}")
    anchor, promise, subject = document["anchor"], document["promise"], document["subject"]
    return Plan(
        operation=document["operation"],
        subject=Subject(**subject),
        anchor=Anchor(**anchor),
        planned_at=document["planned_at"],
        summary=document["summary"],
        parameters=document["parameters"],
        effect=document["effect"],
        verdicts=tuple(_parse_verdict(verdict) for verdict in document["verdicts"]),
        steps=parse_steps(document["steps"]),
        rests_on=tuple(document["rests_on"]),
        promise=Promise(**promise),
        files=files,
    )


def _parse_verdict(document: Mapping[str, Any]) -> Verdict:
    asks = document.get("asks_for_name", False)
    return Verdict(**{"asks_for_reason": asks, **document})


def _render_verdict(verdict: Verdict) -> dict[str, Any]:
    """The document has `asks_for_reason` only where it differs from `asks_for_name`: one that
    was saved before there were two keeps its digest, and asks for both as it did."""
    found = {
        "guard": verdict.guard,
        "outcome": verdict.outcome,
        "message": verdict.message,
        "remedy": verdict.remedy,
        "asks_for_name": verdict.asks_for_name,
    }
    if verdict.asks_for_reason != verdict.asks_for_name:
        found["asks_for_reason"] = verdict.asks_for_reason
    return found


@dataclass(frozen=True, slots=True)
class Approval:
    """The consent of a person to exactly one plan.

    `digest` is that of the plan which the person saw. `by` is who that is: the receipt and
    the commits that are made carry the name, and none where it is None. `table_name` and
    `reason` are needed where a verdict asks for them; a reason goes into the receipt wherever
    it is given. Raises `InvalidArgumentError` for text that a receipt could not hold.
    """

    digest: str
    by: str | None = None
    table_name: str | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        """Ask each text whether it is one."""
        for what, text in (
            ("The name of the person", self.by),
            ("The table's name", self.table_name),
            ("The reason", self.reason),
        ):
            if text is not None:
                check_unicode(text, f"{what} in the approval cannot be read.")
