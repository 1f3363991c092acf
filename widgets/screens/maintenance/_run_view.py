"""Watching a run from a page: told of it at most ten times a second, and once of its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from explorer.errors import Problem
from explorer.maintenance.documents.receipt import Receipt
from widgets.session.asking import Pace
from widgets.session.page_services import PageServices
from widgets.session.runs import Run

TOLD_SECONDS = 0.1
"""A faster progress says no more to a person."""


class RunWatcher:
    """The one run that a page looks at; when it looks away the run goes on."""

    def __init__(
        self,
        services: PageServices,
        on_progress: Callable[[Run], None],
        on_end: Callable[[Receipt | Problem], None],
    ) -> None:
        self._services = services
        self._on_progress = on_progress
        self._on_end = on_end
        self._pace = Pace(TOLD_SECONDS)
        self.run: Run | None = None

    def watch(self, run: Run) -> None:
        """Look at a run, begun or not."""
        self.run = run
        self._on_progress(run)

        def told() -> None:
            label = "" if run.progress is None else run.progress.label
            if run.outcome is not None or self._pace.is_due(label):
                self._services.runner.post(partial(self._draw, run))

        run.follow(told)

    def leave(self) -> None:
        """Look away."""
        self.run = None

    def stop(self) -> None:
        """Ask the run to stop after the step that is under way."""
        if self.run is not None:
            self._services.maintenance.cancel(self.run)
            self._draw(self.run)

    def _draw(self, run: Run) -> None:
        if run is not self.run:
            return
        if run.outcome is None:
            self._on_progress(run)
        else:
            self.run = None
            self._on_end(run.outcome)
