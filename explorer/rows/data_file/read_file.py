"""The rows of one data file (spec: Column Mapping, Deletion Vectors, Row Tracking).

This is the step that works on a file alone: it takes a file's action and what
the version says of all files, and needs no snapshot, so that the change feed
and workers elsewhere can take it too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import BitMap64

from explorer.errors import CorruptDataError
from explorer.protocol.schema_walk import render_path
from explorer.protocol.vectors.deletion_vectors import live_mask
from explorer.rows.data_file._file_plan import FilePlan, find_column, plan_file
from explorer.rows.data_file.data_file import DataFile
from explorer.rows.data_file.deletion_vectors import VectorFiles
from explorer.rows.data_file.parquet_file import (
    BATCH_ROWS,
    ParquetDataFile,
    open_data_file,
    reading,
)
from explorer.rows.data_file.row_tracking import metadata_column, physical_positions
from explorer.rows.data_file.unrelated_file import unrelated_error
from explorer.rows.request import RowRequest
from explorer.rows.row_checks import BrokenRule, RowChecks, find_broken, find_broken_partition
from explorer.scan.predicate.evaluation import evaluate
from explorer.storage.ports import ReadStore
from explorer.table.counts import count as counted


def read_file(
    store: ReadStore, file: DataFile, request: RowRequest, *, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """The rows of `file` that its deletion vector and the request's condition leave, in
    the file's order, with `request.schema`; a batch may be empty.

    Raises `NotFoundError` where a file is gone, `CorruptDataError` where it does
    not fit the log or breaks a check of the request, `UnsupportedError` where it lies in
    another store.
    """
    with open_rows(store, file, request) as rows:
        yield from rows.batches(batch_rows)


@contextlib.contextmanager
def open_rows(
    store: ReadStore, file: DataFile, request: RowRequest, vectors: VectorFiles | None = None
) -> Iterator[FileRows]:
    """What `read_file` reads, opened, and asked for where requests take long; `vectors`
    may hold the file's vector. Raises as `read_file`, and `CorruptDataError` where rows are
    read to be written again and the file has no column of the table: its values would be lost.
    """
    descriptor = file.deletion_vector
    vector: BitMap64 | None = None
    if descriptor is not None:
        held = vectors or VectorFiles(store, ())
        vector = held.read(descriptor)
    with open_data_file(store, file, request.layout.version) as opened:
        _check_positions(vector, opened)
        plan = plan_file(opened.schema, file, request)
        rows = FileRows(opened=opened, request=request, vector=vector, plan=plan)
        if rows.is_unrelated and request.variants == "stored":
            raise unrelated_error(file, request.layout.version)
        opened.expect(plan.reads)
        yield rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """The rows of one open file."""

    opened: ParquetDataFile
    request: RowRequest
    vector: BitMap64 | None
    plan: FilePlan

    @property
    def is_unrelated(self) -> bool:
        """Whether the file has rows, and no column in common with the table."""
        return self.plan.is_unrelated and self.opened.num_rows > 0

    def batches(self, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """As `read_file` gives them."""
        file, plan, request = self.opened.file, self.plan, self.request
        for start, count, columns in self.opened.batches(plan.reads, batch_rows):
            stored = _StoredRows(positions=physical_positions(start, count), columns=columns)
            if self.vector is not None:
                stored = stored.filter(live_mask(self.vector, start, count))
            with reading(file, request.layout.version):
                rows = stored.logical(plan)
                extra = stored.metadata(plan, file, request)
            if request.checks is not None:
                _check_rules(rows, stored.positions, file, request.checks)
            yield _answer(request, rows, extra)

    def stored(self, name: str, batch_rows: int = BATCH_ROWS) -> Iterator[pa.Array]:
        """One column of the table as the file holds it, for the rows that `batches` gives;
        nulls where the file lacks it."""
        plan, request = self.plan, self.request
        at = find_column(self.opened.schema, self.opened.file, request, name)
        reads = plan.reads if at is None else (*plan.reads, at)
        for start, count, columns in self.opened.batches(reads, batch_rows):
            found = [*columns, pa.nulls(count)] if at is None else columns
            stored = _StoredRows(positions=physical_positions(start, count), columns=found)
            if self.vector is not None:
                stored = stored.filter(live_mask(self.vector, start, count))
            if request.predicate is not None:
                with reading(self.opened.file, request.layout.version):
                    rows = stored.logical(plan)
                stored = stored.filter(evaluate(request.predicate.condition, rows))
            yield stored.columns[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredRows:
    """Rows as they stand in a file, at their physical `positions`."""

    positions: pa.Array
    columns: Sequence[pa.Array]

    def filter(self, kept: pa.BooleanArray) -> _StoredRows:
        """The rows for which `kept` is true."""
        return _StoredRows(
            positions=self.positions.filter(kept),
            columns=[column.filter(kept) for column in self.columns],
        )

    def logical(self, plan: FilePlan) -> pa.RecordBatch:
        """The table's columns."""
        count = len(self.positions)
        rows = _batch([build(self.columns, count) for build in plan.columns], plan.schema, count)
        # Parquet does not promise that text is UTF-8
        rows.validate(full=True)
        return rows

    def metadata(self, plan: FilePlan, file: DataFile, request: RowRequest) -> list[pa.Array]:
        """The metadata columns that were asked for."""
        count = len(self.positions)
        arrays = []
        for name in request.metadata_columns:
            build = plan.hidden.get(name)
            own = None if build is None else build(self.columns, count)
            arrays.append(metadata_column(name, file, self.positions, own))
        return arrays


def _check_positions(vector: BitMap64 | None, opened: ParquetDataFile) -> None:
    if vector and vector.max() >= opened.num_rows:
        raise vector_misfit(opened.file, vector.max(), opened.num_rows)


def _check_rules(
    rows: pa.RecordBatch, positions: pa.Array, file: DataFile, checks: RowChecks
) -> None:
    by_partition = find_broken_partition(file.partition_values, checks, rows.num_rows)
    broken = [*by_partition, *find_broken(rows, checks)]
    if broken:
        first = min(broken, key=lambda found: found.first_row)
        raise rule_broken(file, first, positions[first.first_row].as_py())


def rule_broken(file: DataFile, broken: BrokenRule, position: int) -> CorruptDataError:
    """The error for a file whose row at `position` breaks a rule of the schema."""
    column = render_path(tuple(name[:60] for name in broken.path))[:200]
    is_null = broken.rule == "NOT NULL"
    held = "null" if is_null else f"text that is longer than {broken.rule}"
    mend = "let the column be nullable" if is_null else "let the column be a string"
    return CorruptDataError(
        f"The data file {file.shown} holds {held} in the column `{column}`, which is not allowed.",
        reason=f"The schema asks for {broken.rule}; the first row that breaks it is at position "
        f"{position:,} of the file. No new file may hold such a row.",
        remedy=f"Update or delete these rows with the engine that wrote them, or {mend}; then "
        "plan again.",
        spec="Schema Serialization Format",
    )


def vector_misfit(file: DataFile, last: int, rows: int) -> CorruptDataError:
    """The error for a vector that hides position `last` of a file of so many rows."""
    return CorruptDataError(
        f"The deletion vector of {file.shown} does not fit its file.",
        reason=f"It hides the row at position {last:,}, and the file has {counted(rows, 'row')}.",
        remedy="Restore the table to an earlier version.",
        spec="Deletion Vectors",
    )


def _answer(request: RowRequest, rows: pa.RecordBatch, extra: Sequence[pa.Array]) -> pa.RecordBatch:
    own = [rows.column(name) for name in request.columns]
    batch = _batch([*own, *extra], request.schema, rows.num_rows)
    if request.predicate is None or not rows.num_rows:
        return batch
    return batch.filter(evaluate(request.predicate.condition, rows))


def _batch(arrays: Sequence[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    # no column tells how many rows there are
    nothing = pa.Array.from_buffers(pa.struct([]), count, [None], children=[])
    return pa.RecordBatch.from_struct_array(nothing)
