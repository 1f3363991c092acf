"""The one question that a part of a view has open."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from explorer.errors import DeltaError, Problem
from explorer.progress import Cancel, Progress, Watch
from widgets.session.work import Runner

REPORT_SECONDS = 0.2
"""Between two reports of progress: each is a message to the browser."""

T = TypeVar("T")
Known = TypeVar("Known")

_questions: WeakKeyDictionary[Runner, WeakSet[Question]] = WeakKeyDictionary()
"""Those of each page."""


class Pace:
    """Lets through what comes no faster than people read; may be asked from any thread."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = 0.0
        self._label = ""

    def is_due(self, label: str) -> bool:
        """Whether enough time has passed since the last time that it had, or something else
        is done now, which may take long."""
        now = time.monotonic()
        if now - self._last < self._seconds and label == self._label:
            return False
        self._last, self._label = now, label
        return True


class Question:
    """Asks one thing at a time: a newer question takes the place of an open one, which is
    told to stop, and whose answer is dropped."""

    def __init__(self, runner: Runner, *, is_planning: bool = False) -> None:
        self._runner = runner
        self._run = runner.run_planning if is_planning else runner.run
        self._cancel = Cancel()
        _questions.setdefault(runner, WeakSet()).add(self)

    def ask(
        self,
        work: Callable[[Watch], T],
        done: Callable[[T], None],
        failed: Callable[[Problem], None],
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        """Run `work` beside the page; `done`, `failed` and `report` are called where the
        page may be changed, and only while this is the open question."""
        self.ask_in_steps(lambda watch, _: work(watch), lambda _: None, done, failed, report)

    def ask_in_steps(
        self,
        work: Callable[[Watch, Callable[[Known], None]], T],
        told: Callable[[Known], None],
        done: Callable[[T], None],
        failed: Callable[[Problem], None],
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        """The same for work that tells what it knows before it is done: `told` gets it, as
        often as there is more, where the page may be changed."""
        self.drop()
        cancel = self._cancel

        def if_open(change: Callable[[Any], None]) -> Callable[[Any], None]:
            return lambda answer: change(answer) if cancel is self._cancel else None

        def tell(known: Known) -> None:
            self._runner.post(partial(if_open(told), known))

        watch = Watch(cancel=cancel)
        if report is not None:
            watch = Watch(progress=self._throttled(cancel, report), cancel=cancel)

        def begun() -> T:
            cancel.check()  # it may have waited for a thread, and nobody waits for it any more
            return work(watch, tell)

        self._run(begun, if_open(done), if_open(failed))

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        self._cancel.cancel()
        self._cancel = Cancel()

    def _throttled(
        self, cancel: Cancel, report: Callable[[Progress], None]
    ) -> Callable[[Progress], None]:
        pace = Pace(REPORT_SECONDS)

        def tell(progress: Progress) -> None:
            if cancel is self._cancel:
                report(progress)

        def told(progress: Progress) -> None:
            if pace.is_due(progress.label):
                self._runner.post(partial(tell, progress))

        return told


def drop_all(runner: Runner) -> None:
    """Nobody waits for the answers of a page any more: whatever works for it is told to stop,
    jobs of Spark among it."""
    for question in list(_questions.get(runner, ())):
        question.drop()


def attempt_fact(read: Callable[[], T]) -> T | Problem:
    """A fact, or what keeps it from being had: the others are shown all the same."""
    try:
        return read()
    except DeltaError as error:
        return Problem.of(error)
