"""Plots without content: how they are framed, named, and what their axes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log2, log10
from typing import Any

from bokeh.models import (
    AllIndices,
    AllLabels,
    BasicTicker,
    BoxInteractionHandles,
    CDSView,
    ColumnDataSource,
    CustomJSHover,
    CustomJSTicker,
    CustomJSTickFormatter,
    DatetimeTicker,
    DatetimeTickFormatter,
    Filter,
    Glyph,
    GlyphRenderer,
    HoverTool,
    InlineStyleSheet,
    LabelingPolicy,
    LinearScale,
    Node,
    NoOverlap,
    NumeralTickFormatter,
    Scale,
    SelectionPolicy,
    Ticker,
    TickFormatter,
    UnionRenderers,
)
from bokeh.models.annotations.geometry import AreaVisuals
from bokeh.plotting import figure

from widgets.figures.commits import Axis, Measure
from widgets.markup import NOTHING, html, join
from widgets.theme import Palette

_LEFT = 88

_BYTES_JS = """
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
let value = tick, unit = 0
while (Math.abs(value) >= 1024 && unit < 5) { value /= 1024; unit += 1 }
const text = Number.isInteger(value) ? String(value) : value.toFixed(1)
return text.replace("-", "\N{MINUS SIGN}") + " " + units[unit]
"""

_COUNTS_JS = """
const units = ["", " k", " m", " b", " t"]
let value = tick, unit = 0
while (Math.abs(value) >= 1000 && unit < 4) { value /= 1000; unit += 1 }
const text = Number.isInteger(value) ? String(value) : value.toFixed(1)
return text.replace("-", "\N{MINUS SIGN}") + units[unit]
"""

_DATES = DatetimeTickFormatter(
    milliseconds="%H:%M:%S.%3N",
    seconds="%H:%M:%S",
    minsec="%H:%M:%S",
    minutes="%H:%M",
    hourmin="%H:%M",
    hours="%H:%M",
    days="%Y-%m-%d",
    months="%Y-%m",
    years="%Y",
).properties_with_values(include_defaults=False)


def build_tooltip(palette: Palette, *lines: tuple[str, str], title: str = "") -> str:
    """A tooltip of ours: a title and named values, each `@column` of the source, which Bokeh
    escapes."""
    head = html('<b style="display:block;margin-bottom:3px">{}</b>', title) if title else NOTHING
    rows = join(
        html('<span style="color:{}">{}</span><span>{}</span>', palette.muted, name, value)
        for name, value in lines
    )
    return html(
        '<div style="color:{};font:12.5px/1.45 Roboto,Helvetica,Arial,sans-serif">{}'
        '<div style="display:grid;grid-template-columns:auto 1fr;gap:1px 10px">{}</div></div>',
        palette.text,
        head,
        rows,
    )


def _follow_clock() -> CustomJSHover:
    """How a tooltip says times: in the zone that the reader has chosen, see `live_html.js`."""
    return CustomJSHover(code="return globalThis.dxClock?.said(`${value}`) ?? `${value}`")


def _dress_tooltips(palette: Palette) -> InlineStyleSheet:
    """The ground of tooltips in the colours of the theme."""
    return InlineStyleSheet(
        css=f".bk-Tooltip {{ --tooltip-color: {palette.card}; --tooltip-border: {palette.line}; "
        f"--tooltip-text: {palette.text}; background: {palette.card}; "
        f"border: 1px solid {palette.line}; border-radius: 8px; max-width: 420px; }}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Models that plots which stand together have once. Each model takes the server and the
    browser some time, and Bokeh makes one of these for every plot, axis, source or box."""

    palette: Palette
    tooltips: InlineStyleSheet
    amounts: Mapping[str, Ticker | TickFormatter]
    """Ticker and formatter of an upright axis of what is counted."""
    scale: Scale = field(default_factory=LinearScale)
    labels: LabelingPolicy = field(default_factory=AllLabels)
    selecting: SelectionPolicy = field(default_factory=UnionRenderers)
    handles: BoxInteractionHandles = field(
        default_factory=lambda: BoxInteractionHandles(all=AreaVisuals())
    )
    height: Mapping[str, Node] = field(
        default_factory=lambda: {"top": Node.frame.top, "bottom": Node.frame.bottom}
    )
    """Of a box that is as high as its plot."""

    every: Filter = field(default_factory=AllIndices)
    clock: CustomJSHover = field(default_factory=_follow_clock)

    def build_hover(self, told: str, drawn: Sequence[GlyphRenderer], **options: Any) -> HoverTool:
        """What is told of what is `drawn` where one points at it, see `build_tooltip`."""
        times = "@when"
        return HoverTool(
            renderers=[*drawn],
            tooltips=told.replace(times, f"{times}{{custom}}"),
            formatters={times: self.clock} if times in told else {},
            **options,
        )

    def build_source(self) -> ColumnDataSource:
        """An empty source."""
        return ColumnDataSource(selection_policy=self.selecting)

    def add(
        self, plot: figure, source: ColumnDataSource, glyph: Glyph, **options: Any
    ) -> GlyphRenderer:
        """Draw all of a source."""
        return plot.add_glyph(source, glyph, view=CDSView(filter=self.every), **options)


def build_shared(palette: Palette, measure: Measure) -> Shared:
    """What the plots of one timeline share."""
    return Shared(
        palette=palette, tooltips=_dress_tooltips(palette), amounts=_count_amounts(measure)
    )


def build_plot(shared: Shared, name: str, **options: object) -> figure:
    """An empty plot as wide as the card; `name` is what a screen reader says."""
    palette = shared.palette
    plot = figure(
        title=None,
        sizing_mode="stretch_width",
        toolbar_location=None,
        min_border_left=_LEFT,
        min_border_right=10,
        outline_line_color=None,
        background_fill_color=palette.card,
        border_fill_color=palette.card,
        html_attributes={"role": "img", "aria-label": name},
        stylesheets=[shared.tooltips],
        **options,
    )
    plot.x_scale = shared.scale
    if isinstance(plot.y_scale, LinearScale):
        plot.y_scale = shared.scale
    plot.axis.major_label_policy = shared.labels
    plot.axis.axis_line_color = None
    plot.axis.major_tick_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_color = palette.muted
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_color = palette.muted
    plot.axis.axis_label_text_font_size = "12px"
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_standoff = 4
    plot.ygrid.grid_line_color = palette.line
    # a grid without lines is a model that draws nothing
    plot.center = [grid for grid in plot.center if grid not in plot.xgrid]
    return plot


def _count_amounts(measure: Measure) -> Mapping[str, Ticker | TickFormatter]:
    """Bytes, rows or files, with few numbers."""
    if measure == "bytes":
        ticker = BasicTicker(
            desired_num_ticks=2,
            base=1024,
            mantissas=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
            num_minor_ticks=0,
        )
        return {"ticker": ticker, "formatter": CustomJSTickFormatter(code=_BYTES_JS)}
    return {
        "ticker": BasicTicker(desired_num_ticks=2, num_minor_ticks=0, min_interval=1),
        "formatter": CustomJSTickFormatter(code=_COUNTS_JS),
    }


def find_ticks(bottom: float, top: float, measure: Measure) -> list[float]:
    """Zero, and on each side of it that has room for a label the largest round number."""
    room = (top - bottom) * 0.2
    below = [-_round_down(-bottom, measure)] if -bottom > room else []
    above = [_round_down(top, measure)] if top > room else []
    return [*below, 0.0, *above]


def _round_down(value: float, measure: Measure) -> float:
    """The largest power of two, of bytes, or 1, 2 or 5 with zeros that is not larger."""
    if measure == "bytes":
        return float(2 ** floor(log2(value)))
    unit = 10 ** floor(log10(value))
    return float(next(step * unit for step in (5, 2, 1) if step * unit <= value))


_TITLES: Mapping[Axis, str] = {"time": "Committed (UTC)", "version": "Version"}
_LOCAL_TITLE = "Committed (local time)"

# Without a clock, which `live_html.js` brings, an axis stays in UTC.
_TICKS_JS = """
return globalThis.dxClock?.place_ticks(ticker, cb_data) ??
    ticker.get_ticks(cb_data.start, cb_data.end, cb_data.range, cb_data.cross_loc).major
"""
_LABELS_JS = """
const clock = globalThis.dxClock
if (titled) { clock?.keep_title(titled, titles) }
this.labels ??= clock?.label_ticks(formatter, ticks) ?? formatter.doFormat(ticks, {loc: 0})
return this.labels[index]
"""


def dress_axis(plot: figure, axis: Axis) -> None:
    """A level axis of times or of versions, with as many labels as there is room for.

    Times are those of the clock that the reader has chosen, see `live_html.js`.
    """
    plot.xaxis.major_label_policy = NoOverlap(min_distance=6)
    if axis == "time":
        ticker = DatetimeTicker(desired_num_ticks=6, num_minor_ticks=0)
        plot.xaxis.ticker = CustomJSTicker(major_code=_TICKS_JS, args={"ticker": ticker})
        dates = DatetimeTickFormatter(**_DATES)
        plot.xaxis.formatter = CustomJSTickFormatter(
            code=_LABELS_JS, args={"formatter": dates, "titled": None, "titles": None}
        )
    else:
        plot.xaxis.ticker = BasicTicker(desired_num_ticks=6, num_minor_ticks=0, min_interval=1)
        plot.xaxis.formatter = NumeralTickFormatter(format="0,0")


def share_axis(plot: figure, other: figure) -> None:
    """The level axis of `other` as that of `plot`: tickers of times are two dozen models, each of
    which takes the server and the browser some time."""
    for axis, same in zip(plot.xaxis, other.xaxis, strict=True):
        same.update(
            ticker=axis.ticker,
            formatter=axis.formatter,
            major_label_policy=axis.major_label_policy,
        )


def title_axis(plot: figure, axis: Axis) -> None:
    """Say what a level axis is of; one of times is called after the reader's clock."""
    (level,) = plot.xaxis
    level.axis_label = _TITLES[axis]
    if axis == "time":
        titles = {"utc": _TITLES[axis], "local": _LOCAL_TITLE}
        level.formatter.args = {**level.formatter.args, "titled": level, "titles": titles}
