"""A receipt: what became of a plan, true also after a failure half-way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from explorer.errors import Problem

FORMAT = 1

Status = Literal["completed", "partly", "cancelled", "refused", "failed"]
"""`refused`: nothing was changed, because a guard forbids it, the approval does not fit or
the plan is stale. `failed`: an error before the first change, or a promise that does not
hold after the last. `partly` and `cancelled`: an error, or a person, ended it between two
changes; `partly` also where all steps were done and files stayed that should have been
deleted, because they are no longer what was planned."""

StepStatus = Literal["done", "partly", "not begun"]

FileOutcome = Literal["already gone", "refused", "failed"]

MAX_EXCEPTIONS = 1000
"""Files named one by one in a receipt; of more than that only the number is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileException:
    """A file that was planned and not changed: `already gone`, `refused` or `failed`."""

    path: str
    outcome: FileOutcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReceipt:
    """What became of one step: of `planned` files so many were `done`, were `already_gone`,
    were `refused` because they are no longer what was planned, or `failed`.

    `num_bytes` counts what was done. `result` is what the step made known, such as the
    version of its commit.
    """

    kind: str
    status: StepStatus
    planned: int
    done: int = 0
    already_gone: int = 0
    refused: int = 0
    failed: int = 0
    num_bytes: int = 0
    result: Mapping[str, Any] | None = None
    exceptions: tuple[FileException, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was looked at after the run: whether a version still opens with its files."""

    what: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of a plan.

    Times are milliseconds since the epoch. `problem` says why it ended before its end, and
    is None where it did not. `undo` names the way back, where there is one.
    """

    digest: str
    operation: str
    uri: str
    table_id: str
    summary: str
    status: Status
    started_at: int
    ended_at: int
    approved_by: str | None
    reason: str | None
    steps: tuple[StepReceipt, ...] = ()
    checks: tuple[Check, ...] = ()
    problem: Problem | None = None
    undo: str | None = None

    @property
    def id(self) -> str:
        """Its name among the receipts: when it began, and of which plan."""
        return f"{self.started_at:013}-{self.digest[:12]}"

    @property
    def document(self) -> dict[str, Any]:
        """The receipt as JSON."""
        return {"format": FORMAT, "id": self.id, **asdict(self)}


def parse_receipt(document: Mapping[str, Any]) -> Receipt:
    """The receipt of a document; raises `KeyError`, `TypeError` or `ValueError` else."""
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']}")
    body = {key: value for key, value in document.items() if key not in {"format", "id"}}
    body["steps"] = tuple(_parse_step(step) for step in document["steps"])
    body["checks"] = tuple(Check(**check) for check in document["checks"])
    if document["problem"] is not None:
        body["problem"] = Problem(**document["problem"])
    return Receipt(**body)


def _parse_step(document: Mapping[str, Any]) -> StepReceipt:
    exceptions = tuple(FileException(**found) for found in document["exceptions"])
    return StepReceipt(**{**document, "exceptions": exceptions})
