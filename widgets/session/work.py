"""Where work runs: beside the page, or at once.

The engine is never asked on the thread that serves pages: one slow store would
freeze every session. In a notebook there is no such thread, and what a cell
shows must be there when the cell ends, so work runs at once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from contextvars import Context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent
from panel.io.document import (
    _WRITE_BLOCK,
    _WRITE_MSGS,
    _dispatch_msgs,
    _dispatch_write_task,
    unlocked,
)
from panel.io.state import set_curdoc, state
from tornado.ioloop import IOLoop, PeriodicCallback

from explorer.errors import DeltaError, Problem

LOG = logging.getLogger(__name__)
WORKERS = 8
"""Reads wait for stores more than they compute; eight sessions' clicks go side by side."""

DRAWN_SECONDS = 0.2
"""A browser has drawn by then what it was sent when somebody clicked: what is begun or sent only
then keeps nobody waiting."""

T = TypeVar("T")
Done = Callable[[T], None]
Failed = Callable[[Problem], None]


class Pool:
    """Threads that do not keep the process alive: whoever stops the server has waited long
    enough."""

    def __init__(self, size: int) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._missing = size
        self._open = 0
        self._changed = threading.Condition()
        _POOLS.add(self)

    @property
    def num_waiting(self) -> int:
        """How many jobs no thread has taken up yet."""
        return self._jobs.qsize()

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` on some thread, soon."""
        with self._changed:
            start, self._missing = self._missing > 0, max(0, self._missing - 1)
            self._open += 1
        if start:
            threading.Thread(target=self._work, name="delta-explorer", daemon=True).start()
        self._jobs.put(job)

    def drain(self, seconds: float) -> bool:
        """Take up nothing that waits, and wait for what is at work; whether it has ended."""
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
                self._close_one()
        with self._changed:
            return self._changed.wait_for(lambda: self._open == 0, seconds)

    def _work(self) -> None:
        while True:
            # no name for it: what is done would stay alive with it until there is more to do
            self._run(self._jobs.get())

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        finally:
            self._close_one()

    def _close_one(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()


_POOLS: WeakSet[Pool] = WeakSet()
_POOL = Pool(WORKERS)
_PLANNING = Pool(WORKERS)


_LONG = "delta-explorer-long"
_ENDING = frozenset({_LONG, "delta-explorer-summary"})
"""Threads that end with their work."""


def finish_work(seconds: float) -> None:
    """Begin nothing more, and wait for what is at work, but no longer than this: a thread that
    is reading while Python ends may bring the process down."""
    ends = time.monotonic() + seconds
    for pool in list(_POOLS):
        pool.drain(max(0.0, ends - time.monotonic()))
    for thread in threading.enumerate():
        if thread.name in _ENDING:
            thread.join(max(0.0, ends - time.monotonic()))


class Runner(Protocol):
    """Runs work and hands its result back where the page may be changed."""

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """Call `done` with the result of `work`, or `failed` with what went wrong."""
        ...

    def run_long(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """The same for work that takes minutes or waits for its turn: it takes no place of
        those who ask in between."""
        ...

    def run_planning(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """The same for plans, which may take minutes too and which every page may ask for:
        they wait for each other, and nobody else for them."""
        ...

    def post(self, change: Callable[[], None]) -> None:
        """Call `change`, from any thread, where the page may be changed."""
        ...

    def post_later(self, seconds: float, change: Callable[[], None]) -> None:
        """The same after some seconds, which pass beside the page."""
        ...

    def when_drawn(self, begin: Callable[[], None]) -> None:
        """Call `begin`, which begins what can wait until the page has been drawn once; at once
        where it has been. To be called where the page may be changed."""
        ...

    def when_idle(self, begin: Callable[[], None]) -> None:
        """As `when_drawn`, of what nobody has asked for: it also waits until nothing that takes
        long is under way, for some seconds at most. Threads of Python that read the same long
        log at once take many times as long as one after the other."""
        ...

    @property
    def is_background(self) -> bool:
        """Whether work goes on after `run` has returned."""
        ...

    @property
    def has_drawn(self) -> bool:
        """Whether a browser has drawn the page, and draws each message as it comes."""
        ...


class FirstMessage:
    """A page's document as its browser is sent it first, made while that loads and runs its
    scripts: the serving thread has less to do then than when it is asked.

    Bokeh's models are not frozen meanwhile, though nobody is told of a change yet: Panel takes what
    belongs to no document for a page of somebody else, and its style sheets from another host.
    """

    def __init__(self, document: Document, is_quiet: Callable[[], bool]) -> None:
        self._document = document
        self._is_quiet = is_quiet
        self._loop = IOLoop.current()
        self._make = document.to_json
        self._made: Any = None
        self._changed_at = 0.0
        self._is_timed = False
        document.on_change(self._forget)
        document.to_json = self._take

    def _forget(self, _event: DocumentChangedEvent) -> None:
        """What was made is not true any more. Not only changes tell of themselves here, but each
        tick too: Panel makes changes there, and lets their own events go while no browser is
        there."""
        self._made = None
        self._changed_at = time.monotonic()
        self._look_later()

    def _look_later(self) -> None:
        if not self._is_timed:
            self._is_timed = True
            self._loop.call_later(_QUIET_SECONDS, self._look)

    def _look(self) -> None:
        self._is_timed = False
        if "to_json" not in vars(self._document) or self._document.session_context is None:
            return  # it was sent, or nobody will ask for it
        if time.monotonic() - self._changed_at < _QUIET_SECONDS:
            self._look_later()
        elif self._is_quiet():
            # as when it is asked: Panel writes where its style sheets are by whose page it is
            with set_curdoc(self._document):
                self._made = self._make()

    def _take(self, *, deferred: bool = True) -> Any:
        """What `to_json` answers once; from then on the browser is told of changes."""
        del vars(self._document)["to_json"]
        self._document.remove_on_change(self._forget)
        made, self._made = self._made, None
        return self._make(deferred=deferred) if made is None or not deferred else made


_QUIET_SECONDS = 0.03
"""After a change, in which Panel passes on to the models what it meant."""


LONGEST_HELD = 8.0
"""Seconds: what can wait waits no longer for a history that is read."""


class BackgroundRunner:
    """Runs work on a pool of threads and posts results to a served document.

    It is made on the thread that serves the document, and only that thread touches
    it: Bokeh keeps which document is current in one list for all threads, and a
    change announced from another thread may get lost. Work starts at once, and the page
    changes until the browser opens its socket, so that what it is sent first has most
    answers already. From then on it changes only from `release` on: what changes between the
    moment a browser is sent the page and the moment Panel knows of it never reaches that
    browser.
    """

    is_background = True

    def __init__(self, document: Document) -> None:
        self._document = document
        self._loop = IOLoop.current()
        self._held: list[Callable[[], None]] | None = []
        self._until_drawn: list[Callable[[], None]] = []
        self._until_idle: list[Callable[[], None]] = []
        self._under_way = 0
        self._long_under_way = 0
        _runners[document] = ref(self)
        _look_after_messages(self._loop)

    def release(self) -> None:
        """The browser has drawn the page: make the changes that were held back, and begin what
        could wait."""
        held, self._held = self._held or [], None
        waited, self._until_drawn = self._until_drawn, []
        for change in (*held, *waited):
            self._announce(change)
        if self._until_idle and self._long_under_way:
            self.post_later(LONGEST_HELD, self._begin_idle)
        elif self._until_idle:
            self._announce(self._begin_idle)

    def prepare(self) -> None:
        """Make ready what the browser is sent first; to be called before the page is built."""
        # the document keeps it
        FirstMessage(self._document, lambda: self._is_awaited and not self._under_way)

    @property
    def is_busy(self) -> bool:
        """Whether work is under way."""
        return self._under_way > 0

    def change_first(self, change: Callable[[], None]) -> None:
        """See `change_first`."""
        self._under_way += 1
        self.post(partial(self._end, change))

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """See `Runner.run`."""
        self._under_way += 1
        _POOL.submit(lambda: self._run(work, done, failed))

    def run_long(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """See `Runner.run_long`."""
        self._under_way += 1
        self._long_under_way += 1

        def run() -> None:
            change = attempt(work, done, failed)
            self.post(partial(self._end_long, change))

        threading.Thread(target=run, name=_LONG, daemon=True).start()

    def run_planning(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """See `Runner.run_planning`."""
        self._under_way += 1
        _PLANNING.submit(lambda: self._run(work, done, failed))

    def _run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        change = attempt(work, done, failed)
        self.post(partial(self._end, change))

    def _end(self, change: Callable[[], None]) -> None:
        self._under_way -= 1
        change()

    def _end_long(self, change: Callable[[], None]) -> None:
        self._long_under_way -= 1
        try:
            self._end(change)
        finally:
            if self._held is None and not self._long_under_way:
                self._begin_idle()

    def _begin_idle(self) -> None:
        waited, self._until_idle = self._until_idle, []
        for begin in waited:
            self._announce(begin)

    def post(self, change: Callable[[], None]) -> None:
        """See `Runner.post`; a page that was closed meanwhile is left alone."""
        self._loop.add_callback(self._announce, change)

    def post_later(self, seconds: float, change: Callable[[], None]) -> None:
        """See `Runner.post_later`."""
        # only the loop itself may be told of a time from another thread
        self._loop.add_callback(self._loop.call_later, seconds, self._announce, change)

    @property
    def has_drawn(self) -> bool:
        """See `Runner.has_drawn`."""
        return self._held is None

    def when_drawn(self, begin: Callable[[], None]) -> None:
        """See `Runner.when_drawn`; a page without a browser never draws."""
        if self._held is None:
            begin()
        else:
            self._until_drawn.append(begin)

    def when_idle(self, begin: Callable[[], None]) -> None:
        """See `Runner.when_idle`."""
        if self._held is None and not self._long_under_way:
            begin()
            return
        self._until_idle.append(begin)
        if self._held is None:
            self.post_later(LONGEST_HELD, self._begin_idle)

    def _announce(self, change: Callable[[], None]) -> None:
        # what was held back once keeps the rest behind it
        if self._held is not None and (self._held or not self._is_awaited):
            self._held.append(change)
        elif self._document.session_context is not None:
            self._document.add_next_tick_callback(partial(_change_at_once, change))

    @property
    def _is_awaited(self) -> bool:
        """Whether the session is there and its browser has not asked for the page yet."""
        session = getattr(self._document.session_context, "session", None)
        return session is not None and session.connection_count == 0


_runners: WeakKeyDictionary[Document, ref[BackgroundRunner]] = WeakKeyDictionary()
"""A runner holds its document, which would be there permanently if it were held here."""


async def wait_for_answers(document: Document, seconds: float) -> None:
    """Until nothing is under way for the page of a document, but no longer than this."""
    known, ends = _runners.get(document), time.monotonic() + seconds
    while known is not None and time.monotonic() < ends:
        if (runner := known()) is None or not runner.is_busy:
            return
        del runner  # nobody waits for a page that is given back
        await asyncio.sleep(0.005)


def change_first(document: Document, change: Callable[[], None]) -> None:
    """Make a change that the browser of a document is not to see the page without."""
    known = _runners.get(document)
    if known is not None and (runner := known()) is not None:
        runner.change_first(change)


def _change_at_once(change: Callable[[], None]) -> None:
    with in_order():
        change()


STUCK_SECONDS = 0.5
_looked_after: WeakSet[IOLoop] = WeakSet()


def _look_after_messages(loop: IOLoop) -> None:
    if loop not in _looked_after:
        _looked_after.add(loop)
        # What is started within a session remembers that session's page for as long as it
        # goes on, and these two go on for good.
        outside = Context()
        outside.run(PeriodicCallback(free_stuck_messages, STUCK_SECONDS * 1000).start)
        outside.run(state._schedule_busy_cleanup)


def free_stuck_messages() -> None:
    """Send what Panel has queued for a browser and forgotten.

    While a browser is slow, Panel queues messages. What is queued while it sends the queue
    stays there until something else changes on that page, for the sender takes away the sign
    that a queue is there: the page then shows for minutes what was true before.
    """
    for document, queue in list(_WRITE_MSGS.items()):
        # the queue of a browser that has gone would be tried without end, a hundred times a
        # second, and would keep the page in memory
        for connection in [one for one in queue if _is_gone(one)]:
            del queue[connection]
        if not queue:
            _WRITE_MSGS.pop(document, None)
        elif document not in _WRITE_BLOCK:
            _WRITE_BLOCK[document] = True
            _dispatch_write_task(document, _dispatch_msgs, document)


def _is_gone(connection: Any) -> bool:
    """Whether a browser has closed its socket; those of other servers cannot be asked."""
    return getattr(connection._socket, "ws_connection", connection) is None


class InlineRunner:
    """Runs work at once, for notebooks."""

    is_background = False
    has_drawn = False

    def run(self, work: Callable[[], T], done: Done[T], failed: Failed) -> None:
        """See `Runner.run`."""
        attempt(work, done, failed)()

    run_long = run
    run_planning = run

    def post(self, change: Callable[[], None]) -> None:
        """See `Runner.post`."""
        change()

    def post_later(self, seconds: float, change: Callable[[], None]) -> None:
        """See `Runner.post_later`; nothing can come later here."""
        del seconds
        change()

    when_drawn = post
    when_idle = post


def in_order() -> AbstractContextManager[None]:
    """Send the changes of Bokeh's models in one line with those of Panel's components, and all that
    are made within it in one message: each message costs the server three calls of the system and
    the browser a turn of its own.

    While a browser is slow to take what it is sent, Panel queues its messages and
    Bokeh does not: a change of a plot would overtake the message that brings the
    plot, and the browser would drop it.
    """
    sending: AbstractContextManager[None] = unlocked(policy="collect")
    return sending


def attempt(work: Callable[[], T], done: Done[T], failed: Failed) -> Callable[[], None]:
    """Do `work`; what comes back tells the page."""
    try:
        result = work()
    except DeltaError as error:
        return partial(failed, Problem.of(error))
    except Exception as error:  # noqa: BLE001 - a spinner that never ends would hide it
        return partial(failed, unexpected(error))
    return partial(_finish, done, failed, result)


def _finish(done: Done[T], failed: Failed, result: T) -> None:
    try:
        done(result)
    except Exception as error:  # noqa: BLE001 - else the page waits for what never comes
        failed(unexpected(error))


def unexpected(error: Exception) -> Problem:
    """An error that nobody foresaw, without its text: that may hold credentials.

    The log gets the frames, for the same reason without the message.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("work for the page failed with %s\n%s", type(error).__name__, frames)
    return Problem(
        kind="internal_error",
        problem="Something went wrong that the explorer did not expect.",
        reason=f"The error is a {type(error).__name__}; the server's log has the details.",
        remedy="Try again; if it stays, report it with the lines from the log.",
    )
