"""Reading a long history: newest first, window by window."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import pyarrow as pa

from explorer.errors import CancelledError, DeltaError, Problem
from explorer.log.commits.timed_listing import TimedListing
from explorer.progress import Cancel, Progress, ProgressCallback
from widgets.session.tables import TableService

FIRST_WINDOW = 100
"""A screen of commits, there at once even from a slow store."""

SLOW_WINDOW = 20_000
"""Commits that are read before they are drawn, where that takes `WINDOW_SECONDS` or more."""

WINDOW_SECONDS = 2.0
"""What is drawn is drawn from all commits that are known, which takes as long as reading some
ten thousand of a local log: where reading is quick, few windows are better than many."""

CONCURRENT_READS = 2
"""Long readings at once; more would starve the pages' other work."""

_SLOTS = threading.BoundedSemaphore(CONCURRENT_READS)
_WAIT_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPart:
    """The commits read so far, newest first; `left` older ones of the log are not read yet.
    `compactions` are the first and last versions of the log compactions."""

    frame: pa.Table
    read: int
    left: int
    compactions: tuple[tuple[int, int], ...] = ()
    problem: Problem | None = None


def plan_windows(
    commits: Sequence[int], clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[int, int]]:
    """First and last version of each window over ascending `commits`, newest first.

    Windows grow tenfold up to the largest, and further up to what was last read in
    `WINDOW_SECONDS`; they are counted in commits that exist: a gap in the log costs nothing.
    """
    end, size = len(commits), FIRST_WINDOW
    while end > 0:
        start, began = max(0, end - size), clock()
        yield commits[start], commits[end - 1]
        quick = int(size * WINDOW_SECONDS / max(clock() - began, 1e-3))
        end, size = start, min(size * 10, max(quick, SLOW_WINDOW))


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Whom a reading tells: of each part, of progress within one, and whom it asks
    whether that is enough. Called from the reading thread."""

    show: Callable[[HistoryPart], None]
    report: Callable[[Progress], None]
    is_enough: Callable[[], bool]


def read_history(
    service: TableService, listener: Listener, cancel: Cancel, known: HistoryPart | None = None
) -> None:
    """Read commits until none is left, `cancel` is raised or the listener has enough.

    With `known` the reading goes on where it ended. What goes wrong ends it, and
    is part of the last part.
    """
    # with its times once for all parts: of a long log this takes as long as reading thousands
    listed = service.list_times()
    commits: Sequence[int] = listed.listing.commits
    compactions = tuple((one.first, one.last) for one in listed.listing.compactions)
    part = HistoryPart(frame=pa.table({}), read=0, left=len(commits), compactions=compactions)
    if known is not None and known.read and _is_newest_in(known, commits):
        newest, oldest = (known.frame["version"][at].as_py() for at in (0, -1))
        newer = commits[bisect_right(commits, newest) :]
        commits = commits[: bisect_left(commits, oldest)]
        part = replace(known, left=len(commits), compactions=compactions, problem=None)
        if newer:
            part = _read_newer(service, listener, cancel, part, newer, listed)
            listener.show(part)
            if part.problem is not None or cancel.is_cancelled:
                return
    for first, last in plan_windows(commits):
        try:
            # a screen of commits waits for nobody; who reads on takes turns
            if part.read:
                service.wait_for_states(cancel)
            with nullcontext() if part.read == 0 else _turn(cancel):
                frame = service.read_timeline(
                    first, last, _counting(listener, part), cancel, listed
                )
        except CancelledError:
            return
        except DeltaError as error:
            listener.show(replace(part, problem=Problem.of(error)))
            return
        # Counted by what lies below: a commit may be cleaned up while it is read.
        part = _join(part, frame, left=bisect_left(commits, first))
        listener.show(part)
        if listener.is_enough():
            return


@contextmanager
def _turn(cancel: Cancel) -> Iterator[None]:
    """One of the long readings; raises `CancelledError` for one that is given up meanwhile."""
    while not _SLOTS.acquire(timeout=_WAIT_SECONDS):
        cancel.check()
    try:
        yield
    finally:
        _SLOTS.release()


def _is_newest_in(known: HistoryPart, commits: Sequence[int]) -> bool:
    """Whether what is known belongs to this log: a new log has lower versions."""
    return bool(commits) and known.frame["version"][0].as_py() <= commits[-1]


def _read_newer(
    service: TableService,
    listener: Listener,
    cancel: Cancel,
    part: HistoryPart,
    newer: Sequence[int],
    listed: TimedListing,
) -> HistoryPart:
    try:
        frame = service.read_timeline(
            newer[0], newer[-1], _counting(listener, part), cancel, listed
        )
    except CancelledError:
        return part
    except DeltaError as error:
        return replace(part, problem=Problem.of(error))
    joined = pa.concat_tables([frame, part.frame])
    return replace(part, frame=joined, read=joined.num_rows)


def _counting(listener: Listener, part: HistoryPart) -> ProgressCallback:
    total = part.read + part.left

    def report(step: Progress) -> None:
        listener.report(Progress(done=part.read + step.done, total=total, label=step.label))

    return report


def _join(part: HistoryPart, frame: pa.Table, left: int) -> HistoryPart:
    joined = pa.concat_tables([part.frame, frame]) if part.read else frame
    return replace(part, frame=joined, read=joined.num_rows, left=left)
