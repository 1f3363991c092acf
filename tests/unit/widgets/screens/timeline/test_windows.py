"""Which part of the axis the timeline shows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.page.test_explorer_view import Page, read_marks
from tests.unit.widgets.screens.commits.test_commits import START, commit, frame
from widgets.figures.commits import Commits, read_commits
from widgets.screens.timeline._windows import (
    DAY_MS,
    EVERYTHING,
    RANGES,
    VERSION_RANGES,
    is_whole,
    window_of,
    zoom,
)

ALIKE = 1_700_000_000_000
"""The time of every commit, where the axis is one of versions."""


def daily(days: int) -> Commits:
    """A commit a day."""
    rows = (commit(v, timestamp=START + timedelta(days=v)) for v in range(days))
    return read_commits(frame(*rows))


@pytest.mark.parametrize("name", RANGES)
def test_a_window_holds_the_commits_of_that_time_before_the_last(name: str) -> None:
    commits = daily(400)  # of which the whole has 8 days of room at each end
    low, high = window_of(commits, name)
    days = round(RANGES[name][1] / DAY_MS)
    assert sum(low <= x <= high for x in commits.x) == days + 1
    # and of what lies after the last one no more than its mark needs
    assert 0 < high - commits.x[-1] <= 0.02 * (high - low)


def test_a_window_of_versions_ends_with_the_last_one() -> None:
    commits = read_commits(frame(*(commit(v, timestamp=START) for v in range(20_000))))
    assert commits.axis == "version"
    for name, (_, width) in VERSION_RANGES.items():
        low, high = window_of(commits, name)
        assert sum(low <= x <= high for x in commits.x) == width + 1
        assert high >= 19_999


def test_no_window_leaves_the_log() -> None:
    commits = daily(3)
    assert window_of(commits, "30d") == window_of(commits, EVERYTHING) == commits.bounds()
    assert is_whole(window_of(commits, "7d"), commits.bounds())
    assert not is_whole(window_of(commits, "24h"), commits.bounds())


@given(
    st.floats(0, 900), st.floats(10, 100), st.sampled_from([0.5, 2.0]), st.floats(0, 1000)
)  # fmt: skip
def test_a_zoom_keeps_what_is_selected_in_sight_and_stays_within_the_whole(
    low: float, width: float, factor: float, selected: float
) -> None:
    view, whole = (low, low + width), (0.0, 1000.0)
    start, end = zoom(view, whole, factor, selected, 8.0)
    assert whole[0] <= start < end <= whole[1] + 1e-9
    assert end - start == pytest.approx(min(max(width * factor, 8.0), 1000.0))
    centre = selected if low <= selected <= low + width else low + width / 2
    assert start - 1e-9 <= centre <= end + 1e-9


def written(folder: Path, versions: int, merges: int = 0) -> LogFolder:
    """A log by version: all its times are alike. After the first come so many merges, then
    writes."""
    log = LogFolder(folder / "orders")
    log.commit(0, [PROTOCOL, metadata(), add("0")])
    log.time(0, ALIKE)
    write(log, range(1, versions), merges)
    return log


def write(log: LogFolder, versions: range, merges: int = 0) -> None:
    for version in versions:
        info = {"operation": "MERGE" if version < merges else "WRITE"}
        log.commit(version, [{"commitInfo": info}, add(f"{version}")])
        log.time(version, ALIKE)


def view_of(page: Page) -> tuple[float, float]:
    plot, _ = read_marks(page)
    return float(plot.x_range.start), float(plot.x_range.end)


def test_zoom_out_is_off_where_all_is_shown_and_all_is_pressed_again_after_it(
    tmp_path: Path,
) -> None:
    log = written(tmp_path, 20)
    page = Page().open(log.root, view="timeline")
    off, pressed = 'title="Zoom out" disabled', 'data-value="all" aria-pressed="true"'
    assert off in page.html
    whole = view_of(page)
    page.do("zoom", "out")
    assert view_of(page) == whole
    assert pressed in page.html
    page.do("zoom", "in")
    assert off not in page.html
    assert pressed not in page.html
    low, high = view_of(page)
    assert low <= 19 <= high  # the selected one
    page.do("zoom", "out")
    assert view_of(page) == pytest.approx(whole)
    assert off in page.html
    assert pressed in page.html


def test_all_lanes_are_back_once_a_window_is_left(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(), {"commitInfo": {"operation": "WRITE"}}, add("0")])
    for version in range(1, 200):
        log.commit(version, [{"commitInfo": {"operation": "MERGE"}}, add(f"{version}")])
    for version in range(200):
        log.time(version, 1_700_000_000_000)  # by version: all times are alike
    page = Page().open(log.root, view="timeline")
    plot, _ = read_marks(page)
    assert plot.y_range.factors == ["METADATA", "MERGE", "WRITE"]
    assert "\N{BLACK UP-POINTING TRIANGLE} protocol" in page.html
    page.do("range", "24h")  # the last hundred
    assert plot.y_range.factors == ["MERGE"]
    assert "\N{BLACK UP-POINTING TRIANGLE} protocol" not in page.html
    page.do("zoom", "in")
    assert plot.y_range.factors == ["MERGE"]
    assert "\N{BLACK UP-POINTING TRIANGLE} protocol" not in page.html
    page.do("zoom", "out")
    page.do("zoom", "out")
    assert plot.y_range.factors == ["METADATA", "MERGE", "WRITE"]
    assert "\N{BLACK UP-POINTING TRIANGLE} protocol" in page.html
    page.do("range", "24h")
    assert plot.y_range.factors == ["MERGE"]
    plot.x_range.start = float(plot.x_range.start) - 50
    assert plot.y_range.factors == ["METADATA", "MERGE", "WRITE"]
    assert "\N{BLACK UP-POINTING TRIANGLE} protocol" in page.html
    # and stay, though what is shown is a part of that window again
    plot.x_range.start = float(plot.x_range.start) + 50
    assert plot.y_range.factors == ["METADATA", "MERGE", "WRITE"]


def test_lanes_that_a_window_leaves_empty_stay_away_while_one_drags_within_it(
    tmp_path: Path,
) -> None:
    log = written(tmp_path, 200)
    page = Page().open(log.root, view="timeline")
    plot, _ = read_marks(page)
    page.do("range", "24h")
    page.do("zoom", "in")
    # one end after the other, as a browser tells it
    plot.x_range.start = float(plot.x_range.start) - 5
    plot.x_range.end = float(plot.x_range.end) - 5
    assert plot.y_range.factors == ["WRITE"]
    page.state.dark = True
    plot, _ = read_marks(page)
    assert plot.y_range.factors == ["WRITE"]
    page.do("range", "all")
    assert plot.y_range.factors == ["METADATA", "UNKNOWN", "WRITE"]


def test_no_commit_in_sight_loses_its_lane_because_newer_ones_came(tmp_path: Path) -> None:
    log = written(tmp_path, 200, merges=120)
    page = Page().open(log.root, view="timeline")
    plot, _ = read_marks(page)
    page.do("range", "24h")
    plot.x_range.end = float(plot.x_range.start) + 40
    assert set(plot.y_range.factors) == {"MERGE", "WRITE"}
    write(log, range(200, 240))
    page.explorer.reload()
    assert plot.x_range.end < 150
    assert "MERGE" in plot.y_range.factors
