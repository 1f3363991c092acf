"""What tasks do that read rows which are to be changed, and write changed ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

import pyarrow as pa

from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number
from explorer.pipeline.tasks.file_tasks import Batches, ReadFiles
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore, WriteStore
from explorer.writing.changes.changed_rows import ROW_ID, ChangedRowFiles, ChangeForm


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
            files = ChangedRowFiles(
                self.store,
                self.form,
                self.statement,
                task=part_number(),
                attempt=attempt_number(),
                run=run_number(),
                threads=1,
            )
            with files:
                for batch in batches:
                    files.add(batch)
            yield files.written()
