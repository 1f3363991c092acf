"""How long work reports itself and how it is stopped, for every floor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from explorer.errors import CancelledError
from explorer.records import record


@record
class Progress:
    """One report: `done` of `total` units (None where the total is unknown)."""

    done: int
    total: int | None
    label: str


Answer = TypeVar("Answer")

_ASKED_EVERY = 0.2
"""Seconds, of whoever looks on while one long call is under way."""

ProgressCallback = Callable[[Progress], None]
"""Called from the working thread; it should return at once."""


class Cancel:
    """A flag that any thread may raise and long work looks at between steps."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the work that holds this flag to stop at its next step."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `CancelledError` once `cancel` was called."""
        if self._event.is_set():
            raise CancelledError(
                "The work was cancelled.",
                reason="Someone asked for it to stop.",
                remedy="Start it again if you still need the answer.",
            )


@record
class Watch:
    """Who looks on while work runs: handed down as one thing."""

    progress: ProgressCallback | None = None
    cancel: Cancel | None = None

    def step(self, done: int, total: int | None, label: str) -> None:
        """Report, and stop with `CancelledError` if that was asked for."""
        if self.cancel is not None:
            self.cancel.check()
        if self.progress is not None:
            self.progress(Progress(done=done, total=total, label=label))


UNWATCHED = Watch()


def while_working(
    work: Callable[[], Answer], watch: Watch, label: str, done: int = 0, total: int | None = None
) -> Answer:
    """What `work` answers, where that is one long call which cannot ask anybody itself: it is
    done in a thread of its own, and `watch` is asked meanwhile, several times a second.

    Cancelled, it is left to end by itself, and its answer is dropped.
    """
    if watch.progress is None and watch.cancel is None:
        return work()
    # it brings logging along, and whoever only opens a table does without
    from concurrent.futures import ThreadPoolExecutor, wait  # noqa: PLC0415  # see above

    watch.step(done, total, label)
    thread = ThreadPoolExecutor(1, thread_name_prefix="delta-explorer-work")
    try:
        coming = thread.submit(work)
        while not wait([coming], timeout=_ASKED_EVERY).done:
            watch.step(done, total, label)
        if watch.cancel is not None:
            watch.cancel.check()
        return coming.result()
    finally:
        thread.shutdown(wait=False)
