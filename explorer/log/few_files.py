"""Figures of the files of a small log, by its actions as they were parsed (spec: Add File and
Remove File, Per-file Statistics): importing what computes with columns takes longer than opening
such a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explorer.log.load import LoadedVersion
from explorer.log.single_count import read_count
from explorer.records import record


@record
class FewFiles:
    """The sizes of the live files in bytes, ascending, and how many of them have a deletion
    vector; `num_deleted_rows` and `num_rows` are None where the columns have to be asked, because
    something is missing or cannot be. `says_no_rows` is true where they are unknown for good: some
    file has no statistics, and those of all others were read."""

    sizes: tuple[int, ...]
    num_vectors: int
    num_deleted_rows: int | None
    num_rows: int | None
    says_no_rows: bool


def count_few(loaded: LoadedVersion) -> FewFiles | None:
    """The figures of a version, while all its files are as they were parsed; else None."""
    bodies = loaded.tail.add_rows.bodies if loaded.checkpoint is None else None
    if bodies is None:
        return None
    sizes: list[int | None] = [body.get("size") for body in bodies]
    known_sizes = [size for size in sizes if size is not None]
    if len(known_sizes) < len(sizes):
        return None
    counts = [_count(body) for body in bodies]
    hidden = [
        _hidden(body["deletionVector"], count)
        for body, count in zip(bodies, counts, strict=True)
        if body.get("deletionVector") is not None
    ]
    known = [count for count in counts if count is not None]
    deleted = None if None in hidden else sum(number or 0 for number in hidden)
    return FewFiles(
        sizes=tuple(sorted(known_sizes)),
        num_vectors=len(hidden),
        num_deleted_rows=deleted,
        says_no_rows=None in counts
        and all(
            body.get("stats") is None
            for body, count in zip(bodies, counts, strict=True)
            if count is None
        ),
        num_rows=None if deleted is None or len(known) < len(counts) else sum(known) - deleted,
    )


def _count(body: Mapping[str, Any]) -> int | None:
    stats = body.get("stats")
    return None if stats is None else read_count(stats)


def _hidden(vector: Mapping[str, Any], count: int | None) -> int | None:
    """How many rows a vector hides; None where it cannot be so many."""
    number: int | None = vector.get("cardinality")
    if number is None or number < 0 or (count is not None and number > count):
        return None
    return number
