"""The timeline as a Bokeh figure."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bokeh.models import BoxSelectTool, HoverTool, PanTool, Span

from tests.unit.widgets.screens.commits.test_commits import commit, frame, grown
from widgets.figures._plots import find_ticks
from widgets.figures.cells import Stretch
from widgets.figures.commits import Commits, Measure, build_live, read_commits
from widgets.figures.marks import CHECKPOINTS, build_events
from widgets.figures.timeline import (
    History,
    Timeline,
    build_timeline,
    fill_timeline,
    fill_view,
    show_version,
)
from widgets.text import UNKNOWN
from widgets.theme import DARK, LIGHT


def drawn(*rows: dict[str, object]) -> tuple[Timeline, object]:
    commits = read_commits(frame(*rows))
    plot = build_timeline(LIGHT, commits.axis)
    low, high = commits.bounds()
    plot.x_range.update(start=low, end=high)
    fill_timeline(plot, History(commits=commits))
    return plot, commits


def test_every_commit_stands_in_the_lane_of_its_operation() -> None:
    plot, _ = drawn(commit(0), commit(1, operation="VACUUM START"), commit(2, operation="FOO"))
    assert plot.marks.data["y"] == ["WRITE", "VACUUM", "OTHER"]
    assert plot.marks.data["newest"].tolist() == [0, 1, 2]


def test_lanes_are_those_that_occur_in_their_order() -> None:
    plot, _ = drawn(commit(0))
    assert plot.lanes.y_range.factors == ["WRITE"]
    plot, _ = drawn(commit(0, operation=None), commit(1, operation="MERGE", is_checkpoint=True))
    assert plot.lanes.y_range.factors == [CHECKPOINTS, "UNKNOWN", "MERGE"]


def test_one_commit_has_one_mark_among_the_changes_however_much_it_changed() -> None:
    rows = pa.Table.from_pylist([commit(0), commit(1)], frame().schema)
    both = pa.array([True, True])
    for name in ("has_protocol", "has_metadata"):
        rows = rows.append_column(name, both)
    commits = read_commits(rows)
    low, high = commits.bounds()
    found = build_events(commits, Stretch(low=low, high=high))
    assert found["what"] == ["0", "1"]
    assert found["kind"] == ["protocol, properties"] * 2
    # where they are nearer to each other than a mark is wide, they have one
    found = build_events(commits, Stretch(low=low - 100 * (high - low), high=high))
    assert found["what"] == ["0, 1"]
    assert found["shape"] == ["triangle"]
    assert found["kind"] == ["protocol, properties"]


@pytest.mark.parametrize(
    ("bottom", "top", "measure", "ticks"),
    [
        (-850 * 1024, 520 * 1024, "bytes", [-512 * 1024, 0, 512 * 1024]),
        (-10, 900, "bytes", [0, 512]),
        (-740.0, 0, "rows", [-500, 0]),
        (0, 3, "files", [0, 2]),
        (0, 0, "rows", [0]),
    ],
)
def test_the_axis_of_changes_has_a_scale_on_each_side_that_has_room(
    bottom: float, top: float, measure: Measure, ticks: list[float]
) -> None:
    assert find_ticks(bottom, top, measure) == ticks


def test_every_plot_names_its_axes_and_tells_what_lies_under_the_pointer() -> None:
    plot, _ = drawn(grown(0, 10))
    for child in plot.layout.children:
        assert any(isinstance(tool, HoverTool) for tool in child.tools)
    overview = plot.layout.children[-1]
    assert [axis.axis_label for axis in (plot.size.yaxis[0], plot.flow.yaxis[0])] == [
        "Table size",
        "Change",
    ]
    assert overview.xaxis[0].axis_label == "Committed (UTC)"
    assert "1" in plot.sources["bars"].data["count"]
    changes = plot.sources["changes"].data
    assert changes["plus"] == ["10 B"]
    # the outline of a bar of nothing would cut into the line of zero
    assert (changes["added_line"], changes["removed_line"]) == ([1], [0])


def test_what_marks_the_selection_lies_below_the_marks() -> None:
    plot, _ = drawn(commit(0))
    assert {part.level for part in (*plot.cursors, *plot.ranges)} == {"underlay"}
    # a line at the selected commit would run under the marks of the other lanes
    assert [plot.lanes.select({"type": Span}).count(cursor) for cursor in plot.cursors] == [0, 0]
    assert plot.size.select_one({"type": Span}) is plot.cursors[0]


def test_unknown_numbers_are_said_to_be_unknown_and_drawn_hollow() -> None:
    plot, _ = drawn(commit(0), commit(1, files_added=2, files_removed=0))
    assert plot.marks.data["files"][0] == UNKNOWN
    assert plot.marks.data["user"][0] == UNKNOWN
    assert plot.marks.data["fill"][0] == 0
    assert plot.marks.data["fill"][1] > 0


def test_lanes_that_a_filter_or_a_window_leaves_empty_go() -> None:
    first = commit(0, has_protocol=True, is_checkpoint=True)
    later = [commit(at, operation="MERGE") for at in range(1, 9)]
    commits = read_commits(frame(first, *later, commit(9, operation="DELETE")))
    every = ["DELETE", "MERGE", "WRITE"]
    assert [lane for lane in lanes_of(History(commits=commits)) if lane in every] == every
    merges = pc.equal(commits.frame["operation"], "MERGE").to_numpy()
    assert lanes_of(History(commits=commits, shown=merges)) == ["MERGE"]
    low, high = float(commits.x[5]), float(commits.x[9])
    assert lanes_of(History(commits=commits, window=(low, high))) == ["DELETE", "MERGE"]
    assert lanes_of(History(commits=commits, shown=merges, window=(high, high))) == ["MERGE"]


def lanes_of(history: History) -> list[str]:
    """The lanes, the lowest first."""
    lanes: list[str] = drawn_in(history, 400).lanes.y_range.factors
    return lanes


def drawn_in(history: History, pixels: float) -> Timeline:
    plot = build_timeline(LIGHT, history.commits.axis)
    low, high = history.commits.bounds()
    plot.x_range.update(start=low, end=high)
    fill_timeline(plot, replace(history, pixels=pixels))
    return plot


def spread(count: int, every: int = 1) -> Commits:
    """Commits at times that are near to each other and far apart, in two lanes."""
    gaps = np.random.default_rng(count).pareto(0.7, count) * 60_000 + 1_000
    times = np.cumsum(gaps).astype("int64").astype("datetime64[ms]").astype(object)
    operations = ("WRITE", "WRITE", "MERGE")
    return read_commits(
        frame(
            *(
                commit(
                    v, timestamp=times[v].replace(tzinfo=UTC), operation=operations[v % 3],
                    files_added=v % 97, files_removed=0, is_checkpoint=v % every == 0,
                    problem="cut off" if v % 41 == 7 else None,
                )
                for v in range(count)
            )
        )
    )  # fmt: skip


@pytest.mark.parametrize("pixels", [200.0, 640.0])
@pytest.mark.parametrize("count", [20, 200, 5_000])
def test_no_mark_lies_over_another_and_none_is_lost(count: int, pixels: float) -> None:
    commits = spread(count, every=10)
    spans = [(first, first + 4) for first in range(0, count - 5, 7)]
    plot = drawn_in(History(commits=commits, compactions=spans), pixels)
    low, high = commits.bounds()
    pixel = (high - low) / pixels
    for lane in ("WRITE", "MERGE"):
        marks = [i for i, name in enumerate(plot.marks.data["y"]) if name == lane]
        x, width, wide = (
            np.asarray(plot.marks.data[name])[marks] / pixel for name in ("x", "width", "wide")
        )
        # an outline of one pixel lies half outside of a mark, and that of the chosen one whole
        between = np.diff(x) - (width[1:] + width[:-1]) / 2 - 1
        assert (between > 1 - 1e-6).all()
        assert (width > 2 - 1e-6).all()
        chosen = np.maximum(width, wide)
        assert (np.diff(x) - (chosen[1:] + width[:-1]) / 2 - 1.5 > -1e-6).all()
        problems = [i for i, name in enumerate(plot.sources["problems"].data["y"]) if name == lane]
        sizes = np.asarray(plot.sources["problems"].data["size"])[problems]
        at = np.asarray(plot.sources["problems"].data["x"])[problems] / pixel
        assert np.isin(np.round(at, 6), np.round(x, 6)).all()
        others = np.abs(at[:, None] - x[None, :])
        others[others < 1e-6] = np.inf
        assert (sizes < others.min(axis=1)).all()
    assert int(np.sum(plot.marks.data["count"])) == count
    newest = dict(zip(plot.marks.data["newest"], plot.marks.data["x"], strict=True))
    assert all(x == commits.x[version] for version, x in newest.items())
    for name, size in (("log files", 11), ("events", 9)):
        assert (np.diff(plot.sources[name].data["x"]) / pixel > size).all()
    assert bool(len(plot.sources["log files"].data["x"]))


def test_a_mark_is_narrower_the_nearer_the_next_one_is_and_as_high_as_its_files() -> None:
    times = [0, 100_000, 107_000, 200_000]
    commits = read_commits(
        frame(
            *(
                commit(v, timestamp=datetime.fromtimestamp(at / 1000, UTC), files_added=20,
                       files_removed=0)
                for v, at in enumerate(times)
            )
        )
    )  # fmt: skip
    plot = drawn_in(History(commits=commits), 208.0)
    width = np.asarray(plot.marks.data["width"]) / 1000  # a pixel is a second
    height = np.asarray(plot.marks.data["height"])
    assert np.allclose(width[[0, 3]], height[[0, 3]])
    assert np.allclose(width[[1, 2]], 7 - 2, atol=1e-3)
    assert len(set(height)) == 1
    assert plot.marks.data["count"].tolist() == [1] * 4


def test_commits_without_room_have_one_mark_that_counts_them() -> None:
    commits = read_commits(frame(*(commit(v) for v in range(1_000))))
    plot = drawn_in(History(commits=commits), 200.0)
    marks = plot.marks.data
    at = len(marks["x"]) // 2
    count = int(marks["count"][at])
    assert count > 1
    oldest, newest = int(marks["oldest"][at]), int(marks["newest"][at])
    assert newest - oldest + 1 == count
    assert marks["what"][at] == f"{oldest} to {newest}, {count} commits"
    # the mark of a commit that is chosen is that of its neighbours, too
    show_version(plot, commits, oldest)
    assert plot.sources["chosen"].data["x"] == [marks["x"][at]]
    assert plot.sources["chosen"].data["outline"] == [1]  # or it would look like two
    # where there is more room, each has its own again
    plot.x_range.update(start=float(commits.x[oldest]), end=float(commits.x[newest]))
    fill_view(plot, History(commits=commits, pixels=200.0))
    assert plot.marks.data["count"].tolist() == [1] * count


def test_a_log_file_has_one_mark_whether_checkpoint_compaction_or_both() -> None:
    rows = [commit(v, is_checkpoint=v == 20) for v in range(41)]
    history = History(commits=read_commits(frame(*rows)), compactions=[(0, 4), (10, 20)])
    data = drawn_in(history, 600.0).sources["log files"].data
    dash = "\N{EN DASH}"
    assert data["checkpoint"] == [dash, "20"]
    assert data["compaction"] == ["0 to 4", "10 to 20"]
    assert data["fill"] == [0, 0.8]
    assert data["line"] == [1, 0]


def test_checkpoints_and_problems_are_marked() -> None:
    plot, _ = drawn(commit(0), commit(1, is_checkpoint=True), commit(2, problem="cut off"))
    assert plot.sources["log files"].data["checkpoint"] == ["1"]
    assert plot.sources["log files"].data["y"] == [CHECKPOINTS]
    assert plot.sources["problems"].data["problem"] == ["cut off"]
    # the cross stands in the place of the mark
    assert plot.marks.data["line"].tolist() == [1, 1, 0]


def test_the_selected_version_is_marked_and_a_missing_one_is_not() -> None:
    plot, commits = drawn(commit(0), commit(1))
    show_version(plot, commits, 1)
    assert plot.sources["chosen"].data["y"] == ["WRITE"]
    assert all(cursor.visible for cursor in plot.cursors)
    assert plot.sources["chosen"].data["outline"] == [2]
    show_version(plot, commits, 7)
    assert plot.sources["chosen"].data["x"] == []
    assert not any(cursor.visible for cursor in plot.cursors)


def test_the_size_line_reaches_from_edge_to_edge() -> None:
    commits = read_commits(frame(*(grown(v, 10) for v in range(10))))
    sizes = build_live(commits, "bytes", 9, 100)
    plot = build_timeline(DARK, commits.axis)
    low, high = float(commits.time[4]) - 1000, float(commits.time[6]) + 1000
    plot.x_range.update(start=low, end=high)
    fill_view(plot, History(commits=commits, live=sizes))
    assert plot.sources["live"].data["x"][0] == low
    assert plot.sources["live"].data["x"][-1] == high
    assert list(plot.sources["live"].data["y"]) == [40, 50, 60, 70, 70]


def test_no_size_is_drawn_before_the_first_that_is_known() -> None:
    rows = [commit(0), commit(1), *(grown(v, 10) for v in range(2, 5))]
    commits = read_commits(frame(*rows))
    sizes = build_live(commits, "bytes", 4, 100)
    assert sizes is not None
    assert np.isnan(sizes[0])
    plot = build_timeline(LIGHT, commits.axis)
    low, high = commits.bounds()
    plot.x_range.update(start=low, end=high)
    fill_view(plot, History(commits=commits, live=sizes))
    assert not np.isnan(plot.sources["live"].data["y"]).any()
    # what the first commit that says how much it added stands upon is known, too
    assert plot.sources["live"].data["x"][0] == commits.x[1]
    plot.x_range.update(start=low, end=float(commits.x[0]))
    fill_view(plot, History(commits=commits, live=sizes))
    assert len(plot.sources["live"].data["x"]) == 0


def test_a_log_without_sizes_shows_no_size_plot() -> None:
    plot, _ = drawn(commit(0))
    assert not plot.size.visible


def test_every_canvas_has_a_name() -> None:
    plot, _ = drawn(commit(0))
    for child in plot.layout.children:
        assert child.html_attributes["aria-label"]


def test_nothing_lies_over_the_newest_commits_and_the_brush_stays_on() -> None:
    plot, _ = drawn(commit(0))
    for child in plot.layout.children:
        assert child.toolbar_location is None
    drags = [tool for tool in plot.lanes.tools if isinstance(tool, BoxSelectTool | PanTool)]
    assert drags == [plot.lanes.toolbar.active_drag]
    assert isinstance(drags[0], BoxSelectTool)


def test_hover_does_not_take_text_for_markup() -> None:
    plot, _ = drawn(commit(0))
    told = [
        str(tool.tooltips)
        for child in plot.layout.children
        for tool in child.tools
        if isinstance(tool, HoverTool)
    ]
    assert len(told) > len(plot.layout.children)  # the lanes have several
    for text in told:
        assert "@" in text
        assert "safe" not in text


@pytest.mark.parametrize(
    "rows", [[commit(0)], [commit(0, timestamp=None)]], ids=["one", "timeless"]
)
def test_a_single_commit_can_be_drawn(rows: list[dict[str, object]]) -> None:
    plot, _ = drawn(*rows)
    assert len(plot.marks.data["x"]) == 1


@pytest.mark.slow
def test_a_hundred_thousand_commits_are_a_thousand_glyphs_in_no_time() -> None:
    rows = 100_000
    commits = read_commits(frame(*(commit(v, bytes_added=1, bytes_removed=0) for v in range(rows))))
    sizes = build_live(commits, "bytes", rows - 1, rows)
    plot = build_timeline(LIGHT, commits.axis)
    low, high = commits.bounds()
    plot.x_range.update(start=low, end=high)
    began = time.thread_time()  # what others do on a loaded machine does not count
    fill_view(plot, History(commits=commits, live=sizes))
    spent = time.thread_time() - began
    assert len(plot.marks.data["x"]) <= 1000
    assert len(plot.sources["live"].data["x"]) <= 1000
    assert spent < 1.0  # some 30 ms; the rest is for a slow machine


def test_a_timeline_is_few_models() -> None:
    """Each takes the server and the browser a millisecond or two; Bokeh's own ways make 200."""
    plot, _ = drawn(commit(0))
    assert len(plot.layout.references()) <= 137
