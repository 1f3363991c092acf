"""Where the ranges of an order begin: a sample of the columns' values from every file, and how
many rows each group has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from explorer.pipeline.rewrite.curve import MeasuredOrder, RowOrder, column_at, measure_order
from explorer.pipeline.rewrite.write_files import GROUP
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, GroupWork, ReadFiles
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore

_SAMPLE_ROWS: Final = 200_000
"""Of all files together: some two hundred for each of a thousand ranges."""

_SAMPLED: Final = pa.schema(
    [("group", pa.int32()), ("num_rows", pa.int64()), ("sample", pa.binary())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An order with its borders, and the live rows of each group."""

    order: MeasuredOrder
    num_rows: Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SampleGroup:
    """Every so many rows of a group, as one value for each column: what Arrow writes of it,
    because Spark has no type for some columns."""

    store: ReadStore
    request: RowRequest
    order: RowOrder
    every: int

    def __call__(self, files: pa.Table) -> Batches:
        """One row: the group, its rows, and the sample."""
        read = ReadFiles(store=self.store, request=self.request)
        count, parts = 0, []
        for batch in read(files.select([*FILE_COLUMNS, NUM_RECORDS])):
            first = -count % self.every
            count += batch.num_rows
            rows = pa.Table.from_batches([batch]).slice(first)
            if rows.num_rows:
                picked = rows.take(pa.array(range(0, rows.num_rows, self.every), pa.int64()))
                parts.append(_columns(picked, self.order))
        group = files.column(GROUP)[0].as_py()
        sink = pa.BufferOutputStream()
        if parts:
            with pa.ipc.new_stream(sink, parts[0].schema) as writer:
                for part in parts:
                    writer.write_table(part)
        arrays = [
            pa.array([group], pa.int32()),
            pa.array([count], pa.int64()),
            pa.array([sink.getvalue().to_pybytes()], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=_SAMPLED)


def measure(  # who works, where rows lie, and what is asked of them
    work: GroupWork,
    store: ReadStore,
    request: RowRequest,
    order: RowOrder,
    groups: tuple[bytes, ...],
    total: int | None,
) -> Measured:
    """Look at the columns of the order, and no others, of every row; `total` is about how
    many rows there are, None where that is unknown."""
    tops = dict.fromkeys(path[0] for path in order.columns)
    asked = replace(request, columns=tuple(tops), metadata_columns=())
    every = max(1, (total or 50 * _SAMPLE_ROWS) // _SAMPLE_ROWS)
    sample = _SampleGroup(store=store, request=asked, order=order, every=every)
    found = work(groups, sample, _SAMPLED)
    samples = [pa.ipc.open_stream(data).read_all() for data in found["sample"].to_pylist() if data]
    columns = _joined(samples, asked, order)
    counts = dict(zip(found["group"].to_pylist(), found["num_rows"].to_pylist(), strict=True))
    return Measured(order=measure_order(order, columns), num_rows=counts)


def _columns(rows: pa.Table, order: RowOrder) -> pa.Table:
    columns = [column_at(rows, path) for path in order.columns]
    return pa.table(columns, names=[str(at) for at in range(len(columns))])


def _joined(samples: list[pa.Table], request: RowRequest, order: RowOrder) -> list[pa.Array]:
    empty = _columns(request.schema.empty_table(), order)
    joined = pa.concat_tables([empty, *samples])
    return [column.combine_chunks() for column in joined.columns]
