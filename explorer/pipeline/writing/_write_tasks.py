"""What a task does that writes rows of users."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from explorer.pipeline.tasks.attempts import attempt_number, part_number
from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.storage.ports import WriteStore
from explorer.writing.files.row_files import RowFiles, RowForm


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRows:
    """Makes data files of rows that have passed the gate."""

    store: WriteStore
    form: RowForm
    statement: UUID
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """One batch with the schema `WRITTEN_ROWS`, where there were rows."""
        with self.mark.marked():
            files = RowFiles(
                self.store,
                self.form,
                self.statement,
                task=part_number(),
                attempt=attempt_number(),
            )
            with files:
                for batch in batches:
                    files.add(batch)
            yield files.written()
