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


class _Reports:
    """Tells how far work is, the newest word of it, from `REPORT_SECONDS` after it began and no
    more often than that; may be told from any thread. What is done sooner needs no word."""

    def __init__(self, runner: Runner, report: Callable[[Progress], None]) -> None:
        self._runner = runner
        self._report = report
        self._newest: Progress | None = None
        self._is_timed = self._has_ended = False
        self._pace = Pace(REPORT_SECONDS)

    def told(self, progress: Progress) -> None:
        """There is something new to tell."""
        self._newest = progress
        if not self._runner.is_background:
            # whoever waits for the cell sees nothing else meanwhile
            if self._pace.is_due(progress.label):
                self._tell()
        elif not self._is_timed:
            self._is_timed = True
            self._runner.post_later(REPORT_SECONDS, self._tell)

    def end(self) -> None:
        """The work has ended: there is an answer to look at."""
        self._has_ended = True

    def _tell(self) -> None:
        # in this order: what is told meanwhile is told now, or sets a time of its own
        self._is_timed = False
        newest, self._newest = self._newest, None
        if newest is not None and not self._has_ended:
            self._report(newest)


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

        reports = _Reports(self._runner, if_open(report or _say_nothing))

        def to_end(change: Callable[[Any], None]) -> Callable[[Any], None]:
            def end(answer: Any) -> None:
                reports.end()
                change(answer)

            return end

        def begun() -> T:
            cancel.check()  # it may have waited for a thread, and nobody waits for it any more
            return work(Watch(progress=report and reports.told, cancel=cancel), tell)

        self._run(begun, to_end(if_open(done)), to_end(if_open(failed)))

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        self._cancel.cancel()
        self._cancel = Cancel()


def _say_nothing(_: Progress) -> None:
    pass


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
