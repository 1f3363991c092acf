"""What a task does that writes change data of rows as they stand in files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number, told_by
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, ReadFiles
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.ports import WriteStore
from explorer.writing.files.row_files import CHANGE_TYPE, RowFiles, RowForm


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRows:
    """Reads rows by a request of `rows_to_change`, and writes them as changes of one type."""

    store: WriteStore
    request: RowRequest
    form: RowForm
    statement: UUID
    change_type: Literal["insert", "delete"]
    groups: list[None] = field(default_factory=list, compare=False)
    """One for each group that this object has worked on: in one process they are one task."""

    def __call__(self, files: pa.Table) -> Batches:
        """One batch with the schema `WRITTEN_ROWS`."""
        read = ReadFiles(store=self.store, request=self.request)
        wanted = files.select([*FILE_COLUMNS, NUM_RECORDS])
        attempt = attempt_number()
        made = RowFiles(
            self.store,
            replace(self.form, label=f"{self.form.label}-{self.change_type}"),
            self.statement,
            task=part_number() + len(self.groups),
            attempt=attempt,
            run=run_number(),
            threads=1,
        )
        self.groups.append(None)
        names = [*self.request.columns, CHANGE_TYPE]
        with made:
            for rows in read(wanted):
                label = string_column([self.change_type] * rows.num_rows)
                columns = [*rows.columns[: len(names) - 1], label]
                made.add(pa.RecordBatch.from_arrays(columns, names=names))
        yield told_by(attempt, made.written())
