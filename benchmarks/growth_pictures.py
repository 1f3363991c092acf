"""Curves of a value for each file against the number of files, as a picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_WIDTH, _HEIGHT = 900, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 290, 30, 50
_COLOURS: Final = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#aa8800",
    "#3399bb",
    "#aa3377",
    "#777777",
    "#994455",
    "#004488",
    "#117733",
    "#882255",
    "#999933",
)
_LINE: Final = 18
"""Pixels between two names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Values above zero by the number of files."""

    name: str
    points: Mapping[int, float]


def draw_growth(curves: Sequence[Curve], unit: str) -> str:
    """Both axes by powers of ten, a curve and its name in each colour."""
    sizes = [size for curve in curves for size in curve.points]
    values = [value for curve in curves for value in curve.points.values()]
    across = _Axis.of(sizes, _LEFT, _WIDTH - _RIGHT)
    up = _Axis.of(values, _HEIGHT - _BOTTOM, _TOP)
    shapes = [*_grid(across, up, unit), *_curves(curves, across, up)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    style = 'font-family="sans-serif" font-size="12" role="img">'
    title = f"<title>{escape(unit)}, by the number of files</title>"
    ground = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head + style, title, ground, *shapes, "</svg>"]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """Powers of ten from `least` to `most`, between two pixels."""

    least: int
    most: int
    start: int
    end: int

    @classmethod
    def of(cls, values: Sequence[float], start: int, end: int) -> _Axis:
        """Around all values, a power of ten at least."""
        least = math.floor(math.log10(min(values, default=1)))
        most = max(math.ceil(math.log10(max(values, default=10))), least + 1)
        return cls(least=least, most=most, start=start, end=end)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.least) / (self.most - self.least)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> Iterator[float]:
        return (10.0**power for power in range(self.least, self.most + 1))


def _grid(across: _Axis, up: _Axis, unit: str) -> Iterator[str]:
    right = _WIDTH - _RIGHT
    for tick in up.ticks():
        y = up.place(tick)
        yield f'<path d="M{_LEFT} {y}H{right}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{tick:,.6g}</text>'
    for tick in across.ticks():
        x = across.place(tick)
        yield f'<path d="M{x} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#dddddd"/>'
        yield f'<text x="{x}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:,.0f}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">files</text>'
    yield f'<text x="{_LEFT}" y="{_TOP - 12}">{escape(unit)}</text>'


def _curves(curves: Sequence[Curve], across: _Axis, up: _Axis) -> Iterator[str]:
    x = _WIDTH - _RIGHT + 16
    for at, curve in enumerate(curves):
        colour = _COLOURS[at % len(_COLOURS)]
        points = [(across.place(size), up.place(value)) for size, value in curve.points.items()]
        way = " ".join(f"{left},{top}" for left, top in points)
        yield f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{a}" cy="{b}" r="3" fill="{colour}"/>' for a, b in points)
        y = _TOP + 6 + at * _LINE
        yield f'<path d="M{x} {y}h16" stroke="{colour}" stroke-width="3"/>'
        name = curve.name if len(curve.name) <= 34 else f"{curve.name[:33]}…"
        yield f'<text x="{x + 22}" y="{y + 4}">{escape(name)}</text>'
