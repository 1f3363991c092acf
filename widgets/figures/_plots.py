"""Plots without content: how they are framed, named, and what their axes say."""

from __future__ import annotations

from collections.abc import Mapping

from bokeh.models import (
    BasicTicker,
    CustomJSTickFormatter,
    DatetimeTicker,
    DatetimeTickFormatter,
    InlineStyleSheet,
    NoOverlap,
    NumeralTickFormatter,
)
from bokeh.plotting import figure

from widgets.figures.commits import Axis, Measure
from widgets.markup import NOTHING, html, join
from widgets.theme import Palette

_LEFT = 88

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


def _dress_tooltips(palette: Palette) -> InlineStyleSheet:
    """The ground of tooltips in the colours of the theme."""
    return InlineStyleSheet(
        css=f".bk-Tooltip {{ --tooltip-color: {palette.card}; --tooltip-border: {palette.line}; "
        f"--tooltip-text: {palette.text}; background: {palette.card}; "
        f"border: 1px solid {palette.line}; border-radius: 8px; max-width: 420px; }}"
    )


def build_plot(palette: Palette, name: str, **options: object) -> figure:
    """An empty plot as wide as the card; `name` is what a screen reader says."""
    plot = figure(
        sizing_mode="stretch_width",
        toolbar_location=None,
        min_border_left=_LEFT,
        min_border_right=10,
        outline_line_color=None,
        background_fill_color=palette.card,
        border_fill_color=palette.card,
        html_attributes={"role": "img", "aria-label": name},
        stylesheets=[_dress_tooltips(palette)],
        **options,
    )
    plot.axis.axis_line_color = None
    plot.axis.major_tick_line_color = None
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_color = palette.muted
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.axis_label_text_color = palette.muted
    plot.axis.axis_label_text_font_size = "12px"
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_standoff = 4
    plot.xgrid.grid_line_color = None
    plot.ygrid.grid_line_color = palette.line
    return plot


def dress_amounts(plot: figure, measure: Measure) -> None:
    """An upright axis that counts bytes, rows or files, with few numbers."""
    if measure == "bytes":
        plot.yaxis.ticker = BasicTicker(
            desired_num_ticks=2,
            base=1024,
            mantissas=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
            num_minor_ticks=0,
        )
        plot.yaxis.formatter = CustomJSTickFormatter(code=_BYTES_JS)
    else:
        plot.yaxis.ticker = BasicTicker(desired_num_ticks=2, num_minor_ticks=0, min_interval=1)
        plot.yaxis.formatter = NumeralTickFormatter(format="0,0.[0] a")


AXIS_TITLES: Mapping[Axis, str] = {"time": "Committed (UTC)", "version": "Version"}


def dress_axis(plot: figure, axis: Axis) -> None:
    """A level axis of times or of versions, with as many labels as there is room for."""
    plot.xaxis.major_label_policy = NoOverlap(min_distance=6)
    if axis == "time":
        plot.xaxis.ticker = DatetimeTicker(desired_num_ticks=6, num_minor_ticks=0)
        plot.xaxis.formatter = DatetimeTickFormatter(**_DATES)
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
