"""Which files of two versions stand in the same order in both, found without a look-up.

The checkpoints of one writer hold nearly all of their files in one order, and to compare
texts that stand side by side takes a tenth of what a table of a million texts does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from explorer.comparison._fingerprints import Fingerprints
from explorer.log.plain_arrays import Flags, in_one_piece

_AT_ONCE = 8_192
"""Rows compared at a time, so that little is compared in vain behind the end of a run."""

_FIRST_WINDOW, _WIDER = 64, 16
_EACH_LOOK, _SAVED = 300, 4
"""What a look costs beside its window, and what a row in a run saves, in rows of a window."""

_MANY_CHUNKS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedRun:
    """So many rows from `before` on of one side that are those from `after` on of the other."""

    before: int
    after: int
    count: int


def find_runs(before: Fingerprints, after: Fingerprints) -> list[AlignedRun]:
    """Rows of both sides with one number each, in the order of both; not necessarily all, and
    none where most of the shorter side would be left over."""
    runs = list(_runs(before, after))
    return runs if 2 * sum(run.count for run in runs) >= min(len(before), len(after)) else []


def _runs(before: Fingerprints, after: Fingerprints) -> Iterator[AlignedRun]:
    i, j, window = 0, 0, _FIRST_WINDOW
    # to look for the next run must not take longer than runs save
    budget = _AT_ONCE + (len(before) + len(after)) // 2
    while i < len(before) and j < len(after) and budget >= 0:
        if count := _common_start(before[i:], after[j:]):
            yield AlignedRun(before=i, after=j, count=count)
            i, j, window = i + count, j + count, _FIRST_WINDOW
            budget += _SAVED * count
            continue
        left, right = before[i : i + window], after[j : j + window]
        budget -= _EACH_LOOK + len(left) + len(right)
        if (step := _first_shared(left, right)) is not None:
            i, j = i + step[0], j + step[1]
        elif i + len(left) == len(before) and j + len(right) == len(after):
            return
        else:
            window *= _WIDER


def _common_start(left: Fingerprints, right: Fingerprints) -> int:
    """How many of the first numbers are the same."""
    most = min(len(left), len(right))
    for start in range(0, most, _AT_ONCE):
        end = min(start + _AT_ONCE, most)
        differ = left[start:end] != right[start:end]
        if differ.any():
            return start + int(differ.argmax())
    return most


def _first_shared(left: Fingerprints, right: Fingerprints) -> tuple[int, int] | None:
    """Where the first number of `left` that `right` has too stands in both."""
    _, at_left, at_right = np.intersect1d(left, right, return_indices=True)
    if not len(at_left):
        return None
    first = int(at_left.argmin())
    return int(at_left[first]), int(at_right[first])


def same_texts(
    before: pa.ChunkedArray, after: pa.ChunkedArray, runs: list[AlignedRun]
) -> tuple[Flags, Flags]:
    """The rows of both sides that are in `runs` and whose texts are the same, too; some
    thousand of them count as different where one does."""
    sides = np.zeros(len(before), np.bool_), np.zeros(len(after), np.bool_)
    before, after = _in_few_chunks(before), _in_few_chunks(after)
    for run in runs:
        for start in range(0, run.count, _AT_ONCE):
            count = min(_AT_ONCE, run.count - start)
            left, right = run.before + start, run.after + start
            if before.slice(left, count).equals(after.slice(right, count)):
                sides[0][left : left + count] = True
                sides[1][right : right + count] = True
    return sides


def _in_few_chunks(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    # each slice passes over the chunks before it
    if texts.num_chunks <= _MANY_CHUNKS:
        return texts
    return pa.chunked_array([in_one_piece(texts)])
