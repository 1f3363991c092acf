"""A merge of few rows upon one version, in this process: rows are partners where columns are equal,
and every clause takes all of its rows, with all columns or away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from explorer.log.actions.columns import int64_column, string_column
from explorer.pipeline.changing.beginning import check_removable
from explorer.pipeline.merging._pairs import several_partners
from explorer.pipeline.merging._partners import Partners
from explorer.pipeline.merging._spans import MergeSpans
from explorer.pipeline.removing.attempts import leaving_nothing, remove_other_attempts
from explorer.pipeline.removing.finding import count_rows
from explorer.pipeline.removing.leaving import Leaving, find_leaving, let_leave
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, ReadFiles
from explorer.progress import Watch
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.stored_rows import rows_to_change
from explorer.transaction.conflicts import Conflict
from explorer.transaction.staged import ValidatedRule
from explorer.writing.changes.candidates import Candidates
from explorer.writing.changes.changed_rows import (
    BEFORE,
    DELETE,
    INSERT,
    KIND,
    ROW_ID,
    UPDATE,
    ChangedRowFiles,
    ChangeForm,
    change_form,
    split_told,
)
from explorer.writing.changes.found_rows import FOUND, found_table
from explorer.writing.gate.arrow_gate import ArrowGate, one_batch
from explorer.writing.gate.plan import GatePlan
from explorer.writing.merging.resolving import Kept, ResolvedClause, ResolvedMerge, SourceColumn
from explorer.writing.merging.told import merge_metrics, merge_needs_change_data
from explorer.writing.statements.change_statement import ChangeStatement
from explorer.writing.statements.options import WriteResult

_PATH: Final = "_file_path"
_INDEX: Final = "_row_index"
_LABEL: Final = "Matching rows"
_WRITING: Final = "Writing rows"


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """Rows of the table that a clause takes, as they were, and the source rows beside them by
    their numbers, null for rows without a partner."""

    number: int
    rows: pa.RecordBatch
    partners: pa.Array


@dataclass(frozen=True, kw_only=True)
class LocalMerge:
    """A merge that is ready. `plans` are the gates of its clauses by their numbers."""

    statement: ChangeStatement
    merge: ResolvedMerge
    source: pa.RecordBatch = field(repr=False)
    partners: Partners = field(repr=False)
    candidates: Candidates
    plans: Mapping[int, GatePlan]
    watch: Watch
    spans: MergeSpans = field(default_factory=MergeSpans)

    def run(self) -> WriteResult | Conflict:
        """Merge; raises as `SparkMerge.run`."""
        merge, candidates = self.merge, self.candidates
        statement = self.statement.reading(candidates.reads())
        place = Workplace(store=statement.target.store, watch=self.watch)
        if not merge.request.is_insert_only:
            check_removable(statement, candidates)
        with leaving_nothing(statement, place):
            taken, paired = self._match()
            self.spans.scan_ended()
            leaving = find_leaving(candidates, self._found(taken))
            new = pc.filter(_numbers(self.source), pc.invert(pa.array(paired)))
            self.watch.step(0, None, _WRITING)
            written = self._write(statement, taken, new, leaving)
            # vectors last: rows that cannot be written fail before there are any
            changes = replace(
                let_leave(statement, place, leaving), written=written.files, feed=written.feed
            )
            problems = remove_other_attempts(statement, place, changes)
        metrics = merge_metrics(
            merge.request, changes, source_rows=self.source.num_rows, by_clause=written.counts
        )
        return statement.commit(
            changes,
            {**metrics, **self.spans.metrics()},
            validated=written.validated,
            marks=written.marks,
            problems=problems,
            watch=self.watch,
        )

    def _match(self) -> tuple[list[_Taken], Any]:
        """The rows that clauses take, and for each source row whether it has a partner."""
        taken: list[_Taken] = []
        paired = np.zeros(self.source.num_rows, dtype=bool)
        clauses = {item.clause.kind: number for number, item in enumerate(self.merge.clauses)}
        done = 0
        for rows in self._rows():
            self.watch.step(done, None, _LABEL)
            own, theirs = self.partners.of(rows)
            paired[theirs] = True
            if (number := clauses.get("matched")) is not None and len(own):
                own, theirs = self._once(rows, own, theirs)
                taken.append(_take(rows, number, own, theirs))
            if (number := clauses.get("not matched by source")) is not None:
                alone = np.setdiff1d(np.arange(rows.num_rows), own)
                if len(alone):
                    taken.append(_take(rows, number, alone, None))
            done += rows.num_rows
        return taken, paired

    def _once(self, rows: pa.RecordBatch, own: Any, theirs: Any) -> tuple[Any, Any]:
        """Each row once: one that goes may have several partners, another one may not."""
        first, at, counts = np.unique(own, return_index=True, return_counts=True)
        if len(first) < len(own) and not self.merge.request.takes_any_match:
            row = int(first[counts > 1][0])
            path, index = (rows.column(name)[row].as_py() for name in (_PATH, _INDEX))
            raise several_partners(int(counts.max()), path, index)
        return first, theirs[at]

    def _rows(self) -> Iterator[pa.RecordBatch]:
        """The rows of the candidates, with path, position and where ids are kept `_row_id`."""
        snapshot = self.statement.snapshot
        request = rows_to_change(snapshot)
        extra = (_PATH, _INDEX, *request.metadata_columns)
        read = ReadFiles(store=snapshot.store, request=replace(request, metadata_columns=extra))
        files = self.candidates.files.select([*FILE_COLUMNS, NUM_RECORDS])
        return (batch for batch in read(files) if batch.num_rows) if files.num_rows else iter(())

    def _found(self, taken: list[_Taken]) -> pa.Table:
        positions: dict[str, BitMap64] = {}
        for some in taken:
            paths = some.rows.column(_PATH).to_pylist()
            for path, index in zip(paths, some.rows.column(_INDEX).to_pylist(), strict=True):
                positions.setdefault(path, BitMap64()).add(index)
        if not positions:
            return FOUND.empty_table()
        named = pa.chunked_array([string_column(list(positions))])
        counts = count_rows(self.statement.snapshot, self.candidates.asked, named)
        return found_table([(path, some, *counts[path]) for path, some in positions.items()])

    def _write(
        self, statement: ChangeStatement, taken: list[_Taken], new: pa.Array, leaving: Leaving
    ) -> _Written:
        counts = {
            number: sum(some.rows.num_rows for some in taken if some.number == number)
            for number in range(len(self.merge.clauses))
        }
        protocol, metadata = statement.protocol, statement.metadata
        form = change_form(
            protocol,
            metadata,
            with_feed=merge_needs_change_data(
                protocol,
                metadata,
                self.merge.request,
                taken=counts,
                inserts=len(new) > 0 and bool(self.merge.request.of("not matched")),
                copies=leaving.copies,
            ),
            target_bytes=statement.target_bytes,
        )
        marks: dict[str, int] = {}
        with ChangedRowFiles(statement.target.store, form, statement.id) as files:
            for some in taken:
                if self.merge.clauses[some.number].clause.action == "update":
                    files.add(self._updated(some, form))
                elif form.feed is not None:
                    files.add(self._deleted(some, form))
            for number, item in enumerate(self.merge.clauses):
                if item.clause.action == "insert" and len(new):
                    counts[number] = len(new)
                    gate = ArrowGate(self.plans[number])
                    rows = _through(gate, item, None, self.source.take(new))
                    files.add(_with(rows, form, {KIND: _kinds(INSERT, rows)}))
                    marks = gate.marks
        written, feed = split_told(pa.Table.from_batches([files.written()]))
        rules = [plan.rules() for plan in self.plans.values()]
        return _Written(
            files=written,
            feed=feed,
            counts=counts,
            marks=marks,
            validated=frozenset.intersection(*rules) if rules else None,
        )

    def _updated(self, some: _Taken, form: ChangeForm) -> pa.RecordBatch:
        item = self.merge.clauses[some.number]
        gate = ArrowGate(self.plans[some.number])
        rows = _through(gate, item, some.rows, self.source.take(some.partners))
        return _with(rows, form, {KIND: _kinds(UPDATE, rows), **_was(some.rows, form)})

    def _deleted(self, some: _Taken, form: ChangeForm) -> pa.RecordBatch:
        count = some.rows.num_rows
        arrays = [pa.nulls(count, item.type) for item in form.rows.rows]
        rows = pa.RecordBatch.from_arrays(arrays, schema=form.rows.rows)
        return _with(rows, form, {KIND: _kinds(DELETE, rows), **_was(some.rows, form)})


@dataclass(frozen=True, kw_only=True)
class _Written:
    """What became of the rows."""

    files: pa.Table
    feed: pa.Table
    counts: Mapping[int, int]
    marks: Mapping[str, int]
    validated: frozenset[ValidatedRule] | None


def _numbers(rows: pa.RecordBatch) -> pa.Array:
    return int64_column(list(range(rows.num_rows)))


def _take(rows: pa.RecordBatch, number: int, own: Any, theirs: Any) -> _Taken:
    partners = pa.nulls(len(own), pa.int64()) if theirs is None else pa.array(theirs, pa.int64())
    return _Taken(number=number, rows=rows.take(pa.array(own, pa.int64())), partners=partners)


def _through(
    gate: ArrowGate, item: ResolvedClause, own: pa.RecordBatch | None, theirs: pa.RecordBatch
) -> pa.RecordBatch:
    """The values of a clause, as the table's."""
    arrays = []
    for name, assigned in item.columns.items():
        match assigned:
            case SourceColumn(name=given):
                arrays.append(theirs.column(given))
            case Kept():
                assert own is not None
                arrays.append(own.column(name))
            case _:
                raise AssertionError("only whole columns are set here")
    given = pa.RecordBatch.from_arrays(arrays, names=list(item.columns))
    return one_batch(gate.apply(given))


def _kinds(kind: str, rows: pa.RecordBatch) -> pa.Array:
    return string_column([kind] * rows.num_rows)


def _was(rows: pa.RecordBatch, form: ChangeForm) -> dict[str, pa.Array]:
    """The id of each row, and the row as it was, as far as they are carried."""
    found = {}
    if ROW_ID in form.carried:
        found[ROW_ID] = rows.column("_row_id")
    if BEFORE in form.carried:
        arrays = [
            rows.column(item.name)
            if item.name in rows.schema.names
            else pa.nulls(rows.num_rows, item.type)
            for item in form.rows.rows
            if item.name not in form.rows.ids
        ]
        names = [name for name in form.rows.rows.names if name not in form.rows.ids]
        found[BEFORE] = pa.StructArray.from_arrays(arrays, names=names)
    return found


def _with(rows: pa.RecordBatch, form: ChangeForm, beside: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Rows with what is carried beside the table's columns, null where they have none."""
    count = rows.num_rows
    arrays = list(rows.columns)
    for name in form.carried:
        if name in beside:
            arrays.append(beside[name])
        elif name == BEFORE:
            kinds = [item for item in form.rows.rows if item.name not in form.rows.ids]
            arrays.append(pa.nulls(count, pa.struct(kinds)))
        else:
            arrays.append(pa.nulls(count, pa.int64()))
    return pa.RecordBatch.from_arrays(arrays, names=[*rows.schema.names, *form.carried])
