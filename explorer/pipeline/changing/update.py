"""Rows of a table updated."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from explorer.pipeline.changing._change_tasks import ReadRowsToChange, RowUpdate, UpdateRows
from explorer.pipeline.changing.beginning import (
    Approve,
    BegunChange,
    begin_upon,
    times,
    with_candidates,
)
from explorer.pipeline.removing.attempts import (
    leaving_nothing,
    remove_other_attempts,
    run_until_committed,
)
from explorer.pipeline.removing.finding import find_rows
from explorer.pipeline.removing.leaving import check_updated, find_leaving, let_leave
from explorer.pipeline.removing.workplace import (
    Engine,
    Workplace,
    check_engine,
    choose_workplace,
)
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.protocol.schema import StructType
from explorer.rows.stored_rows import rows_to_change
from explorer.scan.sql.table_expressions import StatementTime
from explorer.storage.ports import WriteStore
from explorer.table.frames import sum_of
from explorer.table.table import Table
from explorer.table.times import utc_time
from explorer.transaction.conflicts import Conflict
from explorer.transaction.staged import ValidatedRule
from explorer.writing.changes.changed_rows import (
    TOLD_CHANGES,
    ChangedRowFiles,
    change_form,
    split_told,
)
from explorer.writing.changes.row_changes import needs_change_data
from explorer.writing.changes.set_values import UpdatePlan, plan_update
from explorer.writing.gate.plan import GatePlan
from explorer.writing.gate.planning import plan_gate
from explorer.writing.gate.whole_structs import check_whole
from explorer.writing.statements.change_statement import (
    ChangeOptions,
    ChangeStatement,
    is_done_already,
)
from explorer.writing.statements.options import WriteResult

OPERATION: Final = "UPDATE"
_LABEL: Final = "Updating rows"


def update(  # noqa: PLR0913  # what is said of every statement
    table_or_uri: Table | str | os.PathLike[str],
    set: Mapping[str, Any],  # noqa: A002  # as in SQL, and in Delta's own API
    where: str | None = None,
    *,
    transaction: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    target_file_size: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    engine: Engine = "auto",
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> WriteResult:
    """Update the rows that a condition is true for; all of them where there is none.

    `set` gives, by the name of a column or of a field inside of structs (`address.city`), the text
    of a SQL expression over the row as it was, or a Column of Spark. `DEFAULT` is the column's
    default. Values are taken into the table's types as by `pipeline.write`, and rows keep every
    rule of the table; generated columns that are not set are computed.

    Options are those of `pipeline.delete`, and `target_file_size` that of `pipeline.write`. This
    process computes columns, literals and arithmetic of numbers; everything else is Spark's.

    An update that lost against another commit runs again upon the newer version, a few times.
    `version` of the result is None where no row matched. Raises as `pipeline.delete`, and
    `InvalidArgumentError` (`rows_refused`, `schema_mismatch`) for values that the table does not
    take.
    """
    options = ChangeOptions(
        transaction=transaction,
        user_metadata=user_metadata,
        user_name=user_name,
        target_file_size=target_file_size,
    )
    return update_in(
        open_place(table_or_uri, storage_options),
        set,
        where,
        options,
        engine=engine,
        spark=spark,
        watch=Watch(progress=progress, cancel=cancel),
    )


def update_in(  # noqa: PLR0913  # where, what, how, and who looks on
    store: WriteStore,
    values: Mapping[str, Any],
    where: str | None,
    options: ChangeOptions,
    *,
    engine: Engine = "auto",
    spark: Any = None,
    watch: Watch = UNWATCHED,
    approve: Approve | None = None,
) -> WriteResult:
    """`update` through a store that is open already."""
    check_engine(engine)
    job = _Update(
        store=store,
        values=values,
        where=where,
        options=options,
        engine=engine,
        spark=spark,
        watch=watch,
        approve=approve,
    )
    return run_until_committed(job.run, watch)


def begin_update(
    store: WriteStore,
    values: Mapping[str, Any],
    where: str | None,
    options: ChangeOptions,
    watch: Watch = UNWATCHED,
) -> BegunChange | WriteResult:
    """What `update_in` begins with, for who only looks; raises as it does."""
    job = _Update(
        store=store,
        values=values,
        where=where,
        options=options,
        engine="auto",
        spark=None,
        watch=watch,
    )
    ready = job.begin()
    return ready if isinstance(ready, WriteResult) else ready[0]


@dataclass(frozen=True, kw_only=True)
class _Update:
    """One update, which may be run again upon a newer version."""

    store: WriteStore
    values: Mapping[str, Any]
    where: str | None
    options: ChangeOptions
    engine: Engine
    spark: Any
    watch: Watch
    approve: Approve | None = None

    def begin(self) -> tuple[BegunChange, _RowsOfUpdate] | WriteResult:
        """The update upon the newest version and its values, or what comes of it where it is done
        already."""
        statement, predicate = begin_upon(self.store, OPERATION, self.where, self.options)
        if is_done_already(statement):
            return statement.repeated()
        snapshot = statement.snapshot
        moment = StatementTime(moment=utc_time(statement.clock()))
        plan = plan_update(snapshot.protocol, snapshot.metadata, self.values, moment)
        begun = with_candidates(statement, self.where, predicate, self.watch)
        job = _RowsOfUpdate(statement=begun.statement, plan=plan, time=moment)
        needed = begun.needs_spark or job.needs_spark()
        return replace(begun, needs_spark=needed, values_after=job.shown), job

    def run(self) -> WriteResult | Conflict:
        """Update the rows of the newest version."""
        began = time.monotonic()
        ready = self.begin()
        if isinstance(ready, WriteResult):
            return ready
        begun, job = ready
        if self.approve is not None:
            self.approve(begun)
        statement, candidates = begun.statement, begun.candidates
        place = choose_workplace(
            self.store,
            candidates.files,
            begun.needs_spark,
            engine=self.engine,
            spark=self.spark,
            watch=self.watch,
        )
        with leaving_nothing(statement, place):
            found = find_rows(place, candidates, self.where)
            scanned = time.monotonic()
            leaving = find_leaving(candidates, found)
            files = leaving.files_with(whole=True)
            told, rules = TOLD_CHANGES.empty_table(), None
            if files.num_rows:
                told, rules = job.write(place, files)
            written, feed = split_told(told)
            if leaving.num_rows is not None:
                check_updated(leaving.num_rows, sum_of(written.column("num_rows")))
            changes = replace(let_leave(statement, place, leaving), written=written, feed=feed)
            problems = remove_other_attempts(statement, place, changes)
        metrics = {
            **changes.file_metrics(),
            "numUpdatedRows": sum_of(written.column("num_rows")),
            **times(began, scanned),
        }
        return statement.commit(
            changes, metrics, validated=rules, problems=problems, watch=self.watch
        )


@dataclass(frozen=True, kw_only=True)
class _RowsOfUpdate:
    """The rows of one update, from their files into new ones."""

    statement: ChangeStatement
    plan: UpdatePlan
    time: StatementTime

    @cached_property
    def _arrow_gate(self) -> GatePlan:
        """Through which the values go where Arrow computes them."""
        return self._gate(self.plan.given())

    def needs_spark(self) -> str | None:
        """Why only Spark can make these rows; None where not."""
        return self.plan.needs_spark or self._arrow_gate.needs_spark

    def write(self, place: Workplace, files: pa.Table) -> tuple[pa.Table, frozenset[ValidatedRule]]:
        """Read the rows of `files`, which are all updated, and write them: new files, with the
        schema `TOLD_CHANGES`, and the rules that their rows keep."""
        statement = self.statement
        protocol, metadata = statement.protocol, statement.metadata
        form = change_form(
            protocol,
            metadata,
            with_feed=needs_change_data(protocol, metadata, updates=True, copies=False),
            target_bytes=statement.target_bytes,
        )
        if self.needs_spark() is None:
            gate = self._arrow_gate
            update = RowUpdate(plan=self.plan, gate=gate, form=form)
            return self._write_by_arrow(place, files, update), gate.rules()
        # nobody who updates a few rows has to have pyspark
        from explorer.pipeline.changing._update_frame import updated_frame  # noqa: PLC0415

        frame, given = updated_frame(place, statement, files, self.plan, form)
        from explorer.pipeline.changing._changed_frame import write_frame  # noqa: PLC0415

        gate = self._gate(given)
        return write_frame(place, statement, frame, gate, form), gate.rules()

    def shown(self, place: Workplace, files: pa.Table) -> pa.Table | None:
        """The rows of `files` with their new values and `BEFORE`; None where only Spark can make
        them and the place has none. Nothing is written."""
        statement = self.statement
        form = change_form(statement.protocol, statement.metadata, with_feed=True)
        if self.needs_spark() is None:
            update = RowUpdate(plan=self.plan, gate=self._arrow_gate, form=form)
            read = ReadRowsToChange(store=place.store, request=rows_to_change(statement.snapshot))
            gate = update.begin()
            return pa.Table.from_batches(
                [update.apply(rows, gate) for rows in read(files) if rows.num_rows]
            )
        if place.session is None:
            return None
        # nobody who looks at a few rows has to have pyspark
        from explorer.pipeline.changing._changed_frame import gated_rows  # noqa: PLC0415
        from explorer.pipeline.changing._update_frame import updated_frame  # noqa: PLC0415

        frame, given = updated_frame(place, statement, files, self.plan, form)
        return gated_rows(place, frame, self._gate(given), form)

    def _gate(self, given: StructType) -> GatePlan:
        by_name = {item.name: item.data_type for item in given.fields}
        for item in self.statement.snapshot.schema.fields:
            if item.name in self.plan.tree:
                check_whole((item.name,), by_name[item.name], item.data_type)
        return plan_gate(
            self.statement.protocol,
            self.statement.metadata,
            given,
            statement_time=self.time.moment,
            kept=self.plan.identities,
        )

    def _write_by_arrow(self, place: Workplace, files: pa.Table, update: RowUpdate) -> pa.Table:
        """In this process, or by tasks that need nothing of Spark."""
        statement = self.statement
        read = ReadRowsToChange(store=place.store, request=rows_to_change(statement.snapshot))
        if place.session is not None:
            task = UpdateRows(
                read=read, store=statement.target.store, update=update, statement=statement.id
            )
            # a task has those of one partition after each other, as far as folders say so
            told = place.work(files.sort_by("path"), task, TOLD_CHANGES, _LABEL)
            return place.retries.hear(told)
        done, gate = 0, update.begin()
        with ChangedRowFiles(statement.target.store, update.form, statement.id) as made:
            for rows in read(files):
                place.watch.step(done, None, _LABEL)
                if rows.num_rows:
                    made.add(update.apply(rows, gate))
                done += rows.num_rows
        return pa.Table.from_batches([made.written()])
