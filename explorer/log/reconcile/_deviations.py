"""Lines of the log that deviate from the specification but are unambiguous, and the problems
that report them (spec: Delta Log Entries)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from explorer.errors import Problem
from explorer.log.commits.commit_file import DeviatingLine, Deviation


@dataclass(slots=True, kw_only=True)
class _Found:
    """One kind of deviation: its first place in the log, and how many places have it."""

    name: str
    number: int
    files: int = 1
    lines: int = 1


class Deviations:
    """Counts the deviations of a log; takes its files newest first, lines of a file last first."""

    def __init__(self) -> None:
        self._found: dict[Deviation, _Found] = {}

    def take(self, lines: Iterable[DeviatingLine]) -> None:
        """Count some lines."""
        for line in lines:
            held = self._found.get(line.what)
            if held is None:
                self._found[line.what] = _Found(name=line.name, number=line.number)
                continue
            held.lines += 1
            held.files += held.name != line.name
            held.name, held.number = line.name, line.number

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One for each kind, at the first place that has it."""
        return tuple(_problem(what, found) for what, found in self._found.items())


_PROBLEMS: Final[Mapping[Deviation, str]] = {
    "stray x": "has a stray 'x' behind an action",
    "byte order mark": "begins with a byte order mark",
    "partition value": "has a partition value that is not text",
}
_REASONS: Final[Mapping[Deviation, str]] = {
    "stray x": "An old writer of Databricks left it; the action before it is whole and was read",
    "byte order mark": "The specification has JSON without one; the action behind it was read",
    "partition value": "The specification has them as strings; a number was read as its digits",
}


def _problem(what: Deviation, found: _Found) -> Problem:
    also = ""
    if found.lines > 1:
        files = "this file" if found.files == 1 else f"{found.files:,} log files"
        also = f". {found.lines:,} lines of {files} are so"
    return Problem(
        kind="log_corrupt",
        problem=f"{found.name} {_PROBLEMS[what]}.",
        reason=f"{_REASONS[what]}{also}.",
        remedy="Nothing is lost here, but another reader may refuse it: report it to the writer.",
        place=f"{found.name}:{found.number}",
        spec="Delta Log Entries",
    )
