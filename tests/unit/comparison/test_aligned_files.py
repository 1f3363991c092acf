"""Files that stand in one order in both versions are found side by side."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from explorer.comparison._aligned_files import find_runs, same_texts
from explorer.log.actions.columns import string_column


def _numbers(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


def _covered(before: list[int], after: list[int]) -> int:
    """How many rows the runs have, which must be in order and hold one number in both."""
    runs = find_runs(_numbers(before), _numbers(after))
    end = (0, 0)
    for run in runs:
        assert run.count > 0
        assert (run.before >= end[0], run.after >= end[1]) == (True, True)
        end = run.before + run.count, run.after + run.count
        assert before[run.before : end[0]] == after[run.after : end[1]]
    return sum(run.count for run in runs)


def test_files_that_came_and_went_leave_the_others_aligned() -> None:
    older = list(range(100_000))
    gone = {*range(5_000), *range(50_000, 50_040), 70_000, 70_002}
    newer = [*(number for number in older if number not in gone), *range(200_000, 210_000)]
    assert _covered(older, newer) == _covered(newer, older) == len(older) - len(gone)


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [([], [1], 0), ([1], [], 0), ([1, 2], [3, 4], 0), ([7, 7, 7], [7, 7], 2), ([1, 2], [2, 1], 1)],
)
def test_short_sides_are_aligned_as_far_as_they_go(
    before: list[int], after: list[int], count: int
) -> None:
    assert _covered(before, after) == count


def test_runs_hold_for_sides_without_much_order() -> None:
    numbers = random.Random(7)
    for _ in range(200):
        most = numbers.choice((3, 100, 10_000))
        before, after = (
            [numbers.randrange(most) for _ in range(numbers.randrange(300))] for _ in range(2)
        )
        _covered(before, after)
    shuffled = list(range(20_000))
    numbers.shuffle(shuffled)
    assert _covered(list(range(20_000)), shuffled) == 0


def test_texts_are_compared_whatever_their_numbers_say() -> None:
    count = 20_000
    names = [f"file {number}" for number in range(count)]
    other = [*names[: count - 1], "another"]
    before = pa.chunked_array([string_column(names[:5]), string_column(names[5:])])
    after = pa.chunked_array([string_column(other[:9000]), string_column(other[9000:])])
    runs = find_runs(_numbers([1] * count), _numbers([1] * count))
    same = same_texts(before, after, runs)
    assert (same[0] == same[1]).all()
    assert same[0][:16_000].all()
    assert not same[0][-1]
    assert not any(flags.any() for flags in same_texts(before, after, []))


def test_texts_in_very_many_chunks_are_the_same_texts() -> None:
    names = [f"{number}" for number in range(1_500)]
    pieces = pa.chunked_array([string_column([name]) for name in names])
    runs = find_runs(_numbers([*range(1_500)]), _numbers([*range(1_500)]))
    same = same_texts(pieces, pa.chunked_array([string_column(names)]), runs)
    assert same[0].all()
    assert same[1].all()
