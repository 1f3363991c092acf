"""What is told of work that is under way."""

from __future__ import annotations

from collections.abc import Callable

from explorer.progress import Progress, Watch
from widgets.session.asking import REPORT_SECONDS, Question
from widgets.session.work import Done, Failed, T


class Timed:
    """Work ends when it is told to, and time passes when it is told to."""

    is_background = True

    def __init__(self) -> None:
        self.later: list[Callable[[], None]] = []
        self.waits: list[float] = []
        self.end: Callable[[], None] = lambda: None

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        del failed
        answer = work()
        self.end = lambda: done(answer)

    run_long = run
    run_planning = run

    def post(self, change: Callable[[], None]) -> None:
        change()

    def post_later(self, seconds: float, change: Callable[[], None]) -> None:
        self.waits.append(seconds)
        self.later.append(change)

    def pass_time(self) -> None:
        due, self.later = self.later, []
        for change in due:
            change()

    def when_drawn(self, begin: Callable[[], None]) -> None:
        begin()


def ask(runner: Timed, *labels: str) -> tuple[list[str], Watch]:
    """Ask for work that has come through these steps, and what is heard of it."""
    heard: list[str] = []
    watches: list[Watch] = []

    def work(watch: Watch) -> str:
        watches.append(watch)
        for at, label in enumerate(labels):
            watch.step(at, None, label)
        return "answer"

    def report(progress: Progress) -> None:
        heard.append(progress.label)

    Question(runner).ask(work, heard.append, lambda _: None, report)
    return heard, watches[0]


def test_work_that_is_done_soon_tells_of_no_step() -> None:
    runner = Timed()
    heard, _ = ask(runner, "reading", "counting")
    runner.end()
    runner.pass_time()
    assert heard == ["answer"]


def test_of_longer_work_the_newest_step_is_told_and_each_later_one_after_a_while() -> None:
    runner = Timed()
    heard, watch = ask(runner, "reading", "counting")
    assert heard == []
    runner.pass_time()
    assert heard == ["counting"]
    watch.step(1, None, "sorting")
    assert heard == ["counting"]
    runner.pass_time()
    assert heard == ["counting", "sorting"]
    runner.pass_time()  # nothing new
    runner.end()
    assert heard == ["counting", "sorting", "answer"]
    assert set(runner.waits) == {REPORT_SECONDS}
