"""Prefetching: opening the next data files while the rows of one are decoded.

Only for stores whose requests take long; a local file is opened when its turn comes.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.errors import DeltaError
from explorer.rows.data_file.read_file import FileRows
from explorer.storage.ports import RangeStore, ReadStore, offers

if TYPE_CHECKING:
    from concurrent.futures import Future

MOST_PREFETCHED = 16
"""Files that are opened at once. Each holds what is needed of its first row group."""

_BYTES_AHEAD = 64 * 2**20
"""Bytes that the files opened ahead may have, unless it is a single one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A file that is not open yet, and how many bytes it has, None where that is unknown."""

    size: int | None
    rows: AbstractContextManager[FileRows]


def prefetch_files(store: ReadStore, files: Iterator[Opening], first: int) -> Iterator[FileRows]:
    """The rows of each file, open until the next are asked for.

    `first` files are opened at once, then twice as many after each file, up to
    `MOST_PREFETCHED`: who wants few rows does not pay for many files. What goes wrong with a
    file is raised when its turn comes.
    """
    if offers(store, RangeStore):
        yield from _in_threads(files, first)
        return
    for file in files:
        with file.rows as rows:
            yield rows


def _in_threads(files: Iterator[Opening], first: int) -> Iterator[FileRows]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # local files do without

    waiting: deque[tuple[Future[tuple[ExitStack, FileRows]], int]] = deque()
    ahead, left = first, files
    with ThreadPoolExecutor(MOST_PREFETCHED, thread_name_prefix="delta-explorer-rows") as pool:
        try:
            while True:
                while len(waiting) < ahead and _fits(waiting):
                    if (file := next(left, None)) is None:
                        break
                    waiting.append((pool.submit(_opened, file), max(file.size or 0, 0)))
                if not waiting:
                    return
                stack, rows = waiting.popleft()[0].result()
                with stack:
                    yield rows
                ahead = min(2 * ahead, MOST_PREFETCHED)
        finally:
            for opening, _ in waiting:
                _give_up(opening)


def _fits(waiting: deque[tuple[Future[tuple[ExitStack, FileRows]], int]]) -> bool:
    return not waiting or sum(size for _, size in waiting) < _BYTES_AHEAD


def _opened(file: Opening) -> tuple[ExitStack, FileRows]:
    with ExitStack() as stack:
        rows = stack.enter_context(file.rows)
        return stack.pop_all(), rows


def _give_up(opening: Future[tuple[ExitStack, FileRows]]) -> None:
    if not opening.cancel():
        with contextlib.suppress(DeltaError):
            opening.result()[0].close()
