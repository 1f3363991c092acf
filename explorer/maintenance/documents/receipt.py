"""A receipt: what became of a plan, true also after a failure half-way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from explorer.errors import Problem

FORMAT = 2
"""Of the document; in those of format 1, which are read as they are, steps have no `id`."""

_READABLE = frozenset({1, FORMAT})

Status = Literal["completed", "partly", "cancelled", "refused", "failed"]
"""`refused`: nothing was changed, because a guard forbids it, the approval does not fit or
the plan is stale. `failed`: an error before the first change, or a promise that does not
hold after the last. `partly` and `cancelled`: an error, or a person, ended it between two
changes; `partly` also where all steps were done and files stayed that should have been
deleted, because they are no longer what was planned."""

StepStatus = Literal["done", "partly", "not begun"]

FileOutcome = Literal["already gone", "refused", "failed"]

COUNTS = ("planned", "done", "already_gone", "refused", "failed", "num_bytes")
"""What is counted of a step: files, and the bytes of those that are done."""

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
    version of its commit. `id` is that of the step in its plan, empty in format 1.
    """

    id: str = ""
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
    """The receipt of a document; raises `KeyError`, `TypeError` or `ValueError` else, also
    where a value is not of its kind, as after a change by hand."""
    if document["format"] not in _READABLE:
        raise ValueError(f"format {document['format']}")
    body = {key: value for key, value in document.items() if key not in {"format", "id"}}
    _check(list | tuple, document["steps"], document["checks"])
    body["steps"] = tuple(_parse_step(step) for step in document["steps"])
    body["checks"] = tuple(_parse_check(check) for check in document["checks"])
    if document["problem"] is not None:
        body["problem"] = _parse_problem(document["problem"])
    receipt = Receipt(**body)
    _check(str, *(getattr(receipt, name) for name in _TEXTS))
    _check(str | None, receipt.approved_by, receipt.reason, receipt.undo)
    _check_word(receipt.status, get_args(Status))
    for time in (receipt.started_at, receipt.ended_at):
        _check(int, time)
        if not 0 <= time <= LATEST_MS:
            raise ValueError(f"the time {time}")
    if receipt.id != document["id"]:
        raise ValueError(f"the id {document['id']}")
    return receipt


LATEST_MS = 253_402_300_799_999
"""The last millisecond that a calendar has."""

_TEXTS = ("digest", "operation", "uri", "table_id", "summary")


def _parse_step(document: Mapping[str, Any]) -> StepReceipt:
    _check(list | tuple, document["exceptions"])
    exceptions = tuple(_parse_exception(found) for found in document["exceptions"])
    step = StepReceipt(**{**document, "exceptions": exceptions})
    _check(str, step.id, step.kind)
    _check(int, *(getattr(step, name) for name in COUNTS))
    _check(dict | None, step.result)
    _check_word(step.status, get_args(StepStatus))
    return step


def _parse_exception(document: Mapping[str, Any]) -> FileException:
    found = FileException(**document)
    _check(str, found.path, found.reason)
    _check_word(found.outcome, get_args(FileOutcome))
    return found


def _parse_check(document: Mapping[str, Any]) -> Check:
    found = Check(**document)
    _check(str, found.what, found.detail)
    _check(bool, found.holds)
    return found


def _parse_problem(document: Mapping[str, Any]) -> Problem:
    found = Problem(**document)
    _check(str, found.kind, found.problem, found.reason, found.remedy)
    _check(str | None, found.spec)
    return found


def _check(kind: Any, *values: object) -> None:
    for value in values:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{type(value).__name__} where {kind} is written")


def _check_word(value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{value!r} is none of {words}")
