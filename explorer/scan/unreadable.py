"""Files whose statistics cannot be read, as problems: the first by name, the others counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.errors import Problem
from explorer.log.actions.columns import int32_column
from explorer.table.counts import count

_MAX_NAMED: Final = 20
"""A table may have a million files with one and the same fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFiles:
    """The paths of the first of them, and how many there are."""

    paths: tuple[str, ...] = ()
    count: int = 0


def unreadable_files(paths: pa.ChunkedArray, positions: Sequence[int]) -> UnreadableFiles:
    """Those of some files at which statistics turned out to be broken."""
    named = paths.take(int32_column(positions[:_MAX_NAMED]))
    return UnreadableFiles(paths=tuple(named.to_pylist()), count=len(positions))


def unreadable_problems(found: Iterable[UnreadableFiles]) -> tuple[Problem, ...]:
    """What to say of them, in the order of the log."""
    every = list(found)
    paths = [path for files in every for path in files.paths][:_MAX_NAMED]
    problems = [_problem(f"{path[:200]!r}") for path in paths]
    more = sum(files.count for files in every) - len(paths)
    return (*problems, *([_problem(count(more, "more file"))] if more else []))


def _problem(which: str) -> Problem:
    return Problem(
        kind="log_corrupt",
        problem=f"The statistics of {which} cannot be read.",
        reason="They are not a JSON object, or a value in them is not of its column's type or is "
        "impossible: a count below 0, more nulls than rows, a min above the max.",
        remedy="Nothing is lost: no file is skipped by such values. Compute them again.",
        spec="Per-file Statistics",
    )
