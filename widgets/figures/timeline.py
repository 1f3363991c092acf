"""The commit timeline: what is live and what changed, lanes of operations, an overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from bokeh.layouts import column
from bokeh.models import (
    BasicTicker,
    BoxAnnotation,
    BoxSelectTool,
    Column,
    ColumnDataSource,
    DataRange1d,
    FactorRange,
    FixedTicker,
    GlyphRenderer,
    NumeralTickFormatter,
    PanTool,
    Quad,
    Range1d,
    RangeTool,
    Rect,
    Scatter,
    Spacer,
    Span,
    Step,
    TapTool,
    VAreaStep,
    WheelZoomTool,
)
from bokeh.plotting import figure

from explorer.log.plain_arrays import Flags
from widgets.figures._plots import (
    Shared,
    build_plot,
    build_shared,
    build_tooltip,
    dress_axis,
    find_ticks,
    share_axis,
    title_axis,
)
from widgets.figures.cells import ASSUMED_PIXELS, Stretch, build_cells
from widgets.figures.commits import (
    Axis,
    Commits,
    Floats,
    Measure,
    build_changes,
    build_histogram,
    thin,
)
from widgets.figures.marks import (
    CHECKPOINTS,
    EVENT_PIXELS,
    EVENTS,
    LOG_FILE_PIXELS,
    build_chosen,
    build_events,
    build_log_files,
    build_marks,
    build_problems,
    find_events,
)
from widgets.text import (
    format_bytes,
    format_count,
    format_moment,
    format_signed_bytes,
    read_moment,
)
from widgets.theme import LANES, Palette

OVERVIEW_BINS = 90
LINE_POINTS = 800
_LANE_HEIGHT = 24
_ROUND = 8  # pixels: a mark that is as wide as high is a disc
_SOURCES = ("marks", "log files", "events", "problems", "live", "changes", "bars", "chosen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One drawn timeline; the sources are filled by the functions below.

    `size` shows what is live, `flow` what was added and removed.
    """

    layout: Column
    lanes: figure
    size: figure
    flow: figure
    x_range: Range1d
    whole: Range1d
    sources: Mapping[str, ColumnDataSource]
    cursors: tuple[Span, ...]
    ranges: tuple[BoxAnnotation, ...]
    palette: Palette
    axis: Axis
    measure: Measure

    @property
    def holds_back(self) -> bool:
        """Whether what stands above the lanes is left out, see `hold_back`."""
        return self.size not in self.layout.children

    @property
    def marks(self) -> ColumnDataSource:
        """The commits."""
        return self.sources["marks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a timeline draws: `live` is what is there after each commit, in the timeline's
    measure; `shown` are the commits that a filter lets through; `window` are the ends of a part of
    the axis that was chosen by its name; `compactions` are first and last versions. `pixels` is how
    wide the plot is, as far as that is known."""

    commits: Commits
    live: Floats | None = None
    shown: Flags | None = None
    window: tuple[float, float] | None = None
    compactions: Sequence[tuple[int, int]] = field(default=())
    pixels: float = ASSUMED_PIXELS

    @property
    def seen(self) -> Flags:
        """The commits that the filter lets through."""
        everything: Flags = np.ones(len(self.commits.version), dtype=np.bool_)
        return everything if self.shown is None else self.shown

    @property
    def in_lanes(self) -> Flags:
        """The commits that have lanes: of what the filter lets through those in the window, else
        all, so that no lane comes or goes while one moves through time; all, too, where none is in
        the window, so that something is left to move by."""
        if self.window is None:
            return self.seen
        low, high = self.window
        inside: Flags = (self.commits.x >= low) & (self.commits.x <= high)
        found: Flags = self.seen & inside
        return found if found.any() else self.seen

    @property
    def has_checkpoints(self) -> bool:
        """Whether a commit that has a lane has one."""
        return bool((self.commits.checkpoint & self.in_lanes).any())

    @property
    def has_compactions(self) -> bool:
        """Whether one ends with a commit that has a lane."""
        there = self.in_lanes
        lasts = (self.commits.position(last) for _, last in self.compactions)
        return any(at is not None and there[at] for at in lasts)


def build_timeline(palette: Palette, axis: Axis, measure: Measure = "bytes") -> Timeline:
    """An empty timeline in the colours of `palette`."""
    x_range, whole = Range1d(0, 1), Range1d(0, 1)
    shared = build_shared(palette, measure)
    sources = {name: shared.build_source() for name in _SOURCES}
    size = _live_figure(shared, x_range, sources["live"], measure)
    flow = _flow_figure(shared, x_range, sources["changes"], measure)
    lanes = _lanes_figure(shared, axis, x_range, sources)
    overview = _overview_figure(shared, whole, x_range, sources["bars"])
    share_axis(lanes, overview)
    title_axis(overview, axis)
    plots = (size, flow, lanes)
    # none in the lanes: it would run under the marks of others, and the chosen one is outlined
    cursors = tuple(
        Span(dimension="height", location=0, line_dash="dashed", visible=False, level="underlay",
             line_color=palette.muted, line_width=1)
        for _ in (size, flow)
    )  # fmt: skip
    ranges = tuple(
        BoxAnnotation(left=0, right=0, visible=False, level="underlay", fill_color=palette.accent,
                      fill_alpha=0.12, line_color=palette.accent, line_alpha=0.5,
                      handles=shared.handles, **shared.height)
        for _ in plots
    )  # fmt: skip
    for plot, chosen in zip(plots, ranges, strict=True):
        plot.add_layout(chosen)
    for plot, cursor in zip((size, flow), cursors, strict=True):
        plot.add_layout(cursor)
    return Timeline(
        layout=column(*plots, overview, sizing_mode="stretch_width", spacing=0),
        lanes=lanes,
        size=size,
        flow=flow,
        x_range=x_range,
        whole=whole,
        sources=sources,
        cursors=cursors,
        ranges=ranges,
        palette=palette,
        axis=axis,
        measure=measure,
    )


def hold_back(plot: Timeline) -> None:
    """Leave out what stands above the lanes, and its place free: a browser takes twice as long to
    draw all of it, and the lanes are what it is asked for."""
    above = sum(part.height for part in (plot.size, plot.flow) if part.visible)
    plot.layout.children = [Spacer(height=above), *plot.layout.children[2:]]


def show_all(plot: Timeline) -> None:
    """Bring back what `hold_back` left out."""
    if plot.holds_back:
        plot.layout.children = [plot.size, plot.flow, *plot.layout.children[1:]]


def fill_timeline(plot: Timeline, history: History) -> None:
    """Draw the whole history again within the range that is visible now."""
    commits = history.commits
    low, high = commits.bounds()
    plot.whole.update(start=low, end=high)
    # One commit a screen is close enough, and nothing lies beyond the log.
    plot.x_range.update(bounds=(low, high), min_interval=5.0 if commits.axis == "version" else 2e3)
    edges, counts = build_histogram(commits, OVERVIEW_BINS)
    plot.sources["bars"].data = {
        "left": edges[:-1],
        "right": edges[1:],
        "top": counts,
        "count": [format_count(int(number)) for number in counts],
        "when": _spans(commits, edges[:-1], edges[1:]),
    }
    plot.size.visible = history.live is not None and bool(np.any(~np.isnan(history.live)))
    fill_view(plot, history)


def fill_view(plot: Timeline, history: History) -> None:
    """Draw what lies between the ends of the visible range; `show_version` marks what is chosen
    in it."""
    low, high = float(plot.x_range.start), float(plot.x_range.end)
    fill_marks(plot, history)
    _arrange_lanes(plot, history)
    _fill_flow(plot, history, low, high)
    _fill_live(plot, history, low, high)


def fill_marks(plot: Timeline, history: History) -> None:
    """Draw again only the marks: how wide the plot is says which have room."""
    commits, sources = history.commits, plot.sources
    low, high = float(plot.x_range.start), float(plot.x_range.end)
    stretch = Stretch(low=low, high=high, pixels=history.pixels)
    cells = build_cells(commits, stretch, history.shown)
    sources["marks"].data = build_marks(plot.palette, commits, cells, stretch)
    sources["problems"].data = build_problems(commits, cells)
    sources["log files"].data = build_log_files(
        commits, history.compactions, stretch, history.shown
    )
    sources["events"].data = build_events(commits, stretch, history.shown)


def fill_live(plot: Timeline, history: History) -> None:
    """Draw again only what is live: it becomes known after the commits."""
    plot.size.visible = history.live is not None and bool(np.any(~np.isnan(history.live)))
    _fill_live(plot, history, float(plot.x_range.start), float(plot.x_range.end))


def _fill_live(plot: Timeline, history: History, low: float, high: float) -> None:
    if history.live is None:
        return
    x, y = _live_line(history.commits, history.live, low, high)
    plot.sources["live"].data = {
        "x": x,
        "y": y,
        "until": np.append(x[1:], x[-1:]),
        "amount": _amounts(y, plot.measure),
        "when": _places(history.commits, x),
    }
    top = float(y.max()) if len(y) else 1.0
    plot.size.y_range.update(start=0, end=top * 1.12 or 1.0)


def _arrange_lanes(plot: Timeline, history: History) -> None:
    """A lane for each kind that occurs, and none that is empty."""
    commits, seen = history.commits, history.in_lanes
    found = {LANES[int(lane)] for lane in np.unique(commits.lane[seen])}
    factors = [name for name in LANES if name in found]
    events = find_events(commits).values()
    factors += [EVENTS] if any((flags & seen).any() for flags in events) else []
    factors += [CHECKPOINTS] if history.has_compactions or history.has_checkpoints else []
    plot.lanes.y_range.factors = factors[::-1]
    plot.lanes.height = _LANE_HEIGHT * len(factors) + 34


def _fill_flow(plot: Timeline, history: History, low: float, high: float) -> None:
    changes = build_changes(history.commits, plot.measure, low, high, history.seen)
    plot.sources["changes"].data = {
        "left": changes.left,
        "right": changes.right,
        "added": changes.added,
        "removed": changes.removed,
        # a bar of nothing would cut into the line of zero
        "added_line": (changes.added != 0).astype(np.float64),
        "removed_line": (changes.removed != 0).astype(np.float64),
        "plus": _amounts(changes.added, plot.measure),
        "minus": _amounts(changes.removed, plot.measure),
        "when": _spans(history.commits, changes.left, changes.right),
    }
    plot.flow.visible = bool(len(changes.left))
    if len(changes.left):
        top, bottom = float(changes.added.max()), float(changes.removed.min())
        plot.flow.y_range.update(start=bottom * 1.1 or -top * 0.05, end=top * 1.1 or 1.0)
        plot.flow.yaxis[0].ticker.ticks = find_ticks(bottom, top, plot.measure)


def _amounts(values: Floats, measure: Measure) -> list[str]:
    """What a tooltip says: bytes in their units, rows and files with their noun."""
    numbers = [int(value) for value in values]
    if measure == "bytes":
        return [format_signed_bytes(number) if number < 0 else format_bytes(number)
                for number in numbers]  # fmt: skip
    return [f"{number:,} {measure}".replace("-", "\N{MINUS SIGN}") for number in numbers]


def _places(commits: Commits, places: Floats) -> list[str]:
    """Places of the axis as times, or as versions."""
    if commits.axis == "version":
        return [f"version {int(place):,}" for place in places]
    return [format_moment(read_moment(float(place))) for place in places]


def _spans(commits: Commits, left: Floats, right: Floats) -> list[str]:
    both = zip(_places(commits, left), _places(commits, right), strict=True)
    return [first if first == last else f"{first} to {last}" for first, last in both]


def _live_line(commits: Commits, live: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """The visible part of the step line, from edge to edge: an amount holds until the next
    commit, and the last one until now. Nothing is drawn where it is not known."""
    known = ~np.isnan(live)
    x, y = thin(commits.x[known], live[known], len(commits.x))
    first, last = np.searchsorted(x, low), np.searchsorted(x, high, side="right")
    start = max(0, int(first) - 1)
    x, y = thin(x[start:last], y[start:last], LINE_POINTS)
    if not len(x):
        return x, y
    return np.append(np.maximum(x, low), high), np.append(y, y[-1])


_CHOSEN = ("x", "y", "color", "width", "height", "outline")


def show_version(plot: Timeline, commits: Commits, version: int | None) -> None:
    """Mark the selected commit; nothing is marked where it is not read or gone, and no mark where
    it is not visible."""
    at = None if version is None else commits.position(version)
    known = at is not None and not np.isnan(commits.x[at])
    for cursor in plot.cursors:
        cursor.visible = known
    if at is None or not known:
        plot.sources["chosen"].data = {name: [] for name in _CHOSEN}
        return
    for cursor in plot.cursors:
        cursor.location = float(commits.x[at])
    lane = LANES[int(commits.lane[at])]
    plot.sources["chosen"].data = build_chosen(plot.marks.data, lane, int(commits.version[at]))


def show_range(plot: Timeline, commits: Commits, older: int | None, newer: int | None) -> None:
    """Shade what lies between two versions, as far as it is read."""
    ends = find_between(commits, older, newer)
    for chosen in plot.ranges:
        chosen.visible = ends is not None
        if ends is not None:
            chosen.update(left=ends[0], right=ends[1])


def find_between(
    commits: Commits, older: int | None, newer: int | None
) -> tuple[float, float] | None:
    """Where two versions stand on the axis; None where they are the same or not read."""
    if older is None or newer is None or older == newer or not len(commits.version):
        return None
    first, last = min(older, newer), max(older, newer)
    inside = commits.x[(commits.version >= first) & (commits.version <= last)]
    inside = inside[~np.isnan(inside)]
    return (float(inside.min()), float(inside.max())) if len(inside) else None


def find_versions(commits: Commits, low: float, high: float) -> tuple[int, int] | None:
    """First and last version between two places on the axis."""
    inside = commits.version[(commits.x >= low) & (commits.x <= high)]
    return (int(inside.min()), int(inside.max())) if len(inside) else None


_NAMES = {"bytes": "Table size", "rows": "Rows", "files": "Active files"}


def _live_figure(
    shared: Shared, x_range: Range1d, source: ColumnDataSource, measure: Measure
) -> figure:
    palette = shared.palette
    plot = build_plot(
        shared, f"{_NAMES[measure]} over time", height=96, x_range=x_range, x_axis_type=None,
        y_range=Range1d(0, 1), tools=_moving(),
    )  # fmt: skip
    plot.yaxis[0].update(axis_label=_NAMES[measure], **shared.amounts)
    shared.add(
        plot,
        source,
        VAreaStep(
            x="x", y1=0, y2="y", step_mode="after", fill_color=palette.write, fill_alpha=0.14
        ),
    )
    shared.add(
        plot, source, Step(x="x", y="y", mode="after", line_color=palette.write, line_width=1.6)
    )
    # a step line cannot be pointed at; what lies below each of its steps can
    below = Quad(left="x", right="until", bottom=0, top="y", fill_alpha=0, line_alpha=0)
    steps = shared.add(plot, source, below)
    told = build_tooltip(palette, ("From", "@when"), title=f"{_NAMES[measure]} @amount")
    plot.add_tools(shared.build_hover(told, [steps], mode="vline"))
    return plot


def _flow_figure(
    shared: Shared, x_range: Range1d, source: ColumnDataSource, measure: Measure
) -> figure:
    palette = shared.palette
    plot = build_plot(
        shared, f"{measure.capitalize()} added and removed over time", height=82,
        x_range=x_range, x_axis_type=None, y_range=Range1d(-1, 1), tools=_moving(),
    )  # fmt: skip
    # where none of a ticker's round numbers fits, zero would stand alone
    ticks = FixedTicker(ticks=[0])
    plot.yaxis[0].update(axis_label="Change", **{**shared.amounts, "ticker": ticks})
    bars = []
    for side, colour in (("added", palette.added), ("removed", palette.removed)):
        bar = Quad(
            left="left", right="right", bottom=0, top=side, fill_color=colour, fill_alpha=0.75,
            line_color=palette.card, line_width=0.5, line_alpha=f"{side}_line",
        )  # fmt: skip
        bars.append(shared.add(plot, source, bar))
    # of both sides one tooltip, wherever above or below the bar one points
    told = build_tooltip(palette, ("Added", "@plus"), ("Removed", "@minus"), title="@when")
    plot.add_tools(shared.build_hover(told, bars[:1], mode="vline"))
    return plot


def _moving() -> list[PanTool | WheelZoomTool]:
    # Without the key the page scrolls: the plot must not catch the wheel on the way.
    return [PanTool(dimensions="width"), WheelZoomTool(dimensions="width", modifiers="ctrl")]


def _lanes_figure(
    shared: Shared, axis: Axis, x_range: Range1d, sources: Mapping[str, ColumnDataSource]
) -> figure:
    palette = shared.palette
    plot = build_plot(
        shared, "Commits by operation over time; the commits table holds the same",
        height=230, x_range=x_range, y_range=FactorRange(factors=[]), tools=[],
    )  # fmt: skip
    dress_axis(plot, axis)
    mark = Rect(
        x="x", y="y", width="width", height="height", height_units="screen",
        border_radius=_ROUND, fill_color="color", line_color="color", fill_alpha="fill",
        line_alpha="line",
    )  # fmt: skip
    # one that is tapped is selected elsewhere: the others stay as they are
    marks = shared.add(plot, sources["marks"], mark, nonselection_glyph=mark)
    told = {marks: build_tooltip(palette, *_TOLD, title="@operation")}
    diamond = Scatter(
        x="x", y="y", size=LOG_FILE_PIXELS, marker="diamond", fill_color=palette.muted,
        line_color=palette.muted, fill_alpha="fill", line_alpha="line",
    )  # fmt: skip
    log_files = shared.add(plot, sources["log files"], diamond)
    kinds = (("Checkpoint", "@checkpoint"), ("Compaction", "@compaction"))
    told[log_files] = build_tooltip(palette, *kinds)
    event = Scatter(
        x="x", y="y", size=EVENT_PIXELS, marker="shape", fill_color=palette.text,
        fill_alpha=0.75, line_alpha=0,
    )  # fmt: skip
    events = shared.add(plot, sources["events"], event)
    told[events] = build_tooltip(palette, ("Version", "@what"), ("Changed", "@kind"))
    cross = Scatter(x="x", y="y", size="size", marker="x", line_color=palette.error, line_width=2)
    problems = shared.add(plot, sources["problems"], cross)
    told[problems] = build_tooltip(palette, ("Version", "@what"), ("Problem", "@problem"))
    ring = Rect(
        x="x", y="y", width="width", height="height", height_units="screen",
        border_radius=_ROUND, fill_color="color", line_color=palette.text, line_width="outline",
    )  # fmt: skip
    shared.add(plot, sources["chosen"], ring)
    _add_tools(plot, shared, marks, told)
    return plot


_TOLD = [
    ("Version", "@what"), ("Time", "@when"), ("User", "@user"), ("Where", "@predicate"),
    ("Files", "@files"), ("Rows", "@rows"), ("Bytes", "@bytes"),
]  # fmt: skip


def _add_tools(
    plot: figure,
    shared: Shared,
    marks: GlyphRenderer,
    told: Mapping[GlyphRenderer, str],
) -> None:
    # Without a toolbar, which would lie over the newest commits and switch the brush off; the
    # page has buttons for its tools. The brush selects a range of the axis, and no marks.
    brush = BoxSelectTool(dimensions="width", renderers=[])
    accent = shared.palette.accent
    brush.overlay.update(
        fill_color=accent, fill_alpha=0.12, line_color=accent, handles=shared.handles
    )
    plot.add_tools(
        brush,
        WheelZoomTool(dimensions="width", modifiers="ctrl"),
        TapTool(renderers=[marks]),
        *(shared.build_hover(tips, [drawn]) for drawn, tips in told.items()),
    )
    plot.toolbar.active_drag = brush


def _overview_figure(
    shared: Shared, whole: Range1d, x_range: Range1d, source: ColumnDataSource
) -> figure:
    palette = shared.palette
    plot = build_plot(
        shared, "Commits over the whole log; drag the shaded range", height=106, x_range=whole,
        y_range=DataRange1d(start=0), tools=[],
    )  # fmt: skip
    plot.yaxis.axis_label = "Commits"
    plot.yaxis.ticker = BasicTicker(desired_num_ticks=2, num_minor_ticks=0, min_interval=1)
    plot.yaxis.formatter = NumeralTickFormatter(format="0,0")
    plot.center = []
    bar = Quad(
        left="left", right="right", bottom=0, top="top", fill_color=palette.muted,
        fill_alpha=0.45, line_color=palette.card, line_width=1,
    )  # fmt: skip
    bars = shared.add(plot, source, bar)
    told = build_tooltip(palette, ("Commits", "@count"), title="@when")
    plot.add_tools(shared.build_hover(told, [bars], mode="vline"))
    tool = RangeTool(x_range=x_range)
    tool.overlay.update(
        fill_color=palette.accent, fill_alpha=0.16, line_color=palette.accent, line_alpha=0.4,
        handles=shared.handles,
    )  # fmt: skip
    plot.add_tools(tool)
    return plot
