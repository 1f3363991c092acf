"""Filling the history: newest first, in the background, until it ends or is told to."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from explorer.errors import Problem
from explorer.progress import Cancel, Progress
from widgets.figures.commits import build_sizes, read_commits
from widgets.services.desk import Desk
from widgets.services.tables import TableService
from widgets.services.windows import HistoryPart, Listener, read_history
from widgets.state import HistoryState

INLINE_SECONDS = 3.0
"""How long a notebook cell may read before it shows what it has."""


class HistoryReader:
    """Reads one table's commits into the shared `HistoryState`."""

    def __init__(
        self, desk: Desk, history: HistoryState, report: Callable[[Progress], None]
    ) -> None:
        self._desk = desk
        self._history = history
        self._report = report
        self._service: TableService | None = None
        self._cancel = Cancel()
        self._known: HistoryPart | None = None
        self._anchor: tuple[int, int | None] | None = None

    def start(self, service: TableService) -> None:
        """Read a table that was just opened; an earlier reading is given up."""
        self.stop()
        self._service, self._known, self._anchor = service, None, None
        self._history.param.update(commits=None, sizes=None, left=0, problem=None)
        self._read()

    def stop(self) -> None:
        """Give up reading; what was read stays."""
        self._cancel.cancel()
        self._history.reading = False

    def resume(self) -> None:
        """Go on where reading stopped."""
        if self._service is not None and not self._history.reading:
            self._history.problem = None
            self._read()

    def anchor(self, latest: int, size: int | None) -> None:
        """The size of the latest version, from which older sizes are walked back."""
        self._anchor = (latest, size)
        self._measure()

    def _read(self) -> None:
        service, cancel = self._service, Cancel()
        if service is None:
            return
        self._cancel = cancel
        self._history.reading = True
        runner = self._desk.runner
        began = time.monotonic()

        def show(part: HistoryPart) -> None:
            runner.post(partial(self._grow, cancel, part))

        def report(progress: Progress) -> None:
            runner.post(partial(self._tell, cancel, progress))

        def enough() -> bool:
            return not runner.is_background and time.monotonic() - began > INLINE_SECONDS

        listener = Listener(show=show, report=report, is_enough=enough)
        known = self._known
        runner.run(
            lambda: read_history(service, listener, cancel, known),
            lambda _: self._end(cancel, None),
            partial(self._end, cancel),
        )

    def _grow(self, cancel: Cancel, part: HistoryPart) -> None:
        if cancel is not self._cancel:
            return  # a table that is no longer shown
        self._known = part
        if part.read:
            commits = read_commits(part.frame)
            with_sizes = build_sizes(commits, *self._anchor) if self._anchor else None
            self._history.param.update(
                commits=commits, sizes=with_sizes, left=part.left, problem=part.problem
            )
        else:
            self._history.param.update(left=part.left, problem=part.problem)

    def _measure(self) -> None:
        if self._history.commits is not None and self._anchor is not None:
            self._history.sizes = build_sizes(self._history.commits, *self._anchor)

    def _tell(self, cancel: Cancel, progress: Progress) -> None:
        if cancel is self._cancel and self._history.reading:
            self._report(progress)

    def _end(self, cancel: Cancel, problem: Problem | None) -> None:
        if cancel is self._cancel:
            self._history.reading = False
            if problem is not None:
                self._history.problem = problem
