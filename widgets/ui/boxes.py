"""Boxes that hold components: cards, stacks, and a split that closes when narrow."""

from __future__ import annotations

from typing import Any

import panel as pn

from widgets.theme import read_box_style
from widgets.ui.live_html import LiveHtml


def build_card(*children: Any, place: str = "") -> pn.Column:
    """A card with a hairline border; `place` orders the cards of a closed split."""
    return _box(f"dx-card {place}".strip(), children)


def build_filled_card(part: LiveHtml) -> pn.Column:
    """A card that is there while its part has something to show."""
    card = build_card(part)
    card.visible = bool(part.html)
    part.param.watch(lambda event: card.param.update(visible=bool(event.new)), "html")
    return card


def build_stack(*children: Any) -> pn.Column:
    """One below the other, a gap between."""
    return _box("dx-stack", children)


def build_slot() -> pn.Column:
    """A place that is filled later."""
    return _box("dx-slot", ())


def build_split(main: Any, side: Any) -> pn.Column:
    """Beside each other; one below the other, by their places, where the page is narrow."""
    return _box("dx-split", (main, side))


def build_even_split(main: Any, side: Any) -> pn.Column:
    """A split that gives its side as much room as its main part."""
    return _box("dx-split dx-even", (main, side))


def open_even_side(split: pn.Column, side: pn.Column) -> None:
    """Show the side of an even split."""
    side.visible, split.css_classes = True, ["dx-split", "dx-even"]


def build_open_stack(*children: Any) -> pn.Column:
    """A stack whose cards join those of the split around it where the page is narrow."""
    return _box("dx-stack dx-open", children)


def open_side(split: pn.Column, side: pn.Column) -> None:
    """Show the side of a split."""
    side.visible, split.css_classes = True, ["dx-split"]


def close_side(split: pn.Column, side: pn.Column) -> None:
    """Hide the side of a split; the main part has all the width."""
    side.visible, split.css_classes = False, ["dx-split", "dx-alone"]


def build_box(name: str, *children: Any) -> pn.Column:
    """A box of the classes of the style sheet."""
    return _box(name, children)


def _box(name: str, children: tuple[Any, ...]) -> pn.Column:
    return pn.Column(
        *children,
        css_classes=name.split(),
        stylesheets=[read_box_style()],
        sizing_mode="stretch_width",
        margin=0,
    )
