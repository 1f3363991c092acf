"""What tasks do that read rows which are to be changed, and write changed ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number, told_by
from explorer.pipeline.tasks.file_tasks import Batches, ReadFiles
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore, WriteStore
from explorer.writing.changes.changed_rows import (
    BEFORE,
    KIND,
    ROW_ID,
    UPDATE,
    ChangedRowFiles,
    ChangeForm,
)
from explorer.writing.changes.set_values import UpdatePlan
from explorer.writing.gate.arrow_gate import ArrowGate, one_batch
from explorer.writing.gate.plan import GatePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRowsToChange:
    """Reads rows by a request of `explorer.rows.stored_rows.rows_to_change`."""

    store: ReadStore
    request: RowRequest

    @property
    def schema(self) -> pa.Schema:
        """The table's columns, and `ROW_ID` where rows keep their ids."""
        found = self.request.schema
        if not self.request.metadata_columns:
            return found
        at = len(self.request.columns)  # a column of the table may be called like it
        return found.set(at, pa.field(ROW_ID, pa.int64()))

    def __call__(self, files: pa.Table) -> Batches:
        """The rows."""
        schema = self.schema
        for batch in ReadFiles(store=self.store, request=self.request)(files):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteChangedRows:
    """Makes files of rows that have passed the gate, with the columns that `form` carries."""

    store: WriteStore
    form: ChangeForm
    statement: UUID
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """One batch with the schema `TOLD_CHANGES`."""
        with self.mark.marked():
            attempt = attempt_number()
            files = ChangedRowFiles(
                self.store,
                self.form,
                self.statement,
                task=part_number(),
                attempt=attempt,
                run=run_number(),
                threads=1,
            )
            with files:
                for batch in batches:
                    files.add(batch)
            yield told_by(attempt, files.written())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowUpdate:
    """New values of rows that Arrow can compute and the gate in this process lets through."""

    plan: UpdatePlan
    gate: GatePlan
    form: ChangeForm

    def begin(self) -> ArrowGate:
        """The gate, for all rows of a task."""
        return ArrowGate(self.gate)

    def apply(self, rows: pa.RecordBatch, gate: ArrowGate) -> pa.RecordBatch:
        """Rows as `ReadRowsToChange` has them with their new values and what `form` carries;
        raises what the gate raises for a row."""
        made = one_batch(gate.apply(self.plan.apply(rows)))
        names = [name for name in rows.schema.names if name != ROW_ID]
        carried = {
            KIND: lambda: string_column([UPDATE] * rows.num_rows),
            ROW_ID: lambda: rows.column(ROW_ID),
            BEFORE: lambda: pa.StructArray.from_arrays(
                [rows.column(name) for name in names], names=names
            ),
        }
        return pa.RecordBatch.from_arrays(
            [*made.columns, *(carried[name]() for name in self.form.carried)],
            names=[*made.schema.names, *self.form.carried],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRows:
    """Reads the rows of a group of files and writes them updated, all in one task: what Arrow can
    compute need not go to Spark and back."""

    read: ReadRowsToChange
    store: WriteStore
    update: RowUpdate
    statement: UUID

    def __call__(self, files: pa.Table) -> Batches:
        """One batch with the schema `TOLD_CHANGES`."""
        gate = self.update.begin()
        attempt = attempt_number()
        made = ChangedRowFiles(
            self.store,
            self.update.form,
            self.statement,
            task=part_number(),
            attempt=attempt,
            run=run_number(),
            threads=1,
        )
        with made:
            for rows in self.read(files):
                if rows.num_rows:
                    made.add(self.update.apply(rows, gate))
        yield told_by(attempt, made.written())
