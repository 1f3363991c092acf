"""Pieces of work that take turns within one thread, so that a turn costs next to nothing.

A `Strand` runs until it stops by itself; its `Crew` is all that belongs to one participant: the
work, and the jobs that the work gives to a pool of threads. These run as strands too, in an
order that the schedule chooses, so that a seed says what every one of them does.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from greenlet import getcurrent, greenlet


class Strand(greenlet):
    """Something that runs until it stops, waits or ends."""

    def __init__(self, crew: Crew, run: Callable[[], None]) -> None:
        super().__init__(run, crew.conductor)
        self.crew = crew
        self.changes = False


class Crew:
    """The strands of one participant; made and asked by whoever conducts the schedule."""

    def __init__(self, chance: random.Random) -> None:
        self.conductor = getcurrent()
        self.due: Strand | None = None
        self._chance = chance
        self._ready: deque[Strand] = deque()
        self._waiting: list[Strand] = []
        self._stopped: list[Strand] = []

    def add(self, run: Callable[[], None]) -> None:
        """One more, which begins when the one that runs has stopped."""
        self._ready.append(Strand(self, run))

    def go_on(self) -> None:
        """Let the one that is `due` run, and all that wait for it, until each has stopped;
        then another is due, or none where all have ended."""
        if self.due is not None:
            self._stopped.remove(self.due)
            self._ready.append(self.due)
        while self._ready:
            self._ready.popleft().switch()
        assert self._stopped or not self._waiting, "each waits for another"
        self.due = self._chosen()

    def _chosen(self) -> Strand | None:
        if len(self._stopped) > 1:
            return self._chance.choice(self._stopped)
        return self._stopped[0] if self._stopped else None

    def stop(self, *, changes: bool) -> None:
        """Called by a strand: stop before something that changes the store, or only looks."""
        me = self._me()
        me.changes = changes
        self._stopped.append(me)
        self.conductor.switch()

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Called by a strand: let the others run until it is so."""
        me = self._me()
        while not is_so():
            self._waiting.append(me)
            self.conductor.switch()

    def look_again(self) -> None:
        """Called by a strand: something has ended that others may wait for."""
        self._ready.extend(self._waiting)
        self._waiting.clear()

    def _me(self) -> Strand:
        me = getcurrent()
        assert isinstance(me, Strand), "a thread that is no strand asks for its turn"
        assert me.crew is self, "a strand has the store of another participant"
        return me


class _Job:
    """What a pool was given, with as much of a future as the product asks for."""

    def __init__(self, crew: Crew | None, work: Callable[[], Any]) -> None:
        self._crew = crew
        self._work = work
        self._answer: Any = None
        self._error: BaseException | None = None
        self._has_begun = False
        self._is_done = False

    def run(self) -> None:
        """Do it, unless it was cancelled."""
        if self._is_done:
            return
        self._has_begun = True
        try:
            self._answer = self._work()
        except BaseException as error:  # noqa: BLE001  # raised again where it is waited for
            self._error = error
        self._is_done = True
        if self._crew is not None:
            self._crew.look_again()

    def done(self) -> bool:
        """Whether it has ended."""
        return self._is_done

    def cancel(self) -> bool:
        """Do not begin it, if it has not begun."""
        if not self._has_begun:
            self._error, self._is_done = CancelledError(), True
        return not self._has_begun

    def result(self, timeout: float | None = None) -> Any:
        """What the work answers or raises."""
        del timeout
        if self._crew is not None:
            self._crew.wait_until(self.done)
        if self._error is not None:
            raise self._error
        return self._answer


class _Pool:
    """What takes the place of a pool of threads: as many jobs are under way as that would have
    threads. Where no strand makes it, each is done at once."""

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "") -> None:
        del thread_name_prefix
        me = getcurrent()
        self._crew = me.crew if isinstance(me, Strand) else None
        self._free = max_workers or 1
        self._waiting: deque[_Job] = deque()
        self._running = 0

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> _Job:
        """Begin it as soon as there is room."""
        job = _Job(self._crew, lambda: work(*given, **named))
        if self._crew is None:
            job.run()
            return job
        self._waiting.append(job)
        if self._free:
            self._free -= 1
            self._crew.add(self._work_off)
        return job

    def shutdown(self, wait: bool = True) -> None:
        """Wait for all of them."""
        if self._crew is not None and wait:
            self._crew.wait_until(lambda: not self._waiting and not self._running)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()

    def _work_off(self) -> None:
        while self._waiting:
            self._running += 1
            self._waiting.popleft().run()
            self._running -= 1
        self._free += 1
        assert self._crew is not None
        self._crew.look_again()


@contextmanager
def pools_of_strands() -> Iterator[None]:
    """Meanwhile the product's pools of threads are pools of strands."""
    ours = [name for name in sys.modules if name.startswith("explorer.")]
    _exchange(ThreadPoolExecutor, _Pool, [*ours, futures.__name__])
    try:
        yield
    finally:  # those that were loaded meanwhile have it too
        _exchange(_Pool, ThreadPoolExecutor, [*sys.modules])


def _exchange(old: type, new: type, modules: Iterable[str]) -> None:
    for module in map(sys.modules.__getitem__, modules):
        if getattr(module, "__dict__", {}).get("ThreadPoolExecutor") is old and module is not _THIS:
            module.__dict__["ThreadPoolExecutor"] = new


_THIS = sys.modules[__name__]
