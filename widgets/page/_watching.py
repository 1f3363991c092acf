"""New versions of a table while people look at it: one who asks the log, for all of them.

Each table that someone looks at has one thread that asks for its latest version: every
few seconds while anyone is active, once a minute while all are idle, and not at all once
nobody has given a sign of life for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from explorer.errors import DeltaError, Problem
from widgets.session.tables import TableService
from widgets.session.work import Runner

ACTIVE_SECONDS = 5.0
IDLE_SECONDS = 60.0

LEASE_SECONDS = 75.0
"""A page gives a sign every half minute; one that missed two is gone, hidden or asleep."""

SHARE = 20
"""A store is left alone this many times as long as its answer took."""

GONE = frozenset({"table_not_found", "log_empty"})
"""What is wrong with a table that was open and is not there any more."""

Tell = Callable[[int], None]
Lose = Callable[[Problem], None]


class Follower:
    """One page that wants to know of newer versions of the table it shows.

    `tell` is called with the newer version where the page may be changed, `lose` where the
    table is gone, or another one lies in its place.
    """

    def __init__(self, runner: Runner, tell: Tell, lose: Lose = lambda _: None) -> None:
        self._runner = runner
        self._tell = tell
        self._lose = lose
        self._service: TableService | None = None
        self._latest = -1
        self._until = 0.0
        self.is_idle = False

    def follow(self, service: TableService, latest: int) -> None:
        """Look out for versions of a table above `latest`."""
        self._service, self._latest = service, latest
        if self.is_looking:
            _join(service, self)

    def follow_none(self) -> None:
        """No table is shown any more."""
        self._service = None

    def alive(self, *, is_idle: bool) -> None:
        """Someone looks at the page."""
        self._until, self.is_idle = time.monotonic() + LEASE_SECONDS, is_idle
        if self._service is not None:
            _join(self._service, self)

    def stop(self) -> None:
        """Nobody looks any more."""
        self._until = 0.0

    @property
    def is_looking(self) -> bool:
        """Whether a sign of life came lately."""
        return time.monotonic() < self._until

    def wants(self, service: TableService) -> bool:
        """Whether versions of this table are looked out for."""
        return service is self._service and self.is_looking

    def hear(self, service: TableService, version: int) -> None:
        """The log speaks of `version`; called from the watching thread."""
        if service is self._service and version > self._latest:
            self._latest = version
            self._runner.post(lambda: self._say(service, lambda: self._tell(version)))
        elif service is self._service and version < self._latest:
            problem = _replaced(self._latest, version)
            self._latest = version
            self._runner.post(lambda: self._say(service, lambda: self._lose(problem)))

    def hear_gone(self, service: TableService, problem: Problem) -> None:
        """The table is not there any more; called from the watching thread."""
        if service is self._service:
            self._runner.post(lambda: self._say(service, lambda: self._lose(problem)))

    def _say(self, service: TableService, say: Callable[[], None]) -> None:
        if service is self._service:
            say()


def _replaced(known: int, version: int) -> Problem:
    return Problem(
        kind="table_not_found",
        problem="Another table lies where the open one was.",
        reason=f"Its newest version is {version}, and the open one was at version {known}.",
        remedy="Refresh to see it.",
    )


class _Watch:
    """Asks one table for its latest version as long as somebody wants to know."""

    def __init__(self, service: TableService) -> None:
        self._service = service
        self.followers: set[Follower] = set()
        self.stirred = threading.Event()

    def run(self) -> None:
        """Ask until nobody wants to know."""
        took, was_gone = 0.0, False
        while followers := self._wanted():
            pause = IDLE_SECONDS if all(one.is_idle for one in followers) else ACTIVE_SECONDS
            self._rest(max(pause, SHARE * took))
            if not self._wanted():
                return
            began = time.monotonic()
            found = self._ask()
            took = time.monotonic() - began
            is_gone = isinstance(found, Problem)
            for follower in self._wanted():
                if isinstance(found, Problem) and not was_gone:
                    follower.hear_gone(self._service, found)
                elif isinstance(found, int):
                    follower.hear(self._service, found)
            was_gone = is_gone

    def _rest(self, seconds: float) -> None:
        self.stirred.clear()
        time.sleep(min(seconds, ACTIVE_SECONDS))
        # whoever comes back need not wait for the minute to end
        self.stirred.wait(max(0.0, seconds - ACTIVE_SECONDS))

    def _wanted(self) -> set[Follower]:
        with _LOCK:
            self.followers = {one for one in self.followers if one.wants(self._service)}
            if not self.followers:
                _WATCHES.pop(self._service, None)
            return set(self.followers)

    def _ask(self) -> int | Problem | None:
        """The newest version, or why the table is gone; None where neither is known."""
        try:
            return self._service.table.latest_version()
        except DeltaError as error:
            # what else is wrong is told when someone asks
            return Problem.of(error) if error.kind in GONE else None


_WATCHES: dict[TableService, _Watch] = {}
_LOCK = threading.Lock()


def _join(service: TableService, follower: Follower) -> None:
    """One more who wants to know, or one who has stirred."""
    with _LOCK:
        watch = _WATCHES.get(service)
        if watch is None:
            watch = _WATCHES[service] = _Watch(service)
            threading.Thread(target=watch.run, name="delta-explorer-watch", daemon=True).start()
        watch.followers.add(follower)
        if not follower.is_idle:
            watch.stirred.set()
