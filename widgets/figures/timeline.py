"""The commit timeline: table size, lanes of operations, an overview to move in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from bokeh.layouts import column
from bokeh.models import (
    BasicTicker,
    Column,
    ColumnDataSource,
    CustomJSTickFormatter,
    DatetimeTicker,
    DatetimeTickFormatter,
    FactorRange,
    GlyphRenderer,
    HoverTool,
    NumeralTickFormatter,
    PanTool,
    Range1d,
    RangeTool,
    ResetTool,
    SaveTool,
    Span,
    TapTool,
    WheelZoomTool,
)
from bokeh.plotting import figure

from widgets.figures.commits import (
    Axis,
    Cells,
    Commits,
    Floats,
    build_cells,
    build_histogram,
    thin,
)
from widgets.text import (
    UNKNOWN,
    cut,
    format_bytes_change,
    format_change,
    format_count,
    format_short,
    format_time,
    read_moment,
)
from widgets.theme import LANES, Palette

CHECKPOINTS = "CHECKPOINT"
OVERVIEW_BINS = 90
SIZE_POINTS = 800
_LEFT = 88
_LANE_HEIGHT = 24
_ALWAYS = LANES[:7]

_BYTES_JS = """
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
let value = tick, unit = 0
while (Math.abs(value) >= 1024 && unit < 5) { value /= 1024; unit += 1 }
return (Number.isInteger(value) ? value : value.toFixed(1)) + " " + units[unit]
"""

_DATES = DatetimeTickFormatter(
    milliseconds="%H:%M:%S.%3N",
    seconds="%H:%M:%S",
    minsec="%H:%M:%S",
    minutes="%H:%M",
    hourmin="%H:%M",
    hours="%H:%M",
    days="%d %b",
    months="%b %Y",
    years="%Y",
).properties_with_values(include_defaults=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One drawn timeline; the sources are filled by the functions below."""

    layout: Column
    lanes: figure
    size: figure
    x_range: Range1d
    whole: Range1d
    marks: ColumnDataSource
    checkpoints: ColumnDataSource
    problems: ColumnDataSource
    sizes: ColumnDataSource
    bars: ColumnDataSource
    chosen: ColumnDataSource
    cursors: tuple[Span, ...]
    palette: Palette
    axis: Axis


def build_timeline(palette: Palette, axis: Axis) -> Timeline:
    """An empty timeline in the colours of `palette`."""
    x_range, whole = Range1d(0, 1), Range1d(0, 1)
    sources = {
        name: ColumnDataSource()
        for name in ("marks", "checkpoints", "problems", "sizes", "bars", "chosen")
    }
    size = _size_figure(palette, x_range, sources["sizes"])
    lanes = _lanes_figure(palette, axis, x_range, sources)
    overview = _overview_figure(palette, axis, whole, x_range, sources["bars"])
    cursors = tuple(
        Span(dimension="height", location=0, line_dash="dashed", visible=False,
             line_color=palette.muted, line_width=1)
        for _ in range(2)
    )  # fmt: skip
    for plot, cursor in zip((size, lanes), cursors, strict=True):
        plot.add_layout(cursor)
    return Timeline(
        layout=column(size, lanes, overview, sizing_mode="stretch_width", spacing=0),
        lanes=lanes,
        size=size,
        x_range=x_range,
        whole=whole,
        cursors=cursors,
        palette=palette,
        axis=axis,
        **sources,
    )


def fill_timeline(plot: Timeline, commits: Commits, sizes: Floats | None) -> None:
    """Draw all of `commits` anew within the range that is visible now."""
    low, high = commits.bounds()
    plot.whole.update(start=low, end=high)
    # One commit a screen is close enough, and nothing lies beyond the log.
    plot.x_range.update(bounds=(low, high), min_interval=5.0 if commits.axis == "version" else 2e3)
    edges, counts = build_histogram(commits, OVERVIEW_BINS)
    plot.bars.data = {"left": edges[:-1], "right": edges[1:], "top": counts}
    plot.size.visible = sizes is not None and bool(np.any(~np.isnan(sizes)))
    fill_view(plot, commits, sizes)


def fill_view(plot: Timeline, commits: Commits, sizes: Floats | None) -> None:
    """Draw what lies between the ends of the visible range."""
    low, high = float(plot.x_range.start), float(plot.x_range.end)
    cells = build_cells(commits, low, high)
    inside = (commits.x >= low) & (commits.x <= high)
    found = {LANES[int(lane)] for lane in np.unique(commits.lane)}
    factors = [name for name in LANES if name in _ALWAYS or name in found] + [CHECKPOINTS]
    plot.lanes.y_range.factors = factors[::-1]
    plot.lanes.height = _LANE_HEIGHT * len(factors) + 34
    plot.marks.data = _marks(plot.palette, commits, cells)
    plot.checkpoints.data = _points(commits, commits.checkpoint & inside, CHECKPOINTS)
    plot.problems.data = _points(commits, commits.problem & inside, None)
    if sizes is not None:
        x, y = _size_line(commits, sizes, low, high)
        plot.sizes.data = {"x": x, "y": y}
        top = float(np.nanmax(y)) if len(y) and not np.all(np.isnan(y)) else 1.0
        plot.size.y_range.update(start=0, end=top * 1.12 or 1.0)


def _size_line(commits: Commits, sizes: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The visible part of the step line, from edge to edge: a size holds until the next
    commit, and the last one until now."""
    x, y = thin(commits.x, sizes, len(commits.x))
    first, last = np.searchsorted(x, low), np.searchsorted(x, high, side="right")
    start = max(0, int(first) - 1)
    x, y = thin(x[start:last], y[start:last], SIZE_POINTS)
    if not len(x):
        return x, y
    return np.append(np.maximum(x, low), high), np.append(y, y[-1])


def show_version(plot: Timeline, commits: Commits, version: int | None) -> None:
    """Mark the selected commit; nothing is marked where it is not read or gone."""
    at = None if version is None else commits.position(version)
    known = at is not None and not np.isnan(commits.x[at])
    for cursor in plot.cursors:
        cursor.visible = known
    if at is None or not known:
        plot.chosen.data = {"x": [], "y": [], "color": []}
        return
    lane = LANES[int(commits.lane[at])]
    for cursor in plot.cursors:
        cursor.location = float(commits.x[at])
    plot.chosen.data = {"x": [commits.x[at]], "y": [lane], "color": [plot.palette.lane(lane)]}


def _marks(palette: Palette, commits: Commits, cells: Cells) -> dict[str, object]:
    known = ~np.isnan(cells.touched)
    touched = np.where(known, cells.touched, 0.0)
    names = [LANES[int(lane)] for lane in cells.lane]
    frame = commits.frame.take(pa.array(cells.last))
    single = cells.count == 1
    return {
        "x": cells.x,
        "y": names,
        "color": [palette.lane(name) for name in names],
        "size": 5.0 + np.minimum(3.2 * np.log10(1 + touched), 11.0),
        # Hollow where the commit does not say how many files it touched.
        "fill": np.where(known, 0.62, 0.0),
        "newest": commits.version[cells.last],
        "what": _what(commits, cells),
        "when": [_when(commits, i, j) for i, j in zip(cells.first, cells.last, strict=True)],
        "operation": _texts(frame, "operation", single),
        "user": _texts(frame, "user_name", single),
        "files": _changes(frame, "files", single),
        "rows": _changes(frame, "rows", single),
        "bytes": _changes(frame, "bytes", single),
    }


def _what(commits: Commits, cells: Cells) -> list[str]:
    parts = zip(cells.first, cells.last, cells.count, strict=True)
    return [
        format_count(int(commits.version[last]))
        if count == 1
        else f"{format_count(int(commits.version[first]))} to "
        f"{format_count(int(commits.version[last]))}, {count:,} commits"
        for first, last, count in parts
    ]


def _when(commits: Commits, first: int, last: int) -> str:
    end = format_time(read_moment(float(commits.time[last])))
    if first == last:
        return end
    return f"{format_time(read_moment(float(commits.time[first])))} to {end}"


def _texts(frame: pa.Table, name: str, single: np.ndarray) -> list[str]:
    values = frame[name].to_pylist()
    return [
        cut(value or UNKNOWN, 60) if one else "several"
        for value, one in zip(values, single, strict=True)
    ]


def _changes(frame: pa.Table, name: str, single: np.ndarray) -> list[str]:
    added, removed = frame[f"{name}_added"].to_pylist(), frame[f"{name}_removed"].to_pylist()
    return [
        (format_bytes_change if name == "bytes" else format_change)(plus, minus)
        if one
        else "zoom in to see"
        for plus, minus, one in zip(added, removed, single, strict=True)
    ]


def _points(commits: Commits, chosen: np.ndarray, lane: str | None) -> dict[str, object]:
    at = np.flatnonzero(chosen)
    # Beyond some hundreds the marks form a line anyway.
    at = at[:: max(1, len(at) // 400)]
    lanes = [lane or LANES[int(commits.lane[i])] for i in at]
    problems = [cut(text or "", 120) for text in commits.frame["problem"].take(at).to_pylist()]
    versions = [format_short(int(commits.version[i])) for i in at]
    return {"x": commits.x[at], "y": lanes, "what": versions, "problem": problems}


def _plain_figure(palette: Palette, name: str, **options: object) -> figure:
    plot = figure(
        sizing_mode="stretch_width",
        toolbar_location=None,
        min_border_left=_LEFT,
        min_border_right=10,
        outline_line_color=None,
        background_fill_color=palette.card,
        border_fill_color=palette.card,
        html_attributes={"role": "img", "aria-label": name},
        **options,
    )
    plot.axis.axis_line_color = None
    plot.axis.major_tick_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_color = palette.muted
    plot.axis.major_label_text_font_size = "12px"
    plot.xgrid.grid_line_color = None
    plot.ygrid.grid_line_color = palette.line
    return plot


def _size_figure(palette: Palette, x_range: Range1d, source: ColumnDataSource) -> figure:
    plot = _plain_figure(
        palette, "Table size over time", height=84, x_range=x_range, y_range=Range1d(0, 1),
        tools=[PanTool(dimensions="width"), WheelZoomTool(dimensions="width", modifiers="ctrl")],
    )  # fmt: skip
    plot.xaxis.visible = False
    plot.yaxis.ticker = BasicTicker(
        desired_num_ticks=2,
        base=1024,
        mantissas=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
        num_minor_ticks=0,
    )
    plot.yaxis.formatter = CustomJSTickFormatter(code=_BYTES_JS)
    plot.varea_step(
        x="x", y1=0, y2="y", source=source, step_mode="after",
        fill_color=palette.write, fill_alpha=0.14,
    )  # fmt: skip
    plot.step(x="x", y="y", source=source, mode="after", line_color=palette.write, line_width=1.6)
    return plot


def _lanes_figure(
    palette: Palette, axis: Axis, x_range: Range1d, sources: dict[str, ColumnDataSource]
) -> figure:
    plot = _plain_figure(
        palette, "Commits by operation over time; the commits table holds the same",
        height=230, x_range=x_range, y_range=FactorRange(factors=[*_ALWAYS][::-1]), tools=[],
    )  # fmt: skip
    _dress_axis(plot, axis)
    marks = plot.scatter(
        x="x", y="y", size="size", source=sources["marks"], marker="circle",
        color="color", fill_alpha="fill", line_alpha=0.8,
        nonselection_fill_alpha=0.62, nonselection_line_alpha=0.8,
    )  # fmt: skip
    plot.scatter(
        x="x", y="y", size=11, source=sources["checkpoints"], marker="diamond",
        color=palette.muted, fill_alpha=0.8, line_color=None,
    )  # fmt: skip
    problems = plot.scatter(
        x="x", y="y", size=12, source=sources["problems"], marker="x",
        line_color=palette.error, line_width=2,
    )  # fmt: skip
    plot.scatter(
        x="x", y="y", size=12, source=sources["chosen"], marker="circle",
        fill_color="color", line_color=palette.text, line_width=2,
    )  # fmt: skip
    _add_tools(plot, marks, problems)
    return plot


def _add_tools(plot: figure, marks: GlyphRenderer, problems: GlyphRenderer) -> None:
    plot.toolbar_location, plot.toolbar_inner = "right", True
    plot.toolbar.autohide, plot.toolbar.logo = True, None
    told = [
        ("Version", "@what"), ("Time", "@when"), ("Operation", "@operation"),
        ("User", "@user"), ("Files", "@files"), ("Rows", "@rows"), ("Bytes", "@bytes"),
    ]  # fmt: skip
    wrong = [("Version", "@what"), ("Problem", "@problem")]
    plot.add_tools(
        PanTool(dimensions="width"),
        # Without the key the page scrolls: the plot must not catch the wheel on the way.
        WheelZoomTool(dimensions="width", modifiers="ctrl"),
        TapTool(renderers=[marks], visible=False),
        SaveTool(),
        ResetTool(),
        HoverTool(renderers=[marks], visible=False, tooltips=told),
        HoverTool(renderers=[problems], visible=False, tooltips=wrong),
    )


def _overview_figure(
    palette: Palette, axis: Axis, whole: Range1d, x_range: Range1d, source: ColumnDataSource
) -> figure:
    plot = _plain_figure(
        palette, "Commits over the whole log; drag the shaded range", height=64, x_range=whole,
        tools=[],
    )  # fmt: skip
    _dress_axis(plot, axis)
    plot.yaxis.visible = False
    plot.ygrid.grid_line_color = None
    plot.y_range.start = 0
    plot.quad(
        left="left", right="right", bottom=0, top="top", source=source,
        fill_color=palette.muted, fill_alpha=0.45, line_color=palette.card, line_width=1,
    )  # fmt: skip
    tool = RangeTool(x_range=x_range)
    tool.overlay.fill_color = palette.accent
    tool.overlay.fill_alpha = 0.16
    tool.overlay.line_color = palette.accent
    tool.overlay.line_alpha = 0.4
    plot.add_tools(tool)
    return plot


def _dress_axis(plot: figure, axis: Axis) -> None:
    if axis == "time":
        plot.xaxis.ticker = DatetimeTicker(desired_num_ticks=6, num_minor_ticks=0)
        plot.xaxis.formatter = DatetimeTickFormatter(**_DATES)
    else:
        plot.xaxis.ticker = BasicTicker(desired_num_ticks=6, num_minor_ticks=0, min_interval=1)
        plot.xaxis.formatter = NumeralTickFormatter(format="0,0")
