"""Which live files a condition leaves to look into, and which of them go as a whole
(spec: Per-file Statistics, Partition Value Serialization)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, bool_column, empty_table, int32_column
from explorer.log.plain_arrays import TRUE
from explorer.log.state.file_columns import FileColumns
from explorer.progress import UNWATCHED, Watch
from explorer.scan.facts import Question, answer, question_of
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.plan import SCANNED, plan_piece
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.predicate import Negation, Predicate, TruthTest
from explorer.scan.reasons import KEPT
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.transaction.read_set import WHOLE_TABLE, ReadPredicate, ReadSet

NUM_RECORDS: Final = "num_records"
WHOLE: Final = "whole"

_LABEL: Final = "Asking each file"
_COLUMNS: Final = pa.schema(
    [
        *((name, ADD_COLUMNS[name][2]) for name in SCANNED),
        (NUM_RECORDS, pa.int64()),
        (WHOLE, pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The files of `snapshot` that may hold a row which matches; `predicate` is None where every
    row does.

    `files` have what reading needs, by the names of the schema, `NUM_RECORDS` (physical, null where
    unknown) and `WHOLE`: whether the log alone says that every row of the file matches.
    """

    snapshot: Snapshot
    predicate: Predicate | None
    files: pa.Table

    @property
    def whole(self) -> pa.Table:
        """The files of which every row matches."""
        return self.files.filter(self.files.column(WHOLE))

    @property
    def asked(self) -> pa.Table:
        """The files that have to be looked into."""
        return self.files.filter(pc.invert(self.files.column(WHOLE)))

    def reads(self) -> ReadSet:
        """What the outcome of a statement depends on that looked for these rows."""
        if self.predicate is None:
            return WHOLE_TABLE
        question = question_of(self.predicate, self.snapshot)
        return ReadSet(
            paths=self.files.column("path"),
            predicates=(ReadPredicate(predicate=self.predicate, question=question),),
        )


def find_candidates(
    snapshot: Snapshot, predicate: Predicate | None, watch: Watch = UNWATCHED
) -> Candidates:
    """Ask partition values and statistics of all live files, some thousand at a time."""
    question = Question() if predicate is None else question_of(predicate, snapshot)

    def ask(files: FileColumns) -> pa.Table:
        piece = plan_piece(predicate, question, files)
        stays = pc.equal(piece.evidence.column("code"), int32_column([KEPT])[0])
        certain = _surely_all(predicate, question, files).filter(stays)
        return pa.table(
            [*piece.kept.columns, certain], names=[*piece.kept.schema.names, WHOLE]
        ).select(_COLUMNS.names)

    pieces = reduce_live_files(snapshot, SCANNED, question.leaves, ask, watch, _LABEL)
    files = pa.concat_tables([empty_table(_COLUMNS), *pieces])
    return Candidates(
        snapshot=snapshot, predicate=predicate, files=snapshot.with_logical_names(files)
    )


def _surely_all(
    predicate: Predicate | None, question: Question, files: FileColumns
) -> pa.ChunkedArray:
    """For which files the condition is neither false nor unknown for any row."""
    count = files.table.num_rows
    if predicate is None:
        return pa.chunked_array([bool_column([True] * count)])
    other = Negation(operand=TruthTest(operand=predicate.condition, truth=True))
    found = may_be_true(other, answer(question, files).ranges, count)
    return pa.chunked_array([pc.invert(pc.coalesce(found, TRUE))])


def live_rows(files: pa.Table) -> int | None:
    """The live rows of files with `NUM_RECORDS` and `deletion_vector`; None where one does not
    say."""
    counts = files.column(NUM_RECORDS)
    if counts.null_count:
        return None
    hidden = pc.struct_field(files.column("deletion_vector"), "cardinality")
    return sum_of(counts) - sum_of(hidden)
