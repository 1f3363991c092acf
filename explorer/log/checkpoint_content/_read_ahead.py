"""Reading on in a thread while what was read is being written."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Item = TypeVar("Item")

# pieces of some thousand rows: enough that neither side waits for the other
_AHEAD: Final = 8


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items in the same order; a thread asks for the next ones meanwhile."""
    # see `explorer.storage.at_once` for why it stands here
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    def some() -> list[Item]:
        return list(islice(items, 1))

    with ThreadPoolExecutor(1, thread_name_prefix="delta-explorer-read") as pool:
        waiting: deque[Future[list[Item]]] = deque(pool.submit(some) for _ in range(_AHEAD))
        try:
            while found := waiting.popleft().result():
                waiting.append(pool.submit(some))
                yield from found
        finally:
            for left in waiting:
                left.cancel()
