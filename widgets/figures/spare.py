"""Timelines that are built before somebody asks for them."""

from __future__ import annotations

import threading

from widgets.figures.commits import Axis, Measure
from widgets.figures.timeline import Timeline, build_timeline
from widgets.theme import Palette


class Spare:
    """An empty timeline of each kind that was taken: to build one takes longer than to fill it, and
    a page that is being opened waits for it. Each is given away once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: dict[tuple[Palette, Axis, Measure], Timeline] = {}

    def take(self, palette: Palette, axis: Axis, measure: Measure) -> Timeline:
        """The one of this kind that lies here, else a new one."""
        with self._lock:
            built = self._built.pop((palette, axis, measure), None)
        return build_timeline(palette, axis, measure) if built is None else built

    def fill(self, palette: Palette, axis: Axis, measure: Measure) -> None:
        """Build one for the next who asks, where none lies here; on any thread, since it belongs
        to no page yet."""
        kind = (palette, axis, measure)
        if kind not in self._built:
            built = build_timeline(palette, axis, measure)
            with self._lock:
                self._built[kind] = built


SPARE = Spare()
"""Those of this process."""
