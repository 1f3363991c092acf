"""Which commits have a mark of their own, and which share one because there is no room.

Marks of a lane stand beside each other: a mark is narrower the nearer the next one is, and
commits that are nearer than the narrowest mark is wide have one together.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.log.plain_arrays import Flags
from widgets.figures.commits import Commits, Floats, Ints

ASSUMED_PIXELS = 400.0
"""How wide a plot is taken to be until the browser says: 200 on a phone, 650 on a laptop."""

APART = 4.0
"""Pixels from one mark of a lane to the next, at least: three that are seen, and one between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The visible part of the axis: its ends, and the pixels between them."""

    low: float
    high: float
    pixels: float = ASSUMED_PIXELS

    @property
    def pixel(self) -> float:
        """How much of the axis a pixel covers."""
        return (self.high - self.low) / self.pixels

    def holds(self, x: Floats) -> Flags:
        """Whether each place is visible."""
        inside: Flags = (x >= self.low) & (x <= self.high)
        return inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What is drawn: a mark for each commit, or for some of a lane that are near to each other.

    `first` and `last` index `Commits`; `count` commits lie between them in the same lane, of
    which `problem` is the last that cannot be read, or -1. The mark stands at `x`, where the last
    of them does, and has `room` pixels to the next mark of its lane, infinitely many where there
    is none. `touched` is NaN where no commit says.
    """

    x: Floats
    lane: npt.NDArray[np.int8]
    first: Ints
    last: Ints
    count: Ints
    problem: Ints
    touched: Floats
    room: Floats


def find_ends(x: Floats, apart: float) -> Ints:
    """Of ascending places those that stay where others less than `apart` before them give way.

    The last place always stays.
    """
    ends, after = list[int](), len(x)
    while after:
        ends.append(after - 1)
        after = min(after - 1, int(np.searchsorted(x, x[after - 1] - apart, side="right")))
    return np.array(ends[::-1], dtype=np.int64)


def build_cells(commits: Commits, stretch: Stretch, shown: Flags | None = None) -> Cells:
    """The marks for the `shown` commits that are visible, lane by lane."""
    seen = stretch.holds(commits.x)
    inside = np.flatnonzero(seen if shown is None else seen & shown).astype(np.int64)
    inside = inside[np.lexsort((commits.x[inside], commits.lane[inside]))]
    lanes = commits.lane[inside]
    starts = np.searchsorted(lanes, np.unique(lanes))
    # one empty part where nothing is visible
    parts = [_in_lane(commits, at, stretch) for at in np.split(inside, starts[1:])]
    return Cells(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(Cells)
        }
    )


def _in_lane(commits: Commits, at: Ints, stretch: Stretch) -> Cells:
    x = commits.x[at]
    ends = find_ends(x, APART * stretch.pixel)
    begins = np.append(0, ends[:-1] + 1)[: len(ends)]
    touched = commits.touched[at]
    known = ~np.isnan(touched)
    total = _per(np.add, np.where(known, touched, 0.0), begins)
    apart = np.diff(x[ends]) / stretch.pixel
    return Cells(
        x=x[ends],
        lane=commits.lane[at][ends],
        first=_per(np.minimum, at, begins),
        last=_per(np.maximum, at, begins),
        count=np.diff(np.append(begins, len(at))),
        problem=_per(np.maximum, np.where(commits.problem[at], at, -1), begins),
        touched=np.where(_per(np.add, known.astype(np.int64), begins) > 0, total, np.nan),
        room=np.minimum(np.append(np.inf, apart), np.append(apart, np.inf))[: len(ends)],
    )


def _per(combine: np.ufunc, values: npt.NDArray[Any], begins: Ints) -> npt.NDArray[Any]:
    """One value for each part that begins at one of `begins`."""
    found: npt.NDArray[Any] = combine.reduceat(values, begins) if len(begins) else values
    return found
