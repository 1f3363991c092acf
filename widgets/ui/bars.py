"""Bars beside each other, as inline drawing; a table with the same numbers stands beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widgets.text import esc

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
) -> str:
    """Bars as wide as the card; `label` is what a screen reader says, `first` and `last`
    stand below the ends; `top` is the value of the full height, else the greatest."""
    full = top or max((bar.value for bar in bars), default=0) or 1
    width = 1000 / max(len(bars), 1)
    drawn = "".join(_render_bar(bar, at * width, width, full) for at, bar in enumerate(bars))
    ends = f"<div class='dx-ends'><span>{esc(first)}</span><span>{esc(last)}</span></div>"
    return (
        f'<figure class="dx-bars"><svg viewBox="0 0 1000 {HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{esc(label)}">{drawn}</svg>{ends}</figure>'
    )


def _render_bar(bar: Bar, left: float, width: float, full: float) -> str:
    # what is there is seen, however little it is
    height = max(HEIGHT * bar.value / full, 2 if bar.value else 0)
    does = f' data-do="{esc(bar.action)}" data-value="{esc(bar.target)}"' if bar.action else ""
    marked = ' class="dx-marked"' if bar.marked else ""
    gap = min(2.0, width * 0.15)
    return (
        f"<g{does}{marked}><title>{esc(bar.title)}</title>"
        f'<rect class="dx-ground" x="{left:.2f}" y="0" width="{width:.2f}" height="{HEIGHT}"/>'
        f'<rect x="{left:.2f}" y="{HEIGHT - height:.2f}" width="{width - gap:.2f}" '
        f'height="{height:.2f}"/></g>'
    )
