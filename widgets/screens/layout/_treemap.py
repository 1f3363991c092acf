"""Areas in proportion to values, as rectangles of HTML (a squarified treemap)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from widgets.markup import NOTHING, Markup, html, join
from widgets.text import cut

_SHAPE = 3.2
"""Width by height of the map, as the style sheet draws it in a wide card."""

_CHARACTERS = 100
"""Characters that have room beside each other in the whole map."""

_UPRIGHT_CHARACTERS = 30
"""Characters that have room one below the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One rectangle: its name and what is said of it; `heat` from 0 to 1 colours it."""

    value: float
    name: str
    note: str
    heat: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectangle:
    """A place in the map; left, top, width and height from 0 to 1."""

    left: float
    top: float
    width: float
    height: float


def render_treemap(label: str, areas: Sequence[Area]) -> Markup:
    """The map; areas without a value are left out."""
    shown = sorted((area for area in areas if area.value > 0), key=lambda area: -area.value)
    places = build_rectangles([area.value for area in shown])
    drawn = join(
        html(
            '<div style="left:{:.3%};top:{:.3%};width:{:.3%};'
            'height:{:.3%};--heat:{:.0%}" '
            'title="{}: {}">{}</div>',
            place.left,
            place.top,
            place.width,
            place.height,
            area.heat,
            area.name,
            area.note,
            _render_name(area, place),
        )
        for area, place in zip(shown, places, strict=True)
    )
    return html('<div class="dx-map" role="img" aria-label="{}">{}</div>', label, drawn)


def _render_name(area: Area, place: Rectangle) -> Markup:
    # what would not fit stands in the table and on hover; a name that begins like all others and
    # is cut where they differ would say nothing
    if 0.02 <= place.width < 0.06:
        has_room = len(area.name) <= place.height * _UPRIGHT_CHARACTERS
        return html('<span class="dx-upright">{}</span>', area.name) if has_room else NOTHING
    if place.width < 0.06 or place.height < 0.09:
        return NOTHING
    if place.height < 0.16:
        has_room = len(area.name) <= place.width * _CHARACTERS
        return html("<span>{}</span>", area.name) if has_room else NOTHING
    if place.height < 0.24:
        return html("<span>{}</span><small>{}</small>", cut(area.name, 60), area.note)
    # the end of a name tells it from the others: it has a second line
    wraps = html(' class="dx-wraps"')
    return html("<span{}>{}</span><small>{}</small>", wraps, cut(area.name, 60), area.note)


def build_rectangles(values: Sequence[float]) -> list[Rectangle]:
    """Places of descending positive values that fill the map without overlap.

    What is left for the smallest is a difference of large numbers: none reaches over the edge.
    """
    total = sum(values)
    if not values or total <= 0:
        return []
    left, top, width, height = 0.0, 0.0, _SHAPE, 1.0
    areas = [value / total * _SHAPE for value in values]
    places: list[Rectangle] = []
    while areas:
        is_wide = width >= height
        side = height if is_wide else width
        row = _best_row(areas, side)
        thick = sum(areas[:row]) / side
        offset = 0.0
        for area in areas[:row]:
            length = area / thick
            if is_wide:
                found = (left, top + offset, thick, length)
            else:
                found = (left + offset, top, length, thick)
            at = found[0] / _SHAPE
            places.append(
                Rectangle(
                    left=at,
                    top=found[1],
                    width=min(found[2] / _SHAPE, 1 - at),
                    height=min(found[3], 1 - found[1]),
                )
            )
            offset += length
        if is_wide:
            left, width = left + thick, width - thick
        else:
            top, height = top + thick, height - thick
        areas = areas[row:]
    return places


def _best_row(areas: Sequence[float], side: float) -> int:
    """How many of the areas make a row whose worst shape is nearest to a square."""
    best, worst = 1, _worst(areas[:1], side)
    for count in range(2, len(areas) + 1):
        shape = _worst(areas[:count], side)
        if shape > worst:
            break
        best, worst = count, shape
    return best


def _worst(row: Sequence[float], side: float) -> float:
    thick = sum(row) / side
    lengths = [area / thick for area in row]
    return max(max(thick / length, length / thick) for length in lengths)
