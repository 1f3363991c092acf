"""Log files with their columns, which threads parse while the caller uses the file before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from explorer.errors import DeltaError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from explorer.log.commits.line_columns import (
        JoinedColumns,
        LineColumns,
        LineReader,
        PendingColumns,
    )

LARGE_FILE: Final = 64 * 1024
"""Bytes; for smaller files by themselves threads gain next to nothing."""

ENOUGH: Final = 512 * 1024
"""Bytes of one replay; below it importing Arrow costs more than all lines do."""

ENOUGH_SMALL: Final = 2**21
"""Bytes of one replay, beyond which small files are joined: to begin with it takes as long as to
read about so many line by line."""

MANY: Final = 5_000
"""Files of one replay that have more than `ENOUGH_SMALL` together, even where each has a line or
two: they are joined from the first on."""

JOINED: Final = 2**21
"""Bytes of small files that are read into columns together: fewer cost more for each."""

ENOUGH_JOINED: Final = 64 * 1024
"""Bytes of small files; fewer are read line by line."""

# bytes of files that wait to be made use of
_AHEAD: Final = 3 * 2**20

# after so many in a row that have to be read line by line the next ones are like them
_MOST_MISSES: Final = 3


class LogFile(NamedTuple):
    """The bytes of a log file, and its lines as columns where Arrow could parse them."""

    data: bytes
    columns: LineColumns | None


class LogFiles(NamedTuple):
    """The bytes of several small log files, in the order in which they were read, and the lines
    of them all as columns where Arrow could parse them."""

    data: Sequence[bytes]
    columns: JoinedColumns | None


_Found: TypeAlias = LogFile | LogFiles


def with_columns(files: Iterator[bytes]) -> Iterator[LogFile]:
    """The same files in the same order; threads parse large ones into columns.

    An error of `files` is raised after all files before it were yielded.
    """
    for found in joined_with_columns(files, lambda _: False):
        if isinstance(found, LogFile):
            yield found


def joined_with_columns(
    newest_first: Iterator[bytes], may_join: Callable[[int], bool] | None, number: int = 0
) -> Iterator[LogFile | LogFiles]:
    """The same files in the same order; threads parse large ones into columns, and small ones
    many at once. Only those are joined whose place `may_join`, all where it is None. `number` is
    how many there are, where that is known.

    An error of `newest_first` is raised after all files before it were yielded.
    """
    failed: DeltaError | None = None
    with _Starter(enough_small=ENOUGH_SMALL if number < MANY else 0) as starter:
        try:
            for at, data in enumerate(newest_first):
                if not starter.take(data, joins=may_join is None or may_join(at)):
                    yield LogFile(data, None)
                elif starter.is_full:
                    yield from starter.finished(_AHEAD)
        except DeltaError as error:
            failed = error
        starter.flush()
        yield from starter.finished(0)
        if failed is not None:
            raise failed


def columns_of(data: bytes) -> LineColumns | None:
    """What the lines of one log file say, if it is large and Arrow can tell."""
    return next(with_columns(iter([data]))).columns


class _Waiting(NamedTuple):
    """Files that are to be made use of; threads read those that have `begun`."""

    size: int
    finish: Callable[[], _Found]
    begun: bool = False


class _Starter(ExitStack):
    """Begins to read files into columns where that is worth it."""

    def __init__(self, enough_small: int) -> None:
        super().__init__()
        self._enough_small = enough_small
        self._reader: LineReader | None = None
        self._bytes = 0
        self._misses: dict[type[_Found], int] = {LogFile: 0, LogFiles: 0}
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        # not begun yet
        self._small: list[bytes] = []
        self._small_bytes = 0

    def take(self, data: bytes, *, joins: bool) -> bool:
        """Begin with one file, or leave it to be joined with those after it; False where it is
        read line by line and nothing is to be waited for, as with most logs."""
        size = len(data)
        self._bytes += size
        # a log may be a hundred thousand of these
        if joins and size < LARGE_FILE and self._pays(LogFiles) and data and not data.isspace():
            self._small.append(data)
            self._small_bytes += size
            if self._small_bytes >= JOINED:
                self.flush()
            return True
        self.flush()
        if size >= LARGE_FILE and self._pays(LogFile):
            coming = self._line_reader().begin(data)
            self._wait_for(_Waiting(size, partial(self._finish, data, coming), begun=True))
        elif self._waiting:
            self._wait_for(_Waiting(size, partial(LogFile, data, None)))
        else:
            return False
        return True

    def flush(self) -> None:
        """Begin with the small files that there are."""
        files, size = self._small, self._small_bytes
        if not files:
            return
        self._small, self._small_bytes = [], 0
        if size < ENOUGH_JOINED or not self._pays(LogFiles):
            for data in files:
                self._wait_for(_Waiting(len(data), partial(LogFile, data, None)))
            return
        coming = self._line_reader().begin_joined(files[::-1])
        self._wait_for(_Waiting(size, partial(self._finish_joined, files, coming), begun=True))

    @property
    def is_full(self) -> bool:
        """Whether some files are to be made use of before others are taken."""
        waiting = self._waiting
        return bool(waiting) and (self._waiting_bytes > _AHEAD or not waiting[-1].begun)

    def finished(self, ahead: int) -> Iterator[_Found]:
        """The files that are made use of now: while more than `ahead` bytes are waiting, or
        for one that nothing is to be waited for."""
        waiting = self._waiting
        while waiting and (not waiting[-1].begun or self._waiting_bytes > ahead):
            found = waiting.popleft()
            self._waiting_bytes -= found.size
            yield found.finish()

    def _wait_for(self, found: _Waiting) -> None:
        self._waiting.append(found)
        self._waiting_bytes += found.size

    def _pays(self, kind: type[_Found]) -> bool:
        enough = ENOUGH if kind is LogFile else self._enough_small
        return self._bytes >= enough and self._misses[kind] < _MOST_MISSES

    def _line_reader(self) -> LineReader:
        if self._reader is None:
            # it brings Arrow along, and a small table opens without it
            from explorer.log.commits.line_columns import LineReader  # noqa: PLC0415  # see above

            self._reader = self.enter_context(LineReader())
        return self._reader

    def _finish(self, data: bytes, coming: PendingColumns) -> LogFile:
        columns = coming.result()
        self._count_miss(LogFile, missed=columns is None)
        return LogFile(data, columns)

    def _finish_joined(
        self, files: Sequence[bytes], coming: Future[JoinedColumns | None]
    ) -> LogFiles:
        columns = coming.result()
        self._count_miss(LogFiles, missed=columns is None)
        return LogFiles(files, columns)

    def _count_miss(self, kind: type[_Found], *, missed: bool) -> None:
        self._misses[kind] = self._misses[kind] + 1 if missed else 0
