"""Boxes that hold components: cards, stacks, and a split that closes when narrow."""

from __future__ import annotations

from typing import Any

import panel as pn
import param

from widgets.theme import read_box_style
from widgets.ui.component import OwnLook
from widgets.ui.live_html import LiveHtml


@param.parameterized.no_instance_params
class Box(OwnLook, pn.Column):
    """A box of the classes of the style sheet."""


def build_card(*children: Any, place: str = "") -> Box | LiveHtml:
    """A card with a hairline border; `place` orders the cards of a closed split.

    A part that is alone in its card is the card itself: each box takes the server a millisecond
    and the browser another one."""
    name = f"dx-card {place}".strip()
    if len(children) == 1 and isinstance(children[0], LiveHtml):
        children[0].css_classes = [*children[0].css_classes, *name.split()]
        return children[0]
    return _box(name, children)


def build_filled_card(part: LiveHtml) -> Box | LiveHtml:
    """A card that is there while its part has something to show; the browser sees to it."""
    return build_card(part, place="dx-filled")


def build_stack(*children: Any) -> Box:
    """One below the other, a gap between."""
    return _box("dx-stack", children)


def build_slot() -> Box:
    """A place that is filled later."""
    return _box("dx-slot", ())


def build_split(main: Any, side: Any) -> Box:
    """Beside each other; one below the other, by their places, where the page is narrow."""
    return _box("dx-split", (main, side))


def build_even_split(main: Any, side: Any) -> Box:
    """A split that gives its side as much room as its main part."""
    return _box("dx-split dx-even", (main, side))


def open_even_side(split: Box, side: Box | LiveHtml) -> None:
    """Show the side of an even split."""
    side.visible, split.css_classes = True, ["dx-split", "dx-even"]


def build_open_stack(*children: Any) -> Box:
    """A stack whose cards join those of the split around it where the page is narrow."""
    return _box("dx-stack dx-open", children)


def open_side(split: Box, side: Box | LiveHtml) -> None:
    """Show the side of a split."""
    side.visible, split.css_classes = True, ["dx-split"]


def close_side(split: Box, side: Box | LiveHtml) -> None:
    """Hide the side of a split; the main part has all the width."""
    side.visible, split.css_classes = False, ["dx-split", "dx-alone"]


def build_box(name: str, *children: Any) -> Box:
    """A box of these classes."""
    return _box(name, children)


def _box(name: str, children: tuple[Any, ...]) -> Box:
    return Box(
        *children,
        css_classes=name.split(),
        stylesheets=[read_box_style()],
        sizing_mode="stretch_width",
        margin=0,
    )
