"""What tasks of a merge do: collect the positions of rows, and write new ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from explorer.log.actions.columns import int32_column, int64_column, string_column
from explorer.pipeline.tasks.attempts import attempt_number, part_number, run_number, told_by
from explorer.pipeline.tasks.file_tasks import Batches
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.storage.ports import WriteStore
from explorer.writing.changes.changed_rows import (
    TOLD_CHANGES,
    ChangedRowFiles,
    ChangeForm,
)
from explorer.writing.changes.found_rows import parse_positions, render_positions

FOUND_PAIRS: Final = pa.schema(
    [
        ("path", pa.string()),
        ("clause", pa.int32()),
        ("positions", pa.binary()),
        ("num_pairs", pa.int64()),
    ]
)
"""One row for each file and clause of a task: the positions of rows, and how many pairs there were,
which are more than rows where a row has several partners."""

MARKS: Final = "marks"
COUNTS: Final = "counts"
_NUMBERS: Final = pa.map_(pa.string(), pa.int64())
TOLD: Final = TOLD_CHANGES.append(pa.field(MARKS, _NUMBERS)).append(
    pa.field(COUNTS, pa.map_(pa.int32(), pa.int64()))
)
"""What tasks tell: files, and beside the first of each task how many rows it wrote by the numbers
of clauses, and the last numbers that it wrote into identity columns."""


def pack_pairs(batches: Batches) -> Batches:
    """Rows with path, position and clause as rows of `FOUND_PAIRS`."""
    positions: dict[tuple[str, int], BitMap64] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        if not batch.num_rows:
            continue
        paths = batch.column(0).dictionary_encode()
        names = paths.dictionary.to_pylist()
        codes = paths.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        indexes = batch.column(1).to_numpy(zero_copy_only=False).astype(np.uint64)
        clauses = batch.column(2).to_numpy(zero_copy_only=False).astype(np.int64)
        keys = clauses * len(names) + codes
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        ends = np.append(starts[1:], len(order))
        for key, start, end in zip(found.tolist(), starts.tolist(), ends.tolist(), strict=True):
            clause, code = divmod(key, len(names))
            place = (names[code], clause)
            some = BitMap64(indexes[order[start:end]])
            positions[place] = positions[place] | some if place in positions else some
            counts[place] += end - start
    if positions:
        places = list(positions)
        yield pa.RecordBatch.from_arrays(
            [
                string_column([path for path, _ in places]),
                int32_column([clause for _, clause in places]),
                pa.array([render_positions(positions[place]) for place in places], pa.binary()),
                int64_column([counts[place] for place in places]),
            ],
            schema=FOUND_PAIRS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """Rows of the table that clauses take: `positions` by the path of their file, `counts` rows by
    the number of the clause, and whether one was taken several times."""

    positions: Mapping[str, BitMap64]
    counts: Mapping[int, int]
    has_several: bool


def join_pairs(parts: pa.Table) -> FoundRows:
    """All rows of `FOUND_PAIRS` together."""
    positions: dict[str, BitMap64] = {}
    by_clause: dict[tuple[str, int], BitMap64] = {}
    num_pairs = 0
    for batch in parts.to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            some = parse_positions(row["positions"])
            path, place = row["path"], (row["path"], row["clause"])
            by_clause[place] = by_clause[place] | some if place in by_clause else some
            positions[path] = positions[path] | some if path in positions else some
            num_pairs += row["num_pairs"]
    counts: Counter[int] = Counter()
    for (_, clause), found in by_clause.items():
        counts[clause] += len(found)
    return FoundRows(
        positions=positions,
        counts=dict(counts),
        has_several=num_pairs > sum(map(len, positions.values())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteMerged:
    """Makes files of rows that have passed the gate, with what `ChangeForm.carried` says and the
    number of the clause in the column `clause`. `numbered` are identity columns that get numbers in
    the rows of some clauses, with the steps by which these count."""

    store: WriteStore
    form: ChangeForm
    statement: UUID
    clause: str
    numbered: Mapping[int, Mapping[str, int]]
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """One batch with the schema `TOLD`, where there were rows."""
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
            marks: dict[str, int] = {}
            counts: Counter[int] = Counter()
            with files:
                for batch in batches:
                    files.add(batch)
                    counts.update(_counts(batch.column(self.clause)))
                    marks = self._furthest([marks, *self._last_numbers(batch)])
            written = told_by(attempt, files.written())
            at_first = written.num_rows > 0
            arrays = []
            for name, numbers in ((MARKS, marks), (COUNTS, counts)):
                values = [list(numbers.items())] * at_first + [None] * (written.num_rows - 1)
                arrays.append(pa.array(values, TOLD.field(name).type))
            yield pa.RecordBatch.from_arrays([*written.columns, *arrays], schema=TOLD)

    def marks_of(self, told: pa.Table) -> dict[str, int]:
        """The last numbers of all tasks."""
        return self._furthest(dict(found or ()) for found in told.column(MARKS).to_pylist())

    def counts_of(self, told: pa.Table) -> dict[int, int]:
        """The rows of all tasks, by clause."""
        counts: Counter[int] = Counter()
        for found in told.column(COUNTS).to_pylist():
            counts.update(dict(found or ()))
        return dict(counts)

    def _last_numbers(self, rows: pa.RecordBatch) -> Iterable[dict[str, int]]:
        for clause, steps in self.numbered.items():
            is_its = pc.equal(rows.column(self.clause), pa.scalar(clause, pa.int32()))
            some = rows.filter(is_its)
            for name, step in steps.items() if some.num_rows else ():
                ends = pc.min_max(some.column(name)).as_py()
                yield {name: ends["max" if step > 0 else "min"]}

    def _furthest(self, found: Iterable[Mapping[str, int]]) -> dict[str, int]:
        steps = {name: step for each in self.numbered.values() for name, step in each.items()}
        result: dict[str, int] = {}
        for marks in found:
            for name, number in marks.items():
                further = max if steps[name] > 0 else min
                result[name] = further(number, result.get(name, number))
        return result


def _counts(clauses: Any) -> dict[int, int]:
    found = pc.value_counts(clauses)
    return {item["values"]: item["counts"] for item in found.to_pylist()}
