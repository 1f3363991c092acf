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


def render_bars(
    label: str, bars: Sequence[Bar], first: str = "", last: str = "", *, top: float | None = None
) -> Markup:
    """Bars as wide as the card; `label` is what a screen reader says, `first` and `last`
    stand below the ends; `top` is the value of the full height, else the greatest."""
    full = top or max((bar.value for bar in bars), default=0) or 1
    width = 1000 / max(len(bars), 1)
    drawn = join(_render_bar(bar, at * width, width, full) for at, bar in enumerate(bars))
    ends = html("<div class='dx-ends'><span>{}</span><span>{}</span></div>", first, last)
    return html(
        '<figure class="dx-bars"><svg viewBox="0 0 1000 {}" preserveAspectRatio="none" '
        'role="img" aria-label="{}">{}</svg>{}</figure>',
        HEIGHT,
        label,
        drawn,
        ends,
    )


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
