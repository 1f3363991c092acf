"""Reading a long history: newest first, window by window."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from explorer.errors import CancelledError, DeltaError, Problem
from explorer.progress import Cancel, Progress, ProgressCallback
from widgets.services.tables import TableService

FIRST_WINDOW = 100
"""A screen of commits, there at once even from a slow store."""

LARGEST_WINDOW = 20_000
"""Each window lists the log anew for its times, so few are better than many."""

CONCURRENT_READS = 2
"""A second page may read its history; more would starve the pages' other work."""

_SLOTS = threading.BoundedSemaphore(CONCURRENT_READS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPart:
    """The commits read so far; `left` commits of the log are not read yet."""

    frame: pa.Table
    read: int
    left: int
    problem: Problem | None = None


def plan_windows(commits: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last version of each window over ascending `commits`, newest first.

    Windows grow tenfold up to the largest, counted in commits that exist: a gap in the
    log costs nothing.
    """
    end, size = len(commits), FIRST_WINDOW
    while end > 0:
        start = max(0, end - size)
        yield commits[start], commits[end - 1]
        end, size = start, min(size * 10, LARGEST_WINDOW)


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
    commits: Sequence[int] = service.listing().commits
    part = HistoryPart(frame=pa.table({}), read=0, left=len(commits))
    if known is not None and known.read:
        oldest = known.frame["version"][-1].as_py()
        commits = commits[: bisect_left(commits, oldest)]
        part = replace(known, left=len(commits), problem=None)
    if not commits:
        return
    with _SLOTS:
        for first, last in plan_windows(commits):
            try:
                frame = service.read_timeline(first, last, _counting(listener, part), cancel)
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


def _counting(listener: Listener, part: HistoryPart) -> ProgressCallback:
    total = part.read + part.left

    def report(step: Progress) -> None:
        listener.report(Progress(done=part.read + step.done, total=total, label=step.label))

    return report


def _join(part: HistoryPart, frame: pa.Table, left: int) -> HistoryPart:
    joined = pa.concat_tables([part.frame, frame]) if part.read else frame
    return HistoryPart(frame=joined, read=joined.num_rows, left=left)
