"""Work in threads while the caller waits for a store, or works on what it has got."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice, repeat
from typing import TYPE_CHECKING, TypeVar

from explorer.storage.ports import RangeStore, ReadStore, offers

if TYPE_CHECKING:
    from concurrent.futures import Future

Job = TypeVar("Job")
Answer = TypeVar("Answer")

AT_ONCE = 32
"""Requests of about 50 ms each: clients of object stores keep that many connections."""

# pieces of some thousand rows: enough that neither side waits for the other
_AHEAD = 8


def at_once(
    work: Callable[[Job], Answer], jobs: Iterable[Job], most: int, threads: int | None = None
) -> Generator[Answer, None, None]:
    """`work` of each job, in their order, `most` of them under way: in as many threads, unless
    `threads` says otherwise."""
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


def each(store: ReadStore, work: Callable[[Job], Answer], jobs: Iterable[Job]) -> Iterator[Answer]:
    """`work` of each job, in their order: at once where the requests of `store` take
    long, one after the other where threads would only be slower."""
    return at_once(work, jobs, AT_ONCE) if offers(store, RangeStore) else map(work, jobs)


def read_ahead(items: Iterator[Answer]) -> Iterator[Answer]:
    """The same items in the same order; a thread asks for the next ones meanwhile."""
    with closing(at_once(lambda _: list(islice(items, 1)), repeat(None), _AHEAD, 1)) as pieces:
        for found in pieces:
            if not found:
                return
            yield from found
