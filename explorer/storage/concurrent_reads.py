"""Requests to a store made concurrently, in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice, repeat
from typing import TYPE_CHECKING, TypeVar

from explorer.storage.ports import RangeStore, ReadStore, offers

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Job = TypeVar("Job")
Answer = TypeVar("Answer")

MOST_CONCURRENT = 64
"""Requests under way at once, each in a thread. They take about 50 ms, and half a millisecond of
the processor."""

MOST_WITHOUT_THREADS = 100
"""The same of many small objects, where the client of a store asks for them in one thread: as many
as clients in other languages have."""

# pieces of some thousand rows: enough that neither side waits for the other
_AHEAD = 8


def run_concurrently(
    work: Callable[[Job], Answer], jobs: Iterable[Job], most: int, threads: int | None = None
) -> Generator[Answer, None, None]:
    """The results of `work` for all jobs, in their order. At most `most` jobs run at a time, in
    as many threads unless `threads` says otherwise."""
    # it brings logging along, and what is read one after the other does without
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # see above

    with ThreadPoolExecutor(threads or most, thread_name_prefix="delta-explorer-read") as pool:
        waiting: deque[Future[Answer]] = deque()
        try:
            for job in jobs:
                waiting.append(pool.submit(work, job))
                if len(waiting) > most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


def map_concurrently(
    store: ReadStore, work: Callable[[Job], Answer], jobs: Iterable[Job]
) -> Iterator[Answer]:
    """The results of `work` for all jobs, in their order: concurrently where requests to `store`
    take long, one after the other where threads would only be slower."""
    return (
        run_concurrently(work, jobs, MOST_CONCURRENT)
        if offers(store, RangeStore)
        else map(work, jobs)
    )


def begin(
    store: ReadStore, pool: ThreadPoolExecutor, work: Callable[[], Answer]
) -> Callable[[], Answer]:
    """What gives the result of `work`: begun at once in `pool` where requests to `store` take
    long, done when it is asked for where they do not."""
    if not offers(store, RangeStore):
        return work
    return pool.submit(work).result


def prefetch(items: Iterator[Answer]) -> Iterator[Answer]:
    """The same items in the same order; a thread computes the next ones in advance."""
    with closing(
        run_concurrently(lambda _: list(islice(items, 1)), repeat(None), _AHEAD, 1)
    ) as pieces:
        for found in pieces:
            if not found:
                return
            yield from found
