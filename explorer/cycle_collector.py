"""Python's search for cycles among objects, kept away from parsing and from many requests."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Parsed JSON holds no cycles, and to look for some in each thousand objects takes up to a
    fifth of the time. To be left within milliseconds, for it concerns all threads."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


OBJECTS_BETWEEN_SEARCHES = 20_000
"""New objects between two searches. With Python's 700 what a request makes, some hundred that are
gone with it, takes a sixth of the processor's time to be looked through."""


def suit_requests() -> None:
    """For a process that answers requests from now on: what they leave behind is looked for at this
    interval, where it was a longer one."""
    if gc.get_threshold()[0] > OBJECTS_BETWEEN_SEARCHES:
        gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *gc.get_threshold()[1:])


class _Longer:
    """The interval, longer as long as somebody wants it so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted_by = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        with self._lock:
            self._wanted_by += 1
            if self._wanted_by == 1:
                self._before = gc.get_threshold()
                # 0 is never, as the process wanted it
                if 0 < self._before[0] < OBJECTS_BETWEEN_SEARCHES:
                    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *self._before[1:])

    def end(self) -> None:
        with self._lock:
            self._wanted_by -= 1
            # what the process has set meanwhile stays
            if not self._wanted_by and gc.get_threshold()[0] == OBJECTS_BETWEEN_SEARCHES:
                gc.set_threshold(*self._before)


_longer = _Longer()


@contextlib.contextmanager
def with_fewer_searches() -> Iterator[None]:
    """Searches for cycles are further apart until it is left, in all threads; they go on, for what
    a client leaves behind in a long history would not be freed otherwise."""
    _longer.begin()
    try:
        yield
    finally:
        _longer.end()
