"""Reading a long history: newest first, window by window."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer.errors import CancelledError, DeltaError, Problem
from explorer.progress import Cancel, Progress
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


def read_history(
    service: TableService,
    show: Callable[[HistoryPart], None],
    report: Callable[[Progress], None],
    cancel: Cancel,
    until: Callable[[], bool],
    known: HistoryPart | None = None,
) -> None:
    """Hand each part to `show` as it grows; stops when `cancel` or `until` says so.

    With `known` the reading goes on where it ended. What goes wrong ends it, and
    is part of the last part.
    """
    commits = service.listing().commits
    parts: list[pa.Table] = []
    read = 0
    if known is not None and known.read:
        oldest = known.frame["version"][-1].as_py()
        parts, read = [known.frame], known.read
        commits = tuple(version for version in commits if version < oldest)
    left, total = len(commits), read + len(commits)
    if left == 0:
        return
    with _SLOTS:
        for first, last in plan_windows(commits):
            done = read
            try:
                frame = service.read_timeline(
                    first,
                    last,
                    lambda step, done=done: report(  # type: ignore[misc]
                        Progress(done=done + step.done, total=total, label=step.label)
                    ),
                    cancel,
                )
            except CancelledError:
                return
            except DeltaError as error:
                show(_part(parts, read, left, Problem.of(error)))
                return
            parts.append(frame)
            read, left = read + frame.num_rows, max(0, left - frame.num_rows)
            show(_part(parts, read, left, None))
            if until():
                return


def _part(parts: list[pa.Table], read: int, left: int, problem: Problem | None) -> HistoryPart:
    frame = pa.concat_tables(parts) if parts else pa.table({})
    return HistoryPart(frame=frame, read=read, left=left, problem=problem)
