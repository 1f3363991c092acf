"""Long calls that cannot ask anybody themselves are watched all the same."""

from __future__ import annotations

import threading

import pytest

from explorer.errors import CancelledError, NotFoundError
from explorer.progress import UNWATCHED, Cancel, Progress, Watch, while_working

LONG = 60


def test_answer_is_that_of_the_work_whether_somebody_looks_on_or_not() -> None:
    seen: list[Progress] = []
    assert while_working(lambda: 7, UNWATCHED, "Counting") == 7
    assert while_working(lambda: 7, Watch(progress=seen.append), "Counting", 3, 9) == 7
    assert seen[0] == Progress(done=3, total=9, label="Counting")


def test_nobody_is_told_anything_by_work_that_nobody_watches() -> None:
    here = threading.get_ident()
    assert while_working(threading.get_ident, UNWATCHED, "Counting") == here
    assert while_working(threading.get_ident, Watch(cancel=Cancel()), "Counting") != here


def test_work_is_told_again_and_again_until_it_ends() -> None:
    told = threading.Semaphore(0)

    def work() -> bool:
        # three tellings while it is under way
        return all(told.acquire(timeout=LONG) for _ in range(3))

    assert while_working(work, Watch(progress=lambda _: told.release()), "Counting")


def test_cancelled_work_is_not_waited_for() -> None:
    ended, began, cancel = threading.Event(), threading.Event(), Cancel()

    def work() -> None:
        began.set()
        cancel.cancel()
        ended.wait(LONG)

    try:
        with pytest.raises(CancelledError):
            while_working(work, Watch(cancel=cancel), "Counting")
        assert began.is_set()
    finally:
        ended.set()


def test_work_that_was_cancelled_before_is_not_begun() -> None:
    began, cancel = threading.Event(), Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        while_working(began.set, Watch(cancel=cancel), "Counting")
    assert not began.is_set()


def test_error_of_the_work_is_raised_to_whoever_waits() -> None:
    def fail() -> None:
        raise NotFoundError("gone", reason="It went.", remedy="None.")

    with pytest.raises(NotFoundError):
        while_working(fail, Watch(cancel=Cancel()), "Counting")
