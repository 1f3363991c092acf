"""Work beside a served page."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from weakref import ref

import pytest
from bokeh.document import Document
from bokeh.document.events import SessionCallbackAdded
from bokeh.models import Column, Div

from widgets.session import work
from widgets.session.work import BackgroundRunner, InlineRunner, Pool, wait_for_answers


class Served:
    """A document as its session sees it: it counts on one thread and remembers the changes."""

    def __init__(self) -> None:
        self.session_context: object | None = object()
        self.changes: list[Callable[[], None]] = []
        self.threads: set[int] = set()

    def add_next_tick_callback(self, change: Callable[[], None]) -> None:
        self.threads.add(threading.get_ident())
        self.changes.append(change)

    def play(self, is_over: Callable[[], bool]) -> bool:
        """Make the changes that there are, those that they bring included; whether that is all."""
        while self.changes:
            self.changes.pop(0)()
        return is_over()


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until `condition` holds."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to pass")


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `scene` on an event loop in a thread of its own: this one may have one already."""
    with ThreadPoolExecutor(1) as stage:
        stage.submit(lambda: asyncio.run(scene())).result()


def runner_of(served: Served) -> BackgroundRunner:
    return BackgroundRunner(cast(Document, served))


def test_a_page_changes_only_once_the_browser_has_it() -> None:
    async def scene() -> None:
        served, answered = Served(), threading.Event()
        runner = runner_of(served)
        runner.run(answered.set, lambda _: None, lambda _: None)
        await until(answered.is_set)  # work does not wait for the browser
        await asyncio.sleep(0.1)
        assert served.changes == []
        runner.release()
        assert len(served.changes) == 1

    play(scene)


def test_only_the_serving_thread_touches_the_document() -> None:
    async def scene() -> None:
        served = Served()
        runner = runner_of(served)
        runner.release()
        seen: list[Any] = []
        for number in range(20):
            runner.run(lambda number=number: number, seen.append, lambda _: None)
        await until(lambda: len(served.changes) == 20)
        assert served.threads == {threading.get_ident()}
        for change in served.changes:
            change()
        assert sorted(seen) == list(range(20))

    play(scene)


def test_a_page_that_was_closed_is_left_alone() -> None:
    async def scene() -> None:
        served, answered = Served(), threading.Event()
        runner = runner_of(served)
        runner.release()
        served.session_context = None
        runner.run(answered.set, lambda _: None, lambda _: None)
        await until(answered.is_set)
        await asyncio.sleep(0.1)
        assert served.changes == []

    play(scene)


def test_in_a_notebook_the_answer_is_there_when_the_cell_ends() -> None:
    seen: list[int] = []
    InlineRunner().run(lambda: 7, seen.append, lambda _: None)
    assert seen == [7]


def test_work_that_is_under_way_ends_before_the_server_does_and_none_begins() -> None:
    pool, begun, may_end, done = Pool(1), threading.Event(), threading.Event(), []

    def slow() -> None:
        begun.set()
        may_end.wait()
        done.append("slow")

    pool.submit(slow)
    pool.submit(lambda: done.append("waiting"))
    assert begun.wait(60)
    assert pool.num_waiting == 1
    assert not pool.drain(0.01)
    threading.Timer(0.2, may_end.set).start()
    assert pool.drain(60)
    assert done == ["slow"]
    ended = threading.Event()
    pool.submit(ended.set)  # it can be used again
    assert ended.wait(60)


def test_what_a_thread_has_done_is_not_kept_alive_by_it() -> None:
    pool, done = Pool(1), threading.Event()

    class Kept:
        def work(self) -> None:
            done.set()

    kept = Kept()
    seen = ref(kept)
    pool.submit(kept.work)
    assert done.wait(60)
    del kept
    assert pool.drain(60)
    for _ in range(6000):
        if seen() is None:
            break
        time.sleep(0.01)
    assert seen() is None


class Opened:
    """A session whose browser runs its scripts still."""

    connection_count = 0


def opened(document: Document) -> None:
    """Let a document be one of a session, which runs what it is asked to at the next tick."""
    context = SimpleNamespace(session=Opened())
    document._session_context = lambda: context  # type: ignore[assignment, return-value]
    loop = asyncio.get_running_loop()

    def follow(event: Any) -> None:
        if isinstance(event, SessionCallbackAdded):
            loop.call_soon(event.callback.callback)

    document.on_change(follow)


def unheard(document: Document, change: Callable[[], None]) -> None:
    """Make a change as Panel does, which lets events go while no browser is there."""
    document.hold()
    change()
    document.callbacks._held_events = []
    document.unhold()


def test_what_a_browser_is_sent_first_is_made_before_it_asks_and_never_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    real = Document.to_json

    def make(self: Document, **asked: Any) -> Any:
        made.append(1)
        return real(self, **asked)

    async def scene() -> None:
        document, column = Document(), Column(Div(text="first"))
        runner = BackgroundRunner(document)
        runner.prepare()
        document.add_root(column)
        opened(document)

        def answer(text: str) -> None:
            column.children = [Div(text=text)]

        runner.run(lambda: "second", answer, lambda _: None)
        await until(lambda: bool(made))
        for text in ("third", "fourth"):
            count = len(made)
            document.add_next_tick_callback(partial(unheard, document, partial(answer, text)))
            await until(lambda count=count: len(made) > count)
        count = len(made)
        told = document.to_json()
        answer("fifth")
        await asyncio.sleep(0.1)
        assert len(made) == count  # it has been sent: from now on there are patches
        assert "fourth" in str(told.content)
        assert "fifth" in str(document.to_json().content)

    monkeypatch.setattr(Document, "to_json", make)
    play(scene)


def test_nothing_is_made_for_a_page_that_ended_before_it_was_opened() -> None:
    async def scene() -> None:
        document = Document()
        BackgroundRunner(document).prepare()
        opened(document)
        document.add_root(Div(text="there"))
        # as Bokeh does when a session ends
        document.callbacks.destroy()
        document._session_context = None
        seen: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: seen.append(told))
        await asyncio.sleep(0.1)
        assert seen == []

    play(scene)


def test_what_can_wait_begins_once_the_page_is_drawn() -> None:
    async def scene() -> None:
        served, begun = Served(), []
        runner = runner_of(served)
        runner.when_drawn(lambda: begun.append("early"))
        await asyncio.sleep(0.05)
        assert begun == []
        runner.release()
        for change in served.changes:
            change()
        runner.when_drawn(lambda: begun.append("late"))
        assert begun == ["early", "late"]
        InlineRunner().when_drawn(lambda: begun.append("here"))
        assert begun[-1] == "here"

    play(scene)


@pytest.mark.parametrize("ends", ["well", "badly", "told badly", "late"])
def test_what_can_wait_waits_for_a_long_history_but_not_for_ever(
    ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "LONGEST_HELD", 0.2 if ends == "late" else 60)

    async def scene() -> None:
        served, begun, may_end = Served(), list[str](), threading.Event()
        runner = runner_of(served)

        def read() -> None:
            may_end.wait()
            if ends == "badly":
                raise RuntimeError("the log is gone")

        def tell(_: None) -> None:
            begun.append("read")
            if ends == "told badly":
                raise RuntimeError("it cannot be shown")

        runner.run_long(read, tell, lambda _: begun.append("failed"))
        runner.when_idle(lambda: begun.append("early"))
        runner.release()
        runner.when_idle(lambda: begun.append("late"))
        runner.when_drawn(lambda: begun.append("asked"))
        await asyncio.sleep(0.05)
        assert (begun, served.changes) == (["asked"], [])
        if ends != "late":
            may_end.set()
        await until(lambda: served.play(lambda: "late" in begun))
        told = {"well": ["read"], "badly": ["failed"], "told badly": ["read", "failed"], "late": []}
        assert begun == ["asked", *told[ends], "early", "late"]
        may_end.set()
        await until(lambda: served.play(lambda: not runner.is_busy))
        runner.when_idle(lambda: begun.append("at once"))
        assert begun[-1] == "at once"

    play(scene)


def test_a_browser_is_taken_up_once_nothing_is_under_way_or_after_a_while() -> None:
    async def scene() -> None:
        document, may_end = Document(), threading.Event()
        await wait_for_answers(document, 60)  # a page that works for nobody
        runner = BackgroundRunner(document)
        opened(document)
        await wait_for_answers(document, 60)
        runner.run(may_end.wait, lambda _: None, lambda _: None)
        begun = time.monotonic()
        await wait_for_answers(document, 0.05)
        assert time.monotonic() - begun >= 0.05
        assert runner.is_busy
        may_end.set()
        await wait_for_answers(document, 60)
        assert not runner.is_busy

    play(scene)
