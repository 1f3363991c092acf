"""Commits as columns, by cell, and the table's size walked back from the latest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.figures.cells import APART, Cells, Stretch, build_cells, find_ends
from widgets.figures.commits import (
    Commits,
    build_histogram,
    build_live,
    build_order,
    read_commits,
    thin,
)
from widgets.theme import LANES

START = datetime(2026, 1, 1, tzinfo=UTC)

SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", pa.timestamp("ms", "UTC")),
        ("operation", pa.string()),
        ("user_name", pa.string()),
        ("engine_info", pa.string()),
        ("predicate", pa.string()),
        ("message", pa.string()),
        ("files_added", pa.int64()),
        ("files_removed", pa.int64()),
        ("deletion_vectors_added", pa.int64()),
        ("bytes_added", pa.int64()),
        ("bytes_removed", pa.int64()),
        ("rows_added", pa.int64()),
        ("rows_removed", pa.int64()),
        ("is_checkpoint", pa.bool_()),
        ("problem", pa.string()),
    ]
)


def commit(version: int, **known: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names)
    row |= {
        "version": version,
        "timestamp": START + timedelta(hours=version),
        "operation": "WRITE",
        "is_checkpoint": False,
    }
    return row | known


def frame(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def grown(version: int, added: int | None, removed: int | None = 0) -> dict[str, Any]:
    return commit(version, bytes_added=added, bytes_removed=removed)


def test_commits_are_put_in_the_order_of_their_versions() -> None:
    commits = read_commits(frame(commit(2), commit(1), commit(0)))
    assert commits.version.tolist() == [0, 1, 2]
    assert commits.position(1) == 1
    assert commits.position(9) is None


def test_what_is_not_recorded_is_not_a_number() -> None:
    commits = read_commits(
        frame(commit(0, files_added=3), commit(1, files_added=1, files_removed=0))
    )
    assert np.isnan(commits.touched[0])
    assert commits.touched[1] == 1


def test_an_unknown_operation_has_a_lane_of_its_own() -> None:
    commits = read_commits(frame(commit(0, operation=None), commit(1, operation="DELETE")))
    assert [LANES[lane] for lane in commits.lane] == ["UNKNOWN", "DELETE"]


def test_times_that_are_all_alike_give_an_axis_of_versions() -> None:
    alike = read_commits(frame(*(commit(v, timestamp=START) for v in range(3))))
    assert alike.axis == "version"
    assert read_commits(frame(commit(0), commit(1))).axis == "time"


def test_a_missing_time_gives_an_axis_of_versions() -> None:
    assert read_commits(frame(commit(0), commit(1, timestamp=None))).axis == "version"


def cells_of(commits: Commits, pixels: float = 400.0) -> Cells:
    low, high = commits.bounds()
    return build_cells(commits, Stretch(low=low, high=high, pixels=pixels))


@pytest.mark.parametrize("count", [1, 70])
def test_commits_that_have_room_are_drawn_one_by_one(count: int) -> None:
    commits = read_commits(frame(*(commit(v) for v in range(count))))
    assert cells_of(commits).count.tolist() == [1] * count


def test_many_commits_are_drawn_by_cell_and_none_is_lost() -> None:
    operations = ["WRITE", "MERGE", "OPTIMIZE", None]
    count = 20_000
    commits = read_commits(
        frame(*(commit(v, operation=operations[v % 4], files_added=1, files_removed=0)
                for v in range(count)))
    )  # fmt: skip
    cells = cells_of(commits)
    assert len(cells.x) <= (400 / APART + 1) * len(operations)
    assert int(cells.count.sum()) == count
    assert float(cells.touched.sum()) == count
    assert int(cells.last.max()) == count - 1
    assert (cells.first <= cells.last).all()


def test_a_cell_whose_commits_do_not_say_stays_unknown() -> None:
    commits = read_commits(frame(*(commit(v) for v in range(1_000))))
    cells = cells_of(commits)
    assert int(cells.count.max()) > 1
    assert np.isnan(cells.touched).all()


def test_only_what_is_visible_is_drawn() -> None:
    commits = read_commits(frame(*(commit(v) for v in range(100))))
    stretch = Stretch(low=commits.time[10], high=commits.time[19])
    assert build_cells(commits, stretch).first.tolist() == list(range(10, 20))
    nothing = Stretch(low=commits.time[10] + 1, high=commits.time[10] + 2)
    assert len(build_cells(commits, nothing).x) == 0


@given(
    x=st.lists(st.integers(0, 200), max_size=50).map(sorted), apart=st.sampled_from([0, 1, 5, 300])
)
def test_what_stays_is_far_enough_apart_and_what_gives_way_is_near(
    x: list[int], apart: int
) -> None:
    places = np.array(x, dtype=np.float64)
    ends = find_ends(places, apart).tolist()
    assert ends == sorted(set(ends))
    assert ends[-1:] == ([len(x) - 1] if x else [])
    assert (np.diff(places[ends]) >= apart).all()
    for at, place in enumerate(places):
        after = min(end for end in ends if end >= at)
        assert after == at or places[after] - place < apart


def test_the_histogram_counts_every_commit() -> None:
    commits = read_commits(frame(*(commit(v) for v in range(1000))))
    _, counts = build_histogram(commits, 90)
    assert counts.sum() == 1000


def test_commits_are_sorted_by_what_they_did_and_those_that_do_not_say_come_last() -> None:
    commits = read_commits(
        frame(
            commit(0, rows_added=5, rows_removed=5, bytes_added=1, bytes_removed=9),
            commit(1),
            commit(2, rows_added=0, rows_removed=99, bytes_added=7, bytes_removed=0),
            commit(3, rows_added=10, rows_removed=0, bytes_added=0, bytes_removed=0),
        )
    )
    assert build_order(commits, "version", True).tolist() == [3, 2, 1, 0]
    assert build_order(commits, "rows", True).tolist() == [2, 3, 0, 1]
    assert build_order(commits, "rows", False).tolist() == [3, 0, 2, 1]
    assert build_order(commits, "bytes", True).tolist() == [2, 3, 0, 1]
    assert build_order(commits, "files", True).tolist() == [3, 2, 1, 0]


def test_sizes_are_walked_back_from_the_latest() -> None:
    commits = read_commits(frame(grown(0, 10), grown(1, 5), grown(2, 0, 7)))
    sizes = build_live(commits, "bytes", latest=2, value=8)
    assert sizes is not None
    assert sizes.tolist() == [10, 15, 8]


def test_sizes_before_a_commit_that_does_not_say_are_unknown() -> None:
    commits = read_commits(frame(grown(0, 10), grown(1, None), grown(2, 3)))
    sizes = build_live(commits, "bytes", latest=2, value=20)
    assert sizes is not None
    assert np.isnan(sizes[0])
    assert sizes[1:].tolist() == [17, 20]


def test_sizes_before_a_gap_in_the_log_are_unknown() -> None:
    commits = read_commits(frame(grown(3, 10), grown(5, 1)))
    sizes = build_live(commits, "bytes", latest=5, value=20)
    assert sizes is not None
    assert np.isnan(sizes[0])


def test_sizes_that_contradict_an_empty_beginning_are_not_shown() -> None:
    # Version 1 adds its file a second time, as one that writes statistics does.
    commits = read_commits(frame(grown(0, 10), grown(1, 10)))
    assert build_live(commits, "bytes", latest=1, value=10) is None


def test_sizes_below_zero_are_not_shown() -> None:
    commits = read_commits(frame(grown(4, 0), grown(5, 100)))
    assert build_live(commits, "bytes", latest=5, value=10) is None


def test_sizes_are_unknown_until_the_latest_is_known() -> None:
    commits = read_commits(frame(grown(0, 10)))
    assert build_live(commits, "bytes", latest=0, value=None) is None
    assert build_live(commits, "bytes", latest=7, value=10) is None


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=30))
def test_sizes_are_the_running_sum_of_what_commits_say(changes: list[tuple[int, int]]) -> None:
    totals = np.cumsum([added - removed for added, removed in changes])
    commits = read_commits(frame(*(grown(v, a, r) for v, (a, r) in enumerate(changes))))
    sizes = build_live(commits, "bytes", latest=len(changes) - 1, value=int(totals[-1]))
    if (totals < 0).any():
        assert sizes is None
    else:
        assert sizes is not None
        assert sizes.tolist() == totals.tolist()


def test_a_thinned_line_keeps_its_ends() -> None:
    x, y = thin(np.arange(10_000.0), np.arange(10_000.0), 800)
    assert len(x) <= 800
    assert (x[0], x[-1], y[-1]) == (0, 9999, 9999)
