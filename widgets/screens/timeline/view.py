"""The commit timeline: the plot, its ranges, and how far it has been read."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import panel as pn
from bokeh.events import SelectionGeometry

from explorer.progress import Progress
from widgets.choices import Choices
from widgets.figures.cells import ASSUMED_PIXELS
from widgets.figures.commits import MEASURES, Axis, Commits, Measure
from widgets.figures.marks import LEGEND, find_shapes
from widgets.figures.spare import SPARE
from widgets.figures.timeline import (
    History,
    Timeline,
    fill_live,
    fill_marks,
    fill_timeline,
    fill_view,
    find_between,
    find_versions,
    hold_back,
    show_all,
    show_range,
    show_version,
)
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.commits.filter_view import read_shown
from widgets.screens.timeline._filling import HistoryReader
from widgets.screens.timeline._range_view import RangePart
from widgets.screens.timeline._windows import (
    EVERYTHING,
    RANGES,
    ZOOM,
    Span,
    is_whole,
    is_within,
    names_of,
    window_of,
    zoom,
)
from widgets.session.page_services import PageServices
from widgets.session.tables import Overview
from widgets.session.work import DRAWN_SECONDS, in_order
from widgets.state import HistoryState, PageState
from widgets.text import cut, format_count, format_many
from widgets.theme import DARK, LIGHT, Palette
from widgets.ui.boxes import build_box
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_waiting

READ_AHEAD = 1_000
"""Commits up to which a history is read and its plot built while somebody points at the link, for
which they would wait beside all that the browser has to do then. A page that nobody points at does
without the memory that a plot takes."""

UNASKED, UNASKED_BYTES = 200, 4 << 20
"""Commits, and bytes of a log on a local disk, up to which a history is read where nobody has asked
for it: that takes some tenth of a second, for which whoever comes would wait."""

RESIZED_PIXELS = 4
"""A plot that is so little wider or narrower stays as it is drawn."""

AROUND, NEARER = 0.1, 0.9
"""What is shown beside commits that are zoomed to, and how much less than now it has to be."""


class TimelineView:
    """One plot for one page; it is filled again, not built again, as commits arrive."""

    def __init__(self, services: PageServices, state: PageState, history: HistoryState) -> None:
        self._state = state
        self._history = history
        self._overview: Overview | None = None
        self._chosen = Choices(state, "timeline", self._choose_otherwise)
        self._range: str | None = EVERYTHING
        """The window that is shown; None where it was zoomed or dragged."""
        self._around: str | None = None
        """The window that was shown before, as long as a part of it is."""
        self._moving = False
        self._pixels = ASSUMED_PIXELS
        self._is_of_table = False
        """Whether the commits that are known are those of the table that is shown."""
        self._is_ahead = False
        self._progress: Progress | None = None
        self.reader = HistoryReader(services, history, self._report)
        self._services = services
        self._head = LiveHtml(margin=0)
        self._foot = LiveHtml(margin=0)
        self._plot: Timeline | None = None
        self._pane = pn.pane.Bokeh(None, sizing_mode="stretch_width", margin=(4, 0, 0, 0))
        self._sums = RangePart(state, history)
        self.panel = build_box("dx-card", self._head, self._pane, self._sums.panel, self._foot)
        self._listen()

    def _listen(self) -> None:
        self._head.on("range", self._choose_range)
        self._head.on("measure", self._choose_measure)
        self._head.on("zoom", self._zoom)
        self._foot.on("stop", lambda _: self.reader.stop())
        self._foot.on("resume", lambda _: self.reader.resume())
        self._history.param.watch(self._follow, ["commits", "live"])
        self._history.param.watch(lambda *_: self._draw_foot(), ["left", "reading", "problem"])
        self._state.param.watch(lambda *_: self._mark(), ["version", "older", "other"])
        self._state.param.watch(lambda *_: self._refill(), "only")
        self._state.param.watch(lambda *_: self._rebuild(), "dark")
        self._state.param.watch(lambda *_: self._come_to_front(), "view")

    def show(self, overview: Overview, *, stays: bool = False, is_ahead: bool = False) -> None:
        """A table has been opened; one that `stays` is only refreshed. Where somebody is about to
        look, `is_ahead`, the plot is built as if this view were in front."""
        self._overview, self._is_ahead = overview, is_ahead
        if not stays:
            self._range, self._around = self._window, None
            self._plot, self._pane.object = None, None
            self._is_of_table = False
        self._draw_head()
        self._draw_foot()

    def _drawn(self) -> History:
        """What the plot shows now."""
        commits: Commits = self._history.commits
        return History(
            commits=commits,
            live=self._history.live.get(self._measure),
            shown=read_shown(commits, self._state.only),
            window=self._window_of_lanes(commits),
            compactions=self._history.compactions,
            pixels=self._pixels,
        )

    def _window_of_lanes(self, commits: Commits) -> Span | None:
        """The part that was chosen by its name, also where less of it is shown now."""
        name = self._range or self._around
        if name is None or name == EVERYTHING:
            return None
        window = window_of(commits, name)
        # newer commits move it on, and what is shown of it stays where it is
        is_part = self._range is not None or self._plot is None or is_within(self._view, window)
        return window if is_part else None

    @property
    def _measure(self) -> Measure:
        return cast("Measure", self._chosen.get("measure", MEASURES) or MEASURES[0])

    @property
    def _window(self) -> str:
        """The named window of the address."""
        return self._chosen.get("window", RANGES) or EVERYTHING

    def _choose_measure(self, measure: str) -> None:
        if measure in MEASURES:
            self._chosen.choose(measure="" if measure == MEASURES[0] else measure)

    def _choose_otherwise(self, names: frozenset[str]) -> None:
        """By this page, or by where an address has led."""
        if "measure" in names:
            self._draw_head()
            self._rebuild()
        if "window" in names and self._window != (self._range or EVERYTHING):
            self._show_window(self._window)

    def _refill(self) -> None:
        if self._plot is not None:
            with in_order():
                fill_view(self._plot, self._drawn())
                self._show_version(self._plot)
        self._draw_foot()

    def _rebuild(self) -> None:
        """The same plot in the other theme's colours, where the person left it."""
        if self._plot is None:
            return
        low, high = self._plot.x_range.start, self._plot.x_range.end
        self._plot = None
        self._fill(view=(float(low), float(high)))

    def _follow(self, *events: Any) -> None:
        """More commits are read, or only what is live is known: then the rest stays.

        Where another view is in front, a plot that nobody has seen yet can wait: to build one takes
        much longer than to open the table."""
        self._is_of_table = True
        if self._plot is not None and all(event.name == "live" for event in events):
            with in_order():
                fill_live(self._plot, self._drawn())
        elif self._plot is not None or self._is_in_front or self._is_ahead:
            self._fill()

    def build_ahead(self) -> None:
        """Somebody is about to look at commits that may be known already."""
        self._is_ahead = True
        self._fill_first()

    def _come_to_front(self) -> None:
        if not self._is_in_front:
            return
        if self._plot is not None:
            self._show_rest_later(self._plot)
        elif self._services.runner.has_drawn:
            # the browser draws the frame of the view while the plot is filled
            self._services.runner.post(self._fill_first)
        else:
            self._fill_first()

    def _fill_first(self) -> None:
        # a table that is just being opened brings its view before its commits
        is_wanted = self._is_in_front or self._is_ahead
        if self._plot is None and self._is_of_table and is_wanted:
            self._fill()

    @property
    def _is_in_front(self) -> bool:
        return bool(self._state.view == "timeline")

    def _fill(self, view: tuple[float, float] | None = None) -> None:
        commits: Commits | None = self._history.commits
        if commits is not None:
            with in_order():
                self._fill_with(commits, view)

    def _fill_with(self, commits: Commits, view: tuple[float, float] | None) -> None:
        plot, fresh = self._plot, False
        if plot is None or plot.axis != commits.axis:
            plot, fresh = self._build(commits), True
        self._plot = plot
        self._moving = True
        if view is None and self._range is not None:
            view = window_of(commits, self._range)
        if view is not None:
            plot.x_range.update(bounds=None)
            plot.x_range.update(start=view[0], end=view[1])
            low, high = view
            plot.x_range.update(reset_start=low, reset_end=high)
        fill_timeline(plot, self._drawn())
        self._show_version(plot)
        show_range(plot, commits, self._state.since, self._state.version)
        self._moving = False
        if fresh:
            if self._pane.object is None and self._services.runner.has_drawn:
                hold_back(plot)
                if self._is_in_front:
                    self._show_rest_later(plot)
            self._pane.object = plot.layout
        self._draw_head()
        self._draw_foot()

    def _show_rest_later(self, plot: Timeline) -> None:
        """What stands above the lanes comes when the browser has drawn them."""

        def show() -> None:
            if plot is self._plot:
                with in_order():
                    show_all(plot)

        if plot.holds_back:
            self._services.runner.post_later(DRAWN_SECONDS, show)

    def _build(self, commits: Commits) -> Timeline:
        kind = (DARK if self._state.dark else LIGHT, commits.axis, self._measure)
        plot = SPARE.take(*kind)
        if self._services.runner.is_background:
            self._services.runner.when_drawn(partial(self._fill_spare_later, *kind))
        for edge in ("start", "end"):
            plot.x_range.on_change(edge, self._moved)
        plot.lanes.on_change("inner_width", self._resized)
        plot.marks.selected.on_change("indices", self._tapped)
        plot.lanes.on_event(SelectionGeometry, self._brushed)
        return plot

    def _fill_spare_later(self, *kind: Any) -> None:
        self._services.runner.post_later(2 * DRAWN_SECONDS, partial(self._fill_spare, *kind))

    def _fill_spare(self, palette: Palette, axis: Axis, measure: Measure) -> None:
        def fill() -> None:
            SPARE.fill(palette, axis, measure)

        self._services.runner.run(fill, lambda _: None, lambda _: None)

    def _moved(self, _attribute: str, _old: Any, _new: Any) -> None:
        if self._moving or self._plot is None:
            return
        named = self._range or self._around
        self._leave_window()
        self._draw_head()
        if named != (self._range or self._around):
            self._draw_foot()  # the lanes and shapes of all are back
        with in_order():
            fill_view(self._plot, self._drawn())
            self._show_version(self._plot)

    def _leave_window(self) -> None:
        """The visible part was zoomed or dragged: no window is shown, unless it is all of them."""
        self._around = self._find_around(self._view)
        self._range = EVERYTHING if self._is_whole else None
        self._chosen.choose(window="")

    def _find_around(self, view: Span) -> str | None:
        """The window that was shown before, if this is a part of it."""
        window = self._window_of_lanes(self._history.commits)
        is_part = window is not None and is_within(view, window)
        return self._range or self._around if is_part else None

    @property
    def _view(self) -> Span:
        """The visible part of the axis."""
        assert self._plot is not None
        return float(self._plot.x_range.start), float(self._plot.x_range.end)

    @property
    def _is_whole(self) -> bool:
        commits: Commits | None = self._history.commits
        if self._plot is None or commits is None:
            return True
        return is_whole(self._view, commits.bounds())

    def _resized(self, _attribute: str, _old: Any, pixels: float | None) -> None:
        """The browser says how wide the plot is: marks have more room, or less."""
        if self._plot is None or not pixels or abs(pixels - self._pixels) <= RESIZED_PIXELS:
            return
        self._pixels = float(pixels)
        with in_order():
            fill_marks(self._plot, self._drawn())
            self._show_version(self._plot)

    def _show_version(self, plot: Timeline) -> None:
        show_version(plot, self._history.commits, self._state.version)

    def _brushed(self, event: SelectionGeometry) -> None:
        geometry = event.geometry
        if not event.final or self._plot is None or geometry.get("type") != "rect":
            return
        low, high = sorted((float(geometry["x0"]), float(geometry["x1"])))
        found = find_versions(self._history.commits, low, high)
        if found is not None:
            # what the first of them did is counted from the version before it
            older = found[0] - 1 if found[0] > 0 else 0
            self._state.select_range(older, found[1])

    def _tapped(self, _attribute: str, _old: Any, picked: list[int]) -> None:
        if not picked or self._plot is None:
            return
        marks = self._plot.marks.data
        with in_order():
            self._plot.marks.selected.indices = []
        if picked[0] < len(marks["newest"]):
            oldest, newest = (int(marks[name][picked[0]]) for name in ("oldest", "newest"))
            if oldest == newest or not self._zoom_to(oldest, newest):
                self._state.version = newest

    def _zoom_to(self, oldest: int, newest: int) -> bool:
        """Show what one mark stands for commit by commit, where that is nearer than now."""
        plot, commits = self._plot, self._history.commits
        ends = find_between(commits, oldest, newest)
        if plot is None or ends is None:
            return False
        around = max((ends[1] - ends[0]) * AROUND, plot.x_range.min_interval / 2)
        first, last = commits.bounds()
        low, high = max(first, ends[0] - around), min(last, ends[1] + around)
        if high - low > NEARER * (float(plot.x_range.end) - float(plot.x_range.start)):
            return False
        self._zoom_in_on((low, high))
        return True

    def _zoom_in_on(self, view: Span) -> None:
        self._around, self._range = self._find_around(view), None
        self._fill(view=view)
        self._leave_window()
        self._draw_head()

    def _mark(self) -> None:
        if self._plot is not None:
            with in_order():
                self._show_version(self._plot)
                show_range(
                    self._plot, self._history.commits, self._state.since, self._state.version
                )

    def _choose_range(self, name: str) -> None:
        if (name in RANGES or name == EVERYTHING) and self._history.commits is not None:
            self._show_window(name)
            self._chosen.choose(window="" if name == EVERYTHING else name)

    def _show_window(self, name: str) -> None:
        self._range = name
        self._draw_head()
        self._fill()

    def _zoom(self, direction: str) -> None:
        if self._plot is None or direction not in {"in", "out"}:
            return
        commits: Commits = self._history.commits
        version = self._state.version
        at = None if version is None else commits.position(version)
        selected = None if at is None else float(commits.x[at])
        factor = ZOOM if direction == "in" else 1 / ZOOM
        narrowest = float(self._plot.x_range.min_interval)
        self._zoom_in_on(zoom(self._view, commits.bounds(), factor, selected, narrowest))

    def _draw_head(self) -> None:
        commits: Commits | None = self._history.commits
        by_version = commits is not None and commits.axis == "version"
        buttons = join(
            html(
                '<button type="button" data-do="range" data-value="{}" '
                'aria-pressed="{}">{}</button>',
                key,
                "true" if key == self._range else "false",
                label,
            )
            for key, label in names_of(commits).items()
        )
        hint = "Drag over the operations to select a range"
        if by_version:
            hint += "; by version, for their times are all alike"
        measures = join(
            html(
                '<button type="button" data-do="measure" data-value="{}" '
                'aria-pressed="{}">'
                "{}</button>",
                measure,
                "true" if measure == self._measure else "false",
                measure.capitalize(),
            )
            for measure in MEASURES
        )
        self._head.html = html(
            '<div class="dx-head"><h3>Commit timeline</h3><span class="dx-hint">{}</span>'
            '<span class="dx-segments" role="group" aria-label="What is counted">{}</span>'
            '<span><button type="button" class="dx-icon dx-minus" data-do="zoom" data-value="out" '
            'aria-label="Zoom out" title="Zoom out"{}></button>'
            '<button type="button" class="dx-icon dx-plus" data-do="zoom" data-value="in" '
            'aria-label="Zoom in" title="Zoom in (or Ctrl and the wheel)">'
            "</button></span>"
            '<span class="dx-segments" role="group" aria-label="Range">{}</span></div>',
            hint,
            measures,
            html(" disabled") if self._is_whole else NOTHING,
            buttons,
        )

    def _report(self, progress: Progress) -> None:
        self._progress = progress
        self._draw_foot()

    def _draw_foot(self) -> None:
        history = self._history
        read = 0 if history.commits is None else len(history.commits.version)
        if history.reading:
            self._foot.html = self._render_reading(read)
            return
        parts = [html("<span>{}</span>", self._summary(read)), self._render_legend()]
        if history.problem is not None:
            parts.append(
                html(
                    "<span>{} {}</span>",
                    cut(history.problem.problem, 300),
                    cut(history.problem.reason, 300),
                )
            )
        if history.left:
            parts.append(
                html(
                    '<button type="button" data-do="resume" data-value="">'
                    "Read older commits</button>"
                )
            )
        self._foot.html = html('<div class="dx-foot">{}</div>', join(parts))

    def _render_legend(self) -> Markup:
        """The shapes that occur, with their names."""
        if self._history.commits is None:
            return NOTHING
        drawn = self._drawn()
        there = find_shapes(drawn.commits, drawn.in_lanes)
        there += ["checkpoint"] if drawn.has_checkpoints else []
        there += ["log compaction"] if drawn.has_compactions else []
        shapes = join(
            html(" <span>{} {}</span>", shape, kind)
            for kind, shape in LEGEND.items()
            if kind in there
        )
        return html('<span class="dx-shapes">Larger mark: more files touched{}</span>', shapes)

    def _render_reading(self, read: int) -> Markup:
        progress = self._progress
        total = read + self._history.left
        if progress is not None and progress.total:
            read, total = max(read, min(progress.done, progress.total)), progress.total
        if not total:
            return render_waiting("Reading the newest commits")
        return html(
            '<div class="dx-foot" role="status"><span>{} of '
            "{} commits read, newest first</span>"
            '<progress max="{}" value="{}" aria-label="Commits read"></progress>'
            '<button type="button" data-do="stop" data-value="">Stop</button></div>',
            format_count(read),
            format_count(total),
            total,
            read,
        )

    def _summary(self, read: int) -> str:
        left = self._history.left
        if not read and not left:
            return "The log holds no commit file; what it says comes from a checkpoint."
        if left:
            return f"{format_count(read)} commits read, {format_count(left)} older ones not yet."
        commits: Commits = self._history.commits
        first = int(commits.version[0])
        gaps = int(commits.version[-1]) - first + 1 - read
        text = f"The log has {format_many(read, 'commit')}."
        if first:
            text += f" Versions before {format_count(first)} are gone from the log."
        if gaps:
            missing = "1 version" if gaps == 1 else f"{format_count(gaps)} versions"
            text += f" Missing in between: {missing}."
        return text
