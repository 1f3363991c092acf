"""Which part of the axis the timeline shows: named windows, and zooming."""

from __future__ import annotations

from widgets.figures.commits import Commits

Span = tuple[float, float]
"""The ends of a part of the axis, in milliseconds since the epoch, or in versions."""

DAY_MS = 86_400_000.0
RANGES = {"24h": ("24 h", DAY_MS), "7d": ("7 d", 7 * DAY_MS), "30d": ("30 d", 30 * DAY_MS)}
VERSION_RANGES = {
    "24h": ("Last 100", 100.0),
    "7d": ("Last 1,000", 1e3),
    "30d": ("Last 10,000", 1e4),
}
"""Where times say nothing, the axis is versions and so are its ranges."""

EVERYTHING = "all"
ZOOM = 0.5

ROOM = 0.02
"""How much of a window lies after the last commit, for its mark."""

_ALIKE = 1e-6
"""Ends that are so much of the whole apart are the same: the browser rounds."""


def names_of(commits: Commits | None) -> dict[str, str]:
    """The windows that can be chosen, with what their buttons say."""
    widths = VERSION_RANGES if commits is not None and commits.axis == "version" else RANGES
    return {name: label for name, (label, _) in widths.items()} | {EVERYTHING: "All"}


def window_of(commits: Commits, name: str) -> Span:
    """The part of the axis that a name stands for: so much before the last commit."""
    low, high = commits.bounds()
    if name == EVERYTHING:
        return low, high
    width = (RANGES if commits.axis == "time" else VERSION_RANGES)[name][1]
    last = commits.last
    return max(low, last - width), min(high, last + width * ROOM)


def is_whole(view: Span, whole: Span) -> bool:
    """Whether all that there is can be seen."""
    least = (whole[1] - whole[0]) * _ALIKE
    return view[0] <= whole[0] + least and view[1] >= whole[1] - least


def is_within(view: Span, window: Span) -> bool:
    """Whether a part of the axis shows no commit that a named window does not: each of those ends
    with the last commit."""
    return view[0] >= window[0] - (window[1] - window[0]) * _ALIKE


def zoom(view: Span, whole: Span, factor: float, around: float | None, narrowest: float) -> Span:
    """The view as many times as wide, within the whole and no narrower than `narrowest`: about
    the place `around` where that is in it, else about its middle."""
    low, high = view
    first, last = whole
    width = min(max((high - low) * factor, narrowest), last - first)
    centre = around if around is not None and low <= around <= high else (low + high) / 2
    start = min(max(centre - width / 2, first), last - width)
    return start, start + width
