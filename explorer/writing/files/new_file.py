"""A new data file while it is written, and what is told of it afterwards
(spec: Data Files, Per-file Statistics).

A task may be tried again, or twice at once: each attempt writes under names of its own, and only
those that it tells the driver can become part of a table.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import pyarrow as pa

from explorer.log.actions.columns import int32_column, int64_column, string_column
from explorer.protocol.statistics import RunningStatistics
from explorer.storage.parquet.dictionaries import dictionary_leaves
from explorer.storage.parquet.threaded_writer import EncodingThreads, ThreadedOutput
from explorer.storage.parquet.writer import ROWS_PER_GROUP, ParquetOutput, WriterSettings
from explorer.storage.ports import OutputStore, WriteStore, offers
from explorer.writing.files.file_form import FileForm

WRITTEN: Final = pa.schema(
    [
        ("group", pa.int32()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modified", pa.int64()),
        ("num_rows", pa.int64()),
        ("num_read", pa.int64()),
        ("stats", pa.string()),
        ("attempt", pa.int32()),
    ]
)
"""What tasks tell: one row for each new file, by its path below the table's root; `modified`
in milliseconds; `num_read` are the rows that the group was read to have, on one row of it.
A group without rows has one row without a path."""

_ROW_GROUP_BYTES: Final = 128 * 2**20

_WORTH_THREADS: Final = 8 * 2**20
"""Bytes of rows in a file's first row group, below which threads cost more than they save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A new data file: its path below the table's root, bytes, modification time in
    milliseconds, rows by its own footer, and statistics."""

    path: str
    size: int
    modified_ms: int
    num_rows: int
    stats: str


class NewFile:
    """One data file while it is written; there is none before it is whole, and none without
    rows. With `threads` one row group is encoded while the rows of the next come."""

    def __init__(
        self, store: WriteStore, path: str, form: FileForm, threads: EncodingThreads | None = None
    ) -> None:
        self._store, self._threads = store, threads
        self.path = path
        self._form = form
        self._statistics = RunningStatistics(form.statistics, form.string_prefix)
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = 0
        self._open: contextlib.ExitStack | None = None
        self._file: ParquetOutput | ThreadedOutput | None = None
        self._sink: Any = None

    def __enter__(self) -> NewFile:
        """Nothing is written before there are rows."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Whole, or not at all."""
        if error is None:
            self.close()
        else:
            self.abandon(error)

    def close(self) -> None:
        """Make it whole, for who writes without a block; it is not there where this raises."""
        try:
            self._flush()
        except BaseException as error:
            self.abandon(error)
            raise
        if self._open is not None:
            self._open.__exit__(None, None, None)

    def abandon(self, error: BaseException) -> None:
        """Let nothing of it be there, because of `error`."""
        if self._open is not None:
            self._open.__exit__(type(error), error, error.__traceback__)

    def add(self, rows: pa.Table) -> None:
        """Further rows, in this order."""
        start = 0
        while start < rows.num_rows:
            part = rows.slice(start, ROWS_PER_GROUP - self._held_rows)
            start += part.num_rows
            self._held.append(part)
            self._held_rows += part.num_rows
            self._held_bytes += part.nbytes
            if self._held_rows >= ROWS_PER_GROUP or self._held_bytes >= _ROW_GROUP_BYTES:
                self._flush()

    @property
    def held_bytes(self) -> int:
        """Bytes of rows in memory that can be flushed."""
        return self._held_bytes

    def reaches(self, size: int) -> bool:
        """Whether the file has so many bytes, without the rows that can be flushed."""
        if self._sink is None or self._file is None:
            return False
        if isinstance(self._file, ThreadedOutput):
            if self._sink.tell() + self._file.waiting_bytes < size:
                return False
            self._file.settle()
        return int(self._sink.tell()) >= size

    @property
    def memory_bytes(self) -> int:
        """Bytes of all rows in memory."""
        waiting = self._file.waiting_bytes if isinstance(self._file, ThreadedOutput) else 0
        return self._held_bytes + waiting

    @property
    def encoded_bytes(self) -> int:
        """Bytes of the file itself in memory, where the store takes it whole alone."""
        if self._sink is None or offers(self._store, OutputStore):
            return 0
        return int(self._sink.tell())

    def flush(self) -> None:
        """Write the rows that are held, as a row group, and keep none in memory."""
        self._flush()
        if isinstance(self._file, ThreadedOutput):
            self._file.settle()

    def written(self) -> WrittenFile:
        """What became of it, after the block."""
        if self._file is None:
            return WrittenFile(path="", size=0, modified_ms=0, num_rows=0, stats="")
        found = self._store.stat(self.path)
        return WrittenFile(
            path=self.path,
            size=found.size,
            modified_ms=found.modified_ms,
            num_rows=self._file.num_rows,
            stats=self._statistics.render(),
        )

    def _flush(self) -> None:
        if not self._held_rows:
            return
        rows = pa.concat_tables(self._held)
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        self._statistics.add(rows)
        file = self._file or self._begin(rows)
        file.write(rows)

    def _begin(self, rows: pa.Table) -> ParquetOutput | ThreadedOutput:
        self._open = stack = contextlib.ExitStack()
        self._sink = sink = stack.enter_context(new_output(self._store, self.path))
        settings = WriterSettings(
            codec=self._form.codec,
            page_version=self._form.page_version,
            dictionary=dictionary_leaves(rows),
            decimals_as_integers=self._form.decimals_as_integers,
            page_checksums=self._form.page_checksums,
        )
        schema, threads = self._form.schema, self._threads
        file: ParquetOutput | ThreadedOutput
        if threads is None or rows.nbytes < _WORTH_THREADS:
            file = stack.enter_context(ParquetOutput(sink, schema, settings))
        else:
            file = stack.enter_context(ThreadedOutput(sink, schema, settings, threads))
        self._file = file
        return file


@contextlib.contextmanager
def new_output(store: WriteStore, path: str) -> Iterator[Any]:
    """What a file is written through; it is there once the block has ended well."""
    if offers(store, OutputStore):
        with store.open_output(path) as sink:
            yield sink
        return
    buffer = io.BytesIO()
    yield buffer
    store.write(path, buffer.getvalue())


def told(
    group: int, attempt: int, files: Sequence[WrittenFile], num_read: int | None
) -> pa.RecordBatch:
    """What a task says of one group, with the schema `WRITTEN`."""
    count = max(1, len(files))
    empty = [None] if not files else []
    arrays = [
        int32_column([group] * count),
        string_column([*(file.path for file in files), *empty]),
        int64_column([*(file.size for file in files), *empty]),
        int64_column([*(file.modified_ms for file in files), *empty]),
        int64_column([*(file.num_rows for file in files), *([0] * len(empty))]),
        int64_column([num_read, *([None] * (count - 1))]),
        string_column([*(file.stats for file in files), *empty]),
        int32_column([attempt] * count),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=WRITTEN)
