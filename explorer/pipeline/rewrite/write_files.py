"""What a task does that writes rows again: new data files with their statistics
(spec: Data Files, Per-file Statistics).

A group is the files whose rows go together into one new file, or into a few in the order of
a curve. A task may be tried again, or twice at once: each attempt writes under names of its
own, and only those that it tells the driver can become part of a table.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int32_column, int64_column, string_column
from explorer.log.plain_arrays import build_array
from explorer.pipeline.rewrite.curve import MeasuredOrder, column_at
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadFiles
from explorer.protocol.actions import FieldPath
from explorer.protocol.statistics import RunningStatistics
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.parquet.writer import ROWS_PER_GROUP, ParquetOutput, WriterSettings
from explorer.storage.ports import OutputStore, WriteStore, offers

GROUP: Final = "group"
TARGET: Final = "target"
NUM_TARGETS: Final = "num_targets"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """How new files look: their schema, the columns that their statistics speak of, and the
    codec and the version of data pages as pyarrow calls them."""

    schema: pa.Schema
    statistics: tuple[FieldPath, ...]
    string_prefix: int
    codec: str
    page_version: str

    @property
    def ending(self) -> str:
        """How the names of new files end."""
        return ".parquet" if self.codec == "none" else f".{self.codec}.parquet"

    def path(self, target: str, attempt: int, number: int) -> str:
        """The path of one file of a group, by what its name begins with."""
        return f"{target}-{attempt}.c{number:03}{self.ending}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteFiles:
    """Writes the live rows of a group again: files with the columns `FILE_COLUMNS`,
    `NUM_RECORDS`, `GROUP`, `TARGET` and `NUM_TARGETS`, which are the same in all rows.

    With an order the whole group is held in memory.
    """

    store: WriteStore
    request: RowRequest
    form: FileForm
    order: MeasuredOrder | None = None

    def __call__(self, files: pa.Table) -> Batches:
        """Rows with the schema `WRITTEN`."""
        group, target, count = (files.column(name)[0].as_py() for name in _OF_GROUP)
        read = ReadFiles(store=self.store, request=self.request)
        rows = _CountedRows(read(files.select([*FILE_COLUMNS, NUM_RECORDS])), self.form.schema)
        attempt = attempt_number()
        if self.order is None:
            written = [self._in_one_file(rows, self.form.path(target, attempt, 0))]
        else:
            written = list(self._in_order(rows, target, attempt, count))
        made = [file for file in written if file.num_rows]
        yield told(group, attempt, made, rows.count)

    def _in_one_file(self, rows: Iterable[pa.Table], path: str) -> WrittenFile:
        with NewFile(self.store, path, self.form) as new:
            for part in rows:
                new.add(part)
        return new.written()

    def _in_order(
        self, parts: Iterable[pa.Table], target: str, attempt: int, count: int
    ) -> Iterator[WrittenFile]:
        rows = pa.concat_tables([self.form.schema.empty_table(), *parts])
        if self.order is not None:
            rows = rows.take(sorted_positions(rows, self.order))
        size = -(-rows.num_rows // count)
        for number in range(count):
            part = rows.slice(number * size, size)
            if part.num_rows:
                with NewFile(self.store, self.form.path(target, attempt, number), self.form) as new:
                    new.add(part)
                yield new.written()


class _CountedRows:
    """Rows as tables of one schema, counted while they are gone through."""

    def __init__(self, batches: Batches, schema: pa.Schema) -> None:
        self._batches = batches
        self._schema = schema
        self.count = 0

    def __iter__(self) -> Iterator[pa.Table]:
        """Each batch once."""
        for batch in self._batches:
            self.count += batch.num_rows
            yield pa.Table.from_arrays(batch.columns, schema=self._schema)


_OF_GROUP: Final = (GROUP, TARGET, NUM_TARGETS)


def sorted_positions(rows: pa.Table, order: MeasuredOrder) -> pa.Array:
    """The positions of rows in the order of the curve; along a single column, of its values."""
    columns = order.order.columns
    if len(columns) == 1:
        keys = pa.table({"key": column_at(rows, columns[0])})
    else:
        parts = [order.keys(pa.Table.from_batches([batch])) for batch in rows.to_batches()]
        keys = pa.table({"key": pa.chunked_array(list(map(build_array, parts)), pa.int64())})
    return pc.sort_indices(keys, sort_keys=[("key", "ascending")])


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
    rows."""

    def __init__(self, store: WriteStore, path: str, form: FileForm) -> None:
        self._store = store
        self._path = path
        self._form = form
        self._statistics = RunningStatistics(form.statistics, form.string_prefix)
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = 0
        self._open: contextlib.ExitStack | None = None
        self._file: ParquetOutput | None = None

    def __enter__(self) -> NewFile:
        """Nothing is written before there are rows."""
        return self

    def __exit__(self, *error: Any) -> None:
        """Whole, or not at all."""
        if error[0] is None:
            self._flush()
        if self._open is not None:
            self._open.__exit__(*error)

    def add(self, rows: pa.Table) -> None:
        """Further rows, in this order."""
        for start in range(0, rows.num_rows, ROWS_PER_GROUP):
            part = rows.slice(start, ROWS_PER_GROUP)
            self._held.append(part)
            self._held_rows += part.num_rows
            self._held_bytes += part.nbytes
            if self._held_rows >= ROWS_PER_GROUP or self._held_bytes >= _ROW_GROUP_BYTES:
                self._flush()

    def written(self) -> WrittenFile:
        """What became of it, after the block."""
        if self._file is None:
            return WrittenFile(path="", size=0, modified_ms=0, num_rows=0, stats="")
        found = self._store.stat(self._path)
        return WrittenFile(
            path=self._path,
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
        file = self._file or self._begin()
        file.write(rows)

    def _begin(self) -> ParquetOutput:
        self._open = stack = contextlib.ExitStack()
        sink = stack.enter_context(_output(self._store, self._path))
        settings = WriterSettings(
            codec=self._form.codec,
            page_version=self._form.page_version,
            decimals_as_integers=True,
            page_checksums=True,
        )
        self._file = stack.enter_context(ParquetOutput(sink, self._form.schema, settings))
        return self._file


@contextlib.contextmanager
def _output(store: WriteStore, path: str) -> Iterator[Any]:
    """What a file is written through; it is there once the block has ended well."""
    if offers(store, OutputStore):
        with store.open_output(path) as sink:
            yield sink
        return
    buffer = io.BytesIO()
    yield buffer
    store.write(path, buffer.getvalue())


def attempt_number() -> int:
    """Which attempt of its task this is; 0 outside of one."""
    if "pyspark" not in sys.modules:
        return 0
    from pyspark import TaskContext  # a worker of Spark has it

    context = TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())


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
