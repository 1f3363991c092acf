"""The rows that an overwrite by a condition takes the place of, where only files tell them from
others: they leave their files as by a delete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from explorer.errors import Problem
from explorer.log.actions.columns import ADD_COLUMNS, int64_column, string_column
from explorer.pipeline.removing.attempts import leaving_nothing, remove_other_attempts
from explorer.pipeline.removing.finding import find_rows, only_spark_evaluates, parse_where
from explorer.pipeline.removing.leaving import (
    find_leaving,
    let_leave,
    record_rows,
    records_deletes,
)
from explorer.pipeline.removing.workplace import Engine, Workplace, choose_workplace
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.progress import Watch
from explorer.protocol.paths import encode_path
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.transaction.row_ids import ID_COLUMNS
from explorer.writing.changes.candidates import Candidates, find_candidates
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.files.row_files import names_of
from explorer.writing.statements.change_statement import ChangeOptions, ChangeStatement
from explorer.writing.statements.row_statement import RowStatement


@dataclass(frozen=True, kw_only=True)
class ReplacedRows:
    """The rows of one statement that go, not looked for yet."""

    statement: ChangeStatement
    candidates: Candidates
    where: str
    place: Workplace

    def leave(self, written: pa.Table) -> tuple[RowChanges, tuple[Problem, ...]]:
        """Look for the rows, and take them out of their files; with what is left of other attempts.
        `written` are the new files of the statement, all of which go again where this raises."""
        with leaving_nothing(self.statement, self.place):
            found = find_rows(self.place, self.candidates, self.where)
            leaving = find_leaving(self.candidates, found)
            records = records_deletes(leaving)
            changes = let_leave(self.statement, self.place, leaving, records=records)
            if records:
                files = _files_of(self.statement, written)
                inserts = record_rows(self.statement, self.place, files, "insert")
                changes = replace(changes, feed=pa.concat_tables([changes.feed, inserts]))
            kept = names_of(written)
            return changes, remove_other_attempts(self.statement, self.place, changes, kept)


def rows_to_replace(
    statement: RowStatement, *, engine: Engine, spark: Any, watch: Watch
) -> ReplacedRows:
    """Where the rows are looked for that a statement replaces. Raises `UnsupportedError` where that
    needs Spark, which is not allowed."""
    snapshot, where = statement.target.snapshot, statement.options.replace_where
    assert snapshot is not None
    assert where is not None
    predicate = parse_where(snapshot, where)
    candidates = find_candidates(snapshot, predicate, watch)
    asked = candidates.asked
    place = choose_workplace(
        statement.target.store,
        asked,
        only_spark_evaluates(predicate) if asked.num_rows else None,
        engine=engine,
        spark=spark,
        watch=watch,
    )
    change = ChangeStatement(
        target=statement.target,
        snapshot=snapshot,
        operation=statement.operation,
        parameters={},
        options=ChangeOptions(),
        reads=candidates.reads(),
        protocol=statement.protocol,
        metadata=statement.metadata,
        id=statement.id,
        clock=statement.clock,
    )
    return ReplacedRows(statement=change, candidates=candidates, where=where, place=place)


def _files_of(statement: ChangeStatement, written: pa.Table) -> pa.Table:
    """New files as they are read; their rows have no ids yet, and change data need none."""
    count = written.num_rows
    arrays = {name: pa.nulls(count, ADD_COLUMNS[name][2]) for name in FILE_COLUMNS}
    arrays["path"] = string_column(list(map(encode_path, names_of(written))))
    arrays |= {name: written.column(name) for name in ("size", "partition_values")}
    arrays |= {name: int64_column([0] * count) for name in ID_COLUMNS}
    files = statement.described.with_logical_names(pa.table(arrays))
    return files.append_column(NUM_RECORDS, written.column("num_rows"))
