"""Plans that are being carried out: each in a thread that outlives its page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from explorer.errors import DeltaError, InvalidArgumentError, Problem
from explorer.maintenance.documents.receipt import Receipt
from explorer.maintenance.plan.plan import Plan
from explorer.progress import Cancel, Progress, ProgressCallback
from widgets.session.work import unexpected

Work = Callable[[ProgressCallback, Cancel], Receipt]
Listener = Callable[[], None]
"""Called from the run's thread when it has come further, and when it has ended."""


class Run:
    """One plan while it is carried out. `outcome` is None until it has ended."""

    def __init__(self, plan: Plan, work: Work) -> None:
        self.plan = plan
        self.begun_at = time.time()
        self.progress: Progress | None = None
        self.outcome: Receipt | Problem | None = None
        self._work = work
        self._cancel = Cancel()
        self._listeners: list[Listener] = []
        self._lock = threading.Lock()

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._cancel.is_cancelled

    def cancel(self) -> None:
        """Ask it to stop after its current step."""
        self._cancel.cancel()

    def follow(self, listener: Listener) -> None:
        """Be told from now on; at once where it has ended already."""
        with self._lock:
            self._listeners.append(listener)
        if self.outcome is not None:
            listener()

    def carry_out(self) -> None:
        """Do the work in this thread; what goes wrong is the outcome."""
        try:
            self.outcome = self._work(self._report, self._cancel)
        except DeltaError as error:
            self.outcome = Problem.of(error)
        except Exception as error:  # noqa: BLE001 - else a page waits for what never comes
            self.outcome = unexpected(error)
        self._tell()

    def _report(self, progress: Progress) -> None:
        self.progress = progress
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener()
            except Exception as error:  # noqa: BLE001 - a page that looks on must not break a run
                unexpected(error)


class Runs:
    """All runs of one process."""

    def __init__(self) -> None:
        self._running: dict[Run, threading.Thread] = {}
        self._is_open = True
        self._lock = threading.Lock()

    def begin(self, run: Run) -> None:
        """Carry out a run in a thread of its own, which the process waits for."""
        thread = threading.Thread(target=self._carry_out, args=(run,), name="delta-explorer-run")
        with self._lock:
            if not self._is_open:
                raise InvalidArgumentError(
                    "The plan was not carried out.",
                    reason="The page is being stopped.",
                    remedy="Start it again, and approve the plan there.",
                )
            self._running[run] = thread
        thread.start()

    def of(self, uri: str) -> list[Run]:
        """The runs on the table at a place that have not ended, oldest first."""
        with self._lock:
            # one that has just ended tells those who follow it before it is taken out
            return [
                run for run in self._running if run.plan.subject.uri == uri and run.outcome is None
            ]

    @property
    def num_running(self) -> int:
        """How many have not ended."""
        with self._lock:
            return len(self._running)

    def stop(self) -> int:
        """Ask all runs to stop after their current step, wait for their receipts, and return
        how many there were."""
        with self._lock:
            self._is_open = False
            waited = dict(self._running)
        for run in waited:
            run.cancel()
        for thread in waited.values():
            thread.join()
        return len(waited)

    def _carry_out(self, run: Run) -> None:
        try:
            run.carry_out()
        finally:
            with self._lock:
                self._running.pop(run, None)
