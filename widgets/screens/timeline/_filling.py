"""Filling the history: newest first, in the background, until it ends or is told to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from explorer.errors import Problem
from explorer.progress import Cancel, Progress
from widgets.figures.commits import MEASURES, Commits, Floats, Measure, build_live, read_commits
from widgets.screens.timeline._ask import HistoryPart, Listener, read_history
from widgets.session.page_services import PageServices
from widgets.session.tables import TableService
from widgets.state import HistoryState

TOLD_SECONDS = 0.2
"""How far a reading is goes to the browser no more often: each message takes as long as reading
some hundred commits."""

INLINE_SECONDS = 3.0
"""How long a notebook cell may read before it shows what it has."""


class HistoryReader:
    """Reads one table's commits into the shared `HistoryState`."""

    def __init__(
        self, services: PageServices, history: HistoryState, report: Callable[[Progress], None]
    ) -> None:
        self._services = services
        self._history = history
        self._report = report
        self._service: TableService | None = None
        self._cancel = Cancel()
        self._known: HistoryPart | None = None
        self._latest: int | None = None
        self._anchors: dict[str, int | None] = {}
        history.param.watch(lambda *_: self._learn(), "removed")

    def start(self, service: TableService) -> None:
        """Read a table that was just opened; an earlier reading is given up.

        Of the table that is shown already only the newer commits are read.
        """
        self.stop()
        self._latest, self._anchors = None, {}
        self._history.removed = {}
        if service is not self._service:
            self._service, self._known = service, None
            self._history.param.update(commits=None, live={}, left=0, problem=None)
        self._read()

    def has(self, service: TableService) -> bool:
        """Whether the commits that are shown are those of this table."""
        return service is self._service

    def stop(self) -> None:
        """Give up reading; what was read stays."""
        self._cancel.cancel()
        self._history.reading = False

    def resume(self) -> None:
        """Go on where reading stopped."""
        if self._service is not None and not self._history.reading:
            self._history.problem = None
            self._read()

    def anchor(self, latest: int, amounts: Mapping[str, int | None]) -> None:
        """What is live at the latest version, by measure: older amounts are walked back."""
        if latest != self._latest:
            self._latest, self._anchors = latest, {}
        self._anchors |= amounts
        if self._history.commits is not None:
            self._history.live = self._measure(self._history.commits)

    def _complete(self, commits: Commits) -> Commits:
        """With what other commits tell of them."""
        removed: Mapping[int, int] = self._history.removed
        return commits.with_removed(removed) if removed else commits

    def _learn(self) -> None:
        if self._history.commits is not None and self._history.removed:
            commits = self._complete(self._history.commits)
            self._history.param.update(commits=commits, live=self._measure(commits))

    def _measure(self, commits: Commits) -> dict[Measure, Floats]:
        latest = self._latest
        if latest is None:
            return {}
        found = {
            measure: build_live(commits, measure, latest, self._anchors.get(measure))
            for measure in MEASURES
        }
        return {measure: live for measure, live in found.items() if live is not None}

    def _read(self) -> None:
        service, cancel = self._service, Cancel()
        if service is None:
            return
        self._cancel = cancel
        self._history.reading = True
        runner = self._services.runner
        began = time.monotonic()

        def show(part: HistoryPart) -> None:
            runner.post(partial(self._grow, cancel, part))

        told = began

        def report(progress: Progress) -> None:
            nonlocal told
            if (now := time.monotonic()) - told >= TOLD_SECONDS:
                told = now
                runner.post(partial(self._tell, cancel, progress))

        def enough() -> bool:
            return not runner.is_background and time.monotonic() - began > INLINE_SECONDS

        listener = Listener(show=show, report=report, is_enough=enough)
        known = self._known
        runner.run_long(
            lambda: read_history(service, listener, cancel, known),
            lambda _: self._end(cancel, None),
            partial(self._end, cancel),
        )

    def _grow(self, cancel: Cancel, part: HistoryPart) -> None:
        if cancel is not self._cancel:
            return  # a table that is no longer shown
        self._known = part
        if part.read:
            commits = self._complete(read_commits(part.frame))
            self._history.param.update(
                commits=commits,
                live=self._measure(commits),
                left=part.left,
                compactions=part.compactions,
                problem=part.problem,
            )
        else:
            self._history.param.update(left=part.left, problem=part.problem)

    def _tell(self, cancel: Cancel, progress: Progress) -> None:
        if cancel is self._cancel and self._history.reading:
            self._report(progress)

    def _end(self, cancel: Cancel, problem: Problem | None) -> None:
        if cancel is self._cancel:
            self._history.reading = False
            if problem is not None:
                self._history.problem = problem
