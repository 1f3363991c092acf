"""What a task does that writes rows again: new data files with their statistics.

A group is the files whose rows go together into one new file, or into a few in the order of
a curve.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import build_array
from explorer.pipeline.rewrite.curve import MeasuredOrder, column_at
from explorer.pipeline.tasks.attempts import attempt_number, run_number
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadFiles
from explorer.rows.data_file.data_file import FILE_COLUMNS, data_files
from explorer.rows.data_file.deletion_vectors import read_deletion_vector
from explorer.rows.request import RowRequest
from explorer.storage.parquet.threaded_writer import EncodingThreads
from explorer.storage.ports import WriteStore
from explorer.writing.files.copied_file import copy_without
from explorer.writing.files.file_form import FileForm
from explorer.writing.files.new_file import NewFile, WrittenFile, told

GROUP: Final = "group"
TARGET: Final = "target"
NUM_TARGETS: Final = "num_targets"
STATS: Final = "stats"
"""Where a file of a group may be copied without its hidden rows: its statistics, exact for all of
its rows; null where it may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteFiles:
    """Writes the live rows of a group again: files with the columns `FILE_COLUMNS`,
    `NUM_RECORDS`, `GROUP`, `TARGET` and `NUM_TARGETS`, which are the same in all rows, and
    perhaps `STATS`.

    With an order the whole group is held in memory. `in_threads` encodes columns side by side,
    which helps where no other tasks have the other cores.
    """

    store: WriteStore
    request: RowRequest
    form: FileForm
    order: MeasuredOrder | None = None
    in_threads: bool = False

    def __call__(self, files: pa.Table) -> Batches:
        """Rows with the schema `WRITTEN`."""
        group, target, count = (files.column(name)[0].as_py() for name in _OF_GROUP)
        if (copied := self._copied(files, self.form.path(target, run_number(), 0))) is not None:
            yield told(group, attempt_number(), [copied], copied.num_rows)
            return
        read = ReadFiles(store=self.store, request=self.request)
        rows = _CountedRows(read(files.select([*FILE_COLUMNS, NUM_RECORDS])), self.form.schema)
        run = run_number()
        with contextlib.ExitStack() as stack:
            threads = None
            if self.in_threads:
                threads = stack.enter_context(contextlib.closing(EncodingThreads()))
            if self.order is None:
                written = [self._in_one_file(rows, self.form.path(target, run, 0), threads)]
            else:
                written = list(self._in_order(rows, target, run, count, threads))
        made = [file for file in written if file.num_rows]
        yield told(group, attempt_number(), made, rows.count)

    def _copied(self, files: pa.Table, path: str) -> WrittenFile | None:
        """A single file without its hidden rows, where most of its bytes can be copied."""
        stats = files.column(STATS)[0].as_py() if STATS in files.schema.names else None
        if stats is None or files.num_rows != 1 or self.order is not None:
            return None
        (file,) = data_files(files)
        if file.deletion_vector is None:
            return None
        hidden = read_deletion_vector(self.store, file.deletion_vector)
        return copy_without(
            self.store,
            path,
            file,
            hidden,
            request=self.request,
            form=self.form,
            stats=stats,
        )

    def _in_one_file(
        self, rows: Iterable[pa.Table], path: str, threads: EncodingThreads | None
    ) -> WrittenFile:
        with NewFile(self.store, path, self.form, threads) as new:
            for part in rows:
                new.add(part)
        return new.written()

    def _in_order(
        self,
        parts: Iterable[pa.Table],
        target: str,
        run: int,
        count: int,
        threads: EncodingThreads | None,
    ) -> Iterator[WrittenFile]:
        rows = pa.concat_tables([self.form.schema.empty_table(), *parts])
        if self.order is not None:
            rows = rows.take(sorted_positions(rows, self.order))
        size = -(-rows.num_rows // count)
        for number in range(count):
            part = rows.slice(number * size, size)
            if part.num_rows:
                path = self.form.path(target, run, number)
                with NewFile(self.store, path, self.form, threads) as new:
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
