"""Groups that are too large for the memory of one task, in the order of a curve: their rows
go through a shuffle of Spark, by ranges of the curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int32_column
from explorer.log.plain_arrays import build_array
from explorer.pipeline.rewrite.curve import MeasuredOrder
from explorer.pipeline.rewrite.write_files import GROUP, NUM_TARGETS, TARGET, RewriteFiles
from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadFiles, run_groups
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import pack_files
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore, WriteStore
from explorer.writing.files.file_form import FileForm
from explorer.writing.files.new_file import WRITTEN, NewFile, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP, _KEY = "g", "k"
_LARGEST_READ: Final = 128 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadWithKeys:
    """The rows of some files of one group, under names of our own, with group and key."""

    store: ReadStore
    request: RowRequest
    order: MeasuredOrder
    schema: pa.Schema

    def __call__(self, files: pa.Table) -> Batches:
        """The rows with `_shuffled_schema`."""
        group = files.column(GROUP)[0].as_py()
        read = ReadFiles(store=self.store, request=self.request)
        for batch in read(files.select([*FILE_COLUMNS, NUM_RECORDS])):
            keys = build_array(self.order.keys(pa.Table.from_batches([batch])))
            groups = pa.repeat(int32_column([group])[0], batch.num_rows)
            yield pa.RecordBatch.from_arrays([groups, keys, *batch.columns], schema=self.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WriteSorted:
    """Writes the rows of one part of the shuffle, a file for each group in it."""

    store: WriteStore
    form: FileForm
    targets: Mapping[int, str]
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """Rows with the schema `WRITTEN`, without `num_read`."""
        with self.mark.marked():
            yield from self._write(batches)

    def _write(self, batches: Batches) -> Batches:
        attempt, run, part = attempt_number(), run_number(), part_number()
        current: int | None = None
        with ExitStack() as stack:
            new: NewFile | None = None
            for group, rows in _runs(batches, self.form.schema):
                if group != current or new is None:
                    if new is not None and current is not None:
                        stack.close()
                        yield told(current, attempt, [new.written()], None)
                    path = self.form.path(self.targets[group], run, part)
                    new = stack.enter_context(NewFile(self.store, path, self.form))
                    current = group
                new.add(rows)
            stack.close()
            if new is not None and current is not None:
                yield told(current, attempt, [new.written()], None)


def rewrite_by_shuffle(
    session: SparkSession,
    job: RewriteFiles,
    groups: Sequence[pa.Table],
    num_rows: Mapping[int, int],
) -> pa.Table:
    """What `RewriteFiles` tells, with the rows that were counted before as `num_read`."""
    if job.order is None:
        raise AssertionError("only an order needs a shuffle")
    schema = _shuffled_schema(job.request)
    read = _ReadWithKeys(store=job.store, request=job.request, order=job.order, schema=schema)
    pieces = tuple(pack_files(piece) for group in groups for piece in _pieces(group))
    frame = run_groups(session, pieces, read, spark_schema(schema))
    targets = {part.column(GROUP)[0].as_py(): part.column(TARGET)[0].as_py() for part in groups}
    count = sum(int(part.column(NUM_TARGETS)[0].as_py()) for part in groups)
    write = _WriteSorted(store=job.store, form=job.form, targets=targets)
    sorted_rows = frame.repartitionByRange(count, _GROUP, _KEY).sortWithinPartitions(_GROUP, _KEY)
    found = sorted_rows.mapInArrow(write, spark_schema(WRITTEN)).toArrow().cast(WRITTEN)
    return _with_counts(found, num_rows)


def _shuffled_schema(request: RowRequest) -> pa.Schema:
    """Names of our own: those of a table may differ by case alone, or be anything."""
    own = [pa.field(f"c{at}", item.type) for at, item in enumerate(request.schema)]
    return pa.schema([pa.field(_GROUP, pa.int32()), pa.field(_KEY, pa.int64()), *own])


def _pieces(group: pa.Table) -> Iterator[pa.Table]:
    """The files of a group in parts that are read at once; it is the rows that are brought
    together again."""
    ends = np.cumsum(pc.fill_null(group.column("size"), 0).to_numpy())
    bins = ends // _LARGEST_READ
    cuts = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist(), group.num_rows]
    for start, end in pairwise(cuts):
        yield group.slice(start, end - start)


def _runs(batches: Batches, schema: pa.Schema) -> Iterator[tuple[int, pa.Table]]:
    """Rows that follow each other and belong to one group, with the schema of files."""
    for batch in batches:
        if not batch.num_rows:
            continue
        numbers = batch.column(0).to_numpy()
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), batch.num_rows]
        arrays = [
            column.cast(field.type) for column, field in zip(batch.columns[2:], schema, strict=True)
        ]
        rows = pa.Table.from_arrays(arrays, schema=schema)
        for start, end in pairwise(cuts):
            yield int(numbers[start]), rows.slice(start, end - start)


def _with_counts(found: pa.Table, num_rows: Mapping[int, int]) -> pa.Table:
    """The rows of each group on its first row, and a row for groups without any."""
    left = dict(num_rows)
    counts = [left.pop(group, None) for group in found.column("group").to_pylist()]
    at = WRITTEN.get_field_index("num_read")
    found = found.set_column(at, WRITTEN.field(at), pa.array(counts, pa.int64()))
    empty = [pa.Table.from_batches([told(group, 0, [], count)]) for group, count in left.items()]
    return pa.concat_tables([found, *empty])
