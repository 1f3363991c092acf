"""What the journal of an execution says. It lies where a person, or another program, may have
changed it: a word that is not what an execution writes counts as not written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def done_in(journal: Journal, index: int) -> Tally | None:
    """What became of a step that was done; None where the journal does not say that it was."""
    line = _last(journal, index, "done")
    if line is None:
        return None
    result = line.get("result")
    tally = Tally(result=result if isinstance(result, dict) else None)
    for name, count in _counts(line).items():
        setattr(tally, name, count)
    tally.take_up(_exceptions(journal, index))
    return tally


def batch_in(journal: Journal, index: int) -> dict[str, Any]:
    """How far a step came that was begun: what is known of `next`, `counts`, `runs` and
    `exceptions`; nothing where it was not begun."""
    line = _last(journal, index, "batch")
    if line is None:
        return {}
    runs = line.get("runs")
    found: dict[str, Any] = {
        "runs": [run for run in runs if isinstance(run, str)] if isinstance(runs, list) else []
    }
    if _is_count(line.get("next")):
        counts = _counts(line)
        found |= {"next": line["next"], "counts": counts, "exceptions": _exceptions(journal, index)}
    return found


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


def _last(journal: Journal, index: int, event: str) -> Mapping[str, Any] | None:
    """The last line of that event and step."""
    lines = (line for line in reversed(journal) if line.get("event") == event)
    return next((line for line in lines if line.get("step") == index), None)


def _counts(line: Mapping[str, Any]) -> dict[str, int]:
    counts = line.get("counts")
    if not isinstance(counts, dict):
        return {}
    return {name: counts[name] for name in COUNTS if _is_count(counts.get(name))}


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _LARGEST


def _exceptions(journal: Journal, index: int) -> list[FileException]:
    """Those of all batches of a step and of its end, each file once."""
    found: dict[str, FileException] = {}
    for line in journal:
        if line.get("step") == index and line.get("event") in {"batch", "done"}:
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
