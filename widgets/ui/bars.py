"""Bars beside each other, as inline drawing; a table with the same numbers stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widgets.markup import NOTHING, Markup, html, join

HEIGHT = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar, with what is said of it on hover; with an `action` it can be clicked."""

    value: float
    title: str
    action: str | None = None
    target: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What stands beside the bars: the titles of both axes, the values at the foot and the top of
    the height, else those of the bars, and `ticks` below, each with its place from 0 to 1."""

    across: str
    up: str
    ticks: Sequence[tuple[float, str]]
    heights: tuple[str, str] | None = None


def render_bars(
    label: str,
    bars: Sequence[Bar],
    first: str = "",
    last: str = "",
    *,
    top: float | None = None,
    axes: Axes | None = None,
) -> Markup:
    """Bars as wide as the card; `label` is what a screen reader says, `first` and `last`
    stand below the ends unless there are `axes`; `top` is the value of the full height, else the
    greatest."""
    full = top or max((bar.value for bar in bars), default=0) or 1
    width = 1000 / max(len(bars), 1)
    drawn = join(_render_bar(bar, at * width, width, full) for at, bar in enumerate(bars))
    below = html("<div class='dx-ends'><span>{}</span><span>{}</span></div>", first, last)
    beside = NOTHING
    if axes is not None:
        foot, head = axes.heights or ("0", f"{full:,.6g}")
        ticks = join(render_tick(place, text) for place, text in axes.ticks)
        below = html(
            '<div class="dx-ticks">{}</div><div class="dx-across">{}</div>', ticks, axes.across
        )
        beside = html(
            '<div class="dx-up"><span>{}</span><em>{}</em><span>{}</span></div>',
            head,
            axes.up,
            foot,
        )
    return html(
        '<figure class="dx-bars{}">{}<svg viewBox="0 0 1000 {}" preserveAspectRatio="none" '
        'role="img" aria-label="{}">{}</svg>{}</figure>',
        "" if axes is None else " dx-axes",
        beside,
        HEIGHT,
        label,
        drawn,
        below,
    )


def render_tick(place: float, label: str) -> Markup:
    """A mark below an axis, at a place from 0 to 1, with its label; it stays within the ends."""
    side = " dx-first" if place < 0.04 else " dx-last" if place > 0.96 else ""
    return html('<span class="dx-tick{}" style="left:{:.3%}">{}</span>', side, place, label)


def _render_bar(bar: Bar, left: float, width: float, full: float) -> Markup:
    # what is there is seen, however little it is
    height = max(HEIGHT * bar.value / full, 2 if bar.value else 0)
    does = html(' data-do="{}" data-value="{}"', bar.action, bar.target) if bar.action else NOTHING
    marked = html(' class="dx-marked"') if bar.marked else NOTHING
    gap = min(2.0, width * 0.15)
    return html(
        "<g{}{}><title>{}</title>"
        '<rect class="dx-ground" x="{:.2f}" y="0" width="{:.2f}" height="{}"/>'
        '<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" '
        'height="{:.2f}"/></g>',
        does,
        marked,
        bar.title,
        left,
        width,
        HEIGHT,
        left,
        HEIGHT - height,
        width - gap,
        height,
    )
