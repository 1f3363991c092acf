"""What the journal of an execution says. It lies where a person, or another program, may have
changed it: a word that is not what an execution writes counts as not written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard, get_args

from explorer.maintenance.documents.receipt import (
    COUNTS,
    MAX_EXCEPTIONS,
    FileException,
    FileOutcome,
)
from explorer.maintenance.steps.context import Tally

Journal = Sequence[Mapping[str, Any]]

_LARGEST: Final = 2**63 - 1
_LONGEST: Final = 2**15
"""Characters of a path or a reason; what is longer is none of ours."""
_MOST_PROMISED: Final = 100
_OUTCOMES: Final[tuple[FileOutcome, ...]] = get_args(FileOutcome)


def completed_in(journal: Journal) -> str | None:
    """The id of the receipt of a run that came to its end, if the last one did."""
    ended = [line for line in journal if line.get("event") == "ended"]
    if ended and ended[-1].get("status") == "completed":
        return str(ended[-1].get("receipt"))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """How far a step came that was begun: the files up to `next` are done, with these counts
    and exceptions; `runs` name the files that earlier executions may have left. All is empty
    where the step was not begun."""

    next: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    exceptions: tuple[FileException, ...] = ()
    runs: tuple[str, ...] = ()


def done_in(journal: Journal, step: str) -> Tally | None:
    """What became of the step of this id that was done; None where the journal does not say
    that it was."""
    line = _last(journal, step, "done")
    if line is None:
        return None
    result = line.get("result")
    tally = Tally(result=result if isinstance(result, dict) else None)
    for name, count in _counts(line).items():
        setattr(tally, name, count)
    tally.take_up(_exceptions(journal, step))
    return tally


def noted_in(journal: Journal, step: str) -> Noted:
    """What the journal says of the step of this id that was begun."""
    line = _last(journal, step, "batch")
    if line is None:
        return Noted()
    listed = line.get("runs")
    found = listed if isinstance(listed, list) else []
    runs = tuple(run for run in found if isinstance(run, str))
    if not _is_count(start := line.get("next")):
        return Noted(runs=runs)
    exceptions = tuple(_exceptions(journal, step))
    return Noted(next=start, counts=_counts(line), exceptions=exceptions, runs=runs)


def promised_in(journal: Journal) -> frozenset[int] | None:
    """The versions that could be opened before the first change; None where the journal does
    not say."""
    begun = next((line for line in journal if line.get("event") == "begun"), {})
    versions = begun.get("promised")
    if not isinstance(versions, list) or len(versions) > _MOST_PROMISED:
        return None
    if not all(map(_is_count, versions)):
        return None
    return frozenset(versions)


def render_tally(tally: Tally) -> dict[str, Any]:
    """What a line says of a tally: its counts, and the exceptions that no line has yet."""
    new = [
        {"path": found.path, "outcome": found.outcome, "reason": found.reason}
        for found in tally.take_new()
    ]
    return {"counts": tally.counts(), **({"exceptions": new} if new else {})}


def _last(journal: Journal, step: str, event: str) -> Mapping[str, Any] | None:
    """The last line of that event and step."""
    lines = (line for line in reversed(journal) if line.get("event") == event)
    return next((line for line in lines if line.get("step") == step), None)


def _counts(line: Mapping[str, Any]) -> dict[str, int]:
    counts = line.get("counts")
    if not isinstance(counts, dict):
        return {}
    return {name: counts[name] for name in COUNTS if _is_count(counts.get(name))}


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _LARGEST


def _exceptions(journal: Journal, step: str) -> list[FileException]:
    """Those of all batches of a step and of its end, each file once."""
    found: dict[str, FileException] = {}
    for line in journal:
        if line.get("step") == step and line.get("event") in {"batch", "done"}:
            for one in _exceptions_of(line):
                if len(found) >= MAX_EXCEPTIONS:
                    break
                found[one.path] = one
    return list(found.values())


def _exceptions_of(line: Mapping[str, Any]) -> Iterator[FileException]:
    listed = line.get("exceptions")
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        path, reason = one.get("path"), one.get("reason")
        outcome = next((known for known in _OUTCOMES if known == one.get("outcome")), None)
        if _is_text(path) and _is_text(reason) and outcome is not None:
            yield FileException(path=path, outcome=outcome, reason=reason)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _LONGEST
