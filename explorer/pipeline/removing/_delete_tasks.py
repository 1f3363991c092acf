"""What a task does that writes the change data of deleted rows."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.pipeline.tasks.attempts import attempt_number, part_number
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadFiles
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.ports import WriteStore
from explorer.writing.changes.changed_rows import (
    BEFORE,
    DELETE,
    KIND,
    ChangedRowFiles,
    ChangeForm,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDeletedRows:
    """Reads rows that leave the table (a request of `rows_to_change`), and writes change data."""

    store: WriteStore
    request: RowRequest
    form: ChangeForm
    statement: UUID

    def __call__(self, files: pa.Table) -> Batches:
        """One batch with the schema `TOLD_CHANGES`."""
        read = ReadFiles(store=self.store, request=self.request)
        wanted = files.select([*FILE_COLUMNS, NUM_RECORDS])
        made = ChangedRowFiles(
            self.store,
            self.form,
            self.statement,
            task=part_number(),
            attempt=attempt_number(),
        )
        with made:
            for batch in read(wanted):
                made.add(self._deleted(batch))
        yield made.written()

    def _deleted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = rows.columns[: len(self.request.columns)]
        before = pa.StructArray.from_arrays(columns, names=list(self.request.columns))
        kinds = string_column([DELETE] * rows.num_rows)
        return pa.RecordBatch.from_arrays([kinds, before], names=[KIND, BEFORE])
