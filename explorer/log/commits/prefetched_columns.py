"""Log files with their columns, which threads parse while the caller uses the file before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, NamedTuple

from explorer.errors import DeltaError

if TYPE_CHECKING:
    from explorer.log.commits.line_columns import LineColumns, LineReader, PendingColumns

LARGE_FILE: Final = 64 * 1024
"""Bytes; for smaller files threads gain next to nothing."""

ENOUGH: Final = 512 * 1024
"""Bytes of one replay; below it importing Arrow costs more than all lines do."""

# bytes of files that wait to be made use of
_AHEAD: Final = 3 * 2**20

# after so many files in a row that have to be read line by line the next ones are like them
_MOST_MISSES: Final = 3


class LogFile(NamedTuple):
    """The bytes of a log file, and its lines as columns where Arrow could parse them."""

    data: bytes
    columns: LineColumns | None


def with_columns(files: Iterator[bytes]) -> Iterator[LogFile]:
    """The same files in the same order; threads parse large ones into columns.

    An error of `files` is raised after all files before it were yielded.
    """
    failed: DeltaError | None = None
    waiting: deque[tuple[bytes, PendingColumns]] = deque()
    with _Starter() as starter:
        try:
            for data in files:
                coming = starter.start(data) if len(data) >= LARGE_FILE else None
                if coming is None:
                    while waiting:
                        yield starter.finish(*waiting.popleft())
                    yield LogFile(data, None)
                    continue
                waiting.append((data, coming))
                while sum(len(held) for held, _ in waiting) > _AHEAD:
                    yield starter.finish(*waiting.popleft())
        except DeltaError as error:
            failed = error
        while waiting:
            yield starter.finish(*waiting.popleft())
        if failed is not None:
            raise failed


def columns_of(data: bytes) -> LineColumns | None:
    """What the lines of one log file say, if it is large and Arrow can tell."""
    return next(with_columns(iter([data]))).columns


class _Starter(ExitStack):
    """Begins to read files into columns where that is worth it."""

    def __init__(self) -> None:
        super().__init__()
        self._reader: LineReader | None = None
        self._bytes = 0
        self._misses = 0

    def start(self, data: bytes) -> PendingColumns | None:
        self._bytes += len(data)
        if self._bytes < ENOUGH or self._misses >= _MOST_MISSES:
            return None
        if self._reader is None:
            # it brings Arrow along, and a small table opens without it
            from explorer.log.commits.line_columns import LineReader  # noqa: PLC0415  # see above

            self._reader = self.enter_context(LineReader())
        return self._reader.begin(data)

    def finish(self, data: bytes, coming: PendingColumns) -> LogFile:
        columns = coming.result()
        self._misses = self._misses + 1 if columns is None else 0
        return LogFile(data, columns)
