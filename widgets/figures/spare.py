"""A timeline that is built before somebody asks for it."""

from __future__ import annotations

import threading

from widgets.figures.commits import Axis, Measure
from widgets.figures.timeline import Timeline, build_timeline
from widgets.theme import Palette


class Spare:
    """One empty timeline like the one that was taken last: to build one takes longer than to fill
    it, and a page that is being opened waits for it. Each is given away once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: Timeline | None = None

    def take(self, palette: Palette, axis: Axis, measure: Measure) -> Timeline:
        """The one that lies here where it is of this kind, else a new one."""
        with self._lock:
            built, self._built = self._built, None
        wanted = (palette, axis, measure)
        if built is not None and (built.palette, built.axis, built.measure) == wanted:
            return built
        return build_timeline(*wanted)

    def fill(self, palette: Palette, axis: Axis, measure: Measure) -> None:
        """Build one for the next who asks; on any thread, since it belongs to no page yet."""
        built = build_timeline(palette, axis, measure)
        with self._lock:
            self._built = built


SPARE = Spare()
"""That of this process."""
