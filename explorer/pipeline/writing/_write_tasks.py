"""What a task does that writes rows of users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number, told_by
from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.storage.ports import WriteStore
from explorer.writing.files.row_files import WRITTEN_ROWS, RowFiles, RowForm

MARKS: Final = "marks"
TOLD: Final = WRITTEN_ROWS.append(pa.field(MARKS, pa.map_(pa.string(), pa.int64())))
"""What tasks tell: files, and beside each the last numbers that its task wrote into identity
columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRows:
    """Makes data files of rows that have passed the gate, which have the columns of the form in
    its order, whatever they are called. `numbered` are identity columns that got
    numbers, and the steps by which these count."""

    store: WriteStore
    form: RowForm
    statement: UUID
    numbered: tuple[tuple[str, int], ...] = ()
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """One batch with the schema `TOLD`."""
        with self.mark.marked():
            attempt = attempt_number()
            files = RowFiles(
                self.store,
                self.form,
                self.statement,
                task=part_number(),
                attempt=attempt,
                run=run_number(),
                threads=1,
            )
            marks: dict[str, int] = {}
            with files:
                for given in batches:
                    batch = given.rename_columns(self.form.rows.names)
                    files.add(batch)
                    marks = self._furthest([marks, *self._last_numbers(batch)])
            written = told_by(attempt, files.written())
            told = pa.array([list(marks.items())] * written.num_rows, TOLD.field(MARKS).type)
            yield pa.RecordBatch.from_arrays([*written.columns, told], schema=TOLD)

    def marks_of(self, told: pa.Table) -> Mapping[str, int]:
        """The last numbers of all tasks, from what they told."""
        return self._furthest(map(dict, told.column(MARKS).to_pylist()))

    def _last_numbers(self, rows: pa.RecordBatch) -> Iterator[dict[str, int]]:
        if not rows.num_rows:
            return
        for name, step in self.numbered:
            ends = pc.min_max(rows.column(name)).as_py()
            yield {name: ends["max" if step > 0 else "min"]}

    def _furthest(self, found: Iterable[Mapping[str, int]]) -> dict[str, int]:
        steps, result = dict(self.numbered), dict[str, int]()
        for marks in found:
            for name, number in marks.items():
                further = max if steps[name] > 0 else min
                result[name] = further(number, result.get(name, number))
        return result
