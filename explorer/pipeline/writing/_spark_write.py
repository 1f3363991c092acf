"""Rows written by tasks of Spark: a frame goes through the gate, and each of its tasks makes data
files of what it gets (spec: Data Files).

Nothing is part of the table before the statement commits the files that tasks told of. A task
that is tried again, or twice at once, writes under names of its own; only one attempt is heard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from explorer.errors import Problem
from explorer.pipeline.jobs.ended_tasks import await_tasks, speculates
from explorer.pipeline.jobs.visibility import check_visible, check_visible_place
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import choose_watched, is_connect
from explorer.pipeline.tasks.attempts import Retries
from explorer.pipeline.tasks.mapped_batches import map_batches
from explorer.pipeline.writing._native_write import NativeWrite, why_not_written
from explorer.pipeline.writing._write_tasks import TOLD, WriteRows
from explorer.pipeline.writing.arrow_frame import arrow_frame
from explorer.pipeline.writing.given_data import ArrowRows, SparkRows, Written
from explorer.pipeline.writing.spark_gate import apply_gate
from explorer.progress import Watch
from explorer.storage.local import LocalStore
from explorer.writing.files.leftovers import problems_of, raise_with, remove_files_named
from explorer.writing.files.row_files import WRITTEN_ROWS, names_of
from explorer.writing.gate.plan import GatePlan, IdentityValue
from explorer.writing.gate.sent_rows import rows_to_send
from explorer.writing.statements.row_statement import RowStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LABEL: Final = "Writing rows"

_NUMBERING_TASKS: Final = 1_000
"""At most, where rows get numbers of identity columns."""

_MOST_COUNTED: Final = 5_000
"""Files whose partitions are counted."""

_LATER: Final = ("AdaptiveSparkPlan", "Exchange", "Subquery")
"""Words of plans whose partitions Spark counts by running a part of them first."""


def write_on_spark(
    statement: RowStatement, rows: ArrowRows | SparkRows, spark: Any, watch: Watch
) -> Written:
    """Write rows by tasks. A frame is worked on by its own session, rows of Arrow by `spark`, the
    active or a local one.

    Raises what the gate raises for a row, `StorageError` and `CancelledError`; then the files of
    the statement are removed as far as the store allows.
    """
    if isinstance(rows, SparkRows):
        _check_place(rows.frame.sparkSession, statement)
        return _write(statement, rows.frame, watch)
    session = choose_watched(spark, watch)
    _check_place(session, statement)
    sent, plan = rows_to_send(statement.gate)
    store, name = statement.target.store, str(statement.id)
    with arrow_frame(session, store, name, rows, sent, watch) as frame:
        return _write(replace(statement, gate=plan), frame, watch)


def _write(statement: RowStatement, frame: DataFrame, watch: Watch) -> Written:
    session, store, name = frame.sparkSession, statement.target.store, str(statement.id)
    task = WriteRows(
        store=store,
        form=statement.form,
        statement=statement.id,
        numbered=tuple(_numbered(statement.gate)),
    )
    try:
        with watched(session, watch, _LABEL):
            gated = _through_gate(frame, statement.gate)
            if (files := _without_python(gated, statement)) is not None:
                return Written(files=files, marks={})
            rows = _in_order(gated, statement)
            told = map_batches(rows, task.__call__, TOLD).toArrow().cast(TOLD)
    except BaseException as error:
        await_tasks(session)
        # a task that ended well before the job failed told nobody
        raise_with(remove_files_named(store, name), error)
        raise
    problems: tuple[Problem, ...] = ()
    retries = Retries()
    files = retries.hear(told).select(WRITTEN_ROWS.names)
    if retries.seen or speculates(session):
        # a task was tried again, or twice at once
        await_tasks(session)
        left = remove_files_named(store, name, keep=frozenset(names_of(files)))
        problems = problems_of(left)
    return Written(files=files, marks=task.marks_of(told), problems=problems)


def _without_python(rows: DataFrame, statement: RowStatement) -> pa.Table | None:
    """The files that Spark's own writer makes of the rows; None where it cannot."""
    form, store = statement.form, statement.target.store
    if statement.gate.identity_columns or not isinstance(store, LocalStore):
        return None
    if why_not_written(rows, form, store.uri) is not None:
        return None
    write = NativeWrite(
        rows=rows,
        form=form,
        store=store,
        statement=statement.id,
        num_partitions=_known_partitions(statement),
    )
    return write.write()


def _known_partitions(statement: RowStatement) -> int | None:
    """How many partitions the table has; None where to count them would take long."""
    snapshot, form = statement.target.snapshot, statement.form
    if snapshot is None or not form.partitions or snapshot.num_files > _MOST_COUNTED:
        return None
    values = snapshot.files(["partition_values"]).column("partition_values").to_pylist()
    return len(set(map(tuple, values)))


def _through_gate(frame: DataFrame, plan: GatePlan) -> DataFrame:
    """The rows as the table's. Tasks deal numbers of identity columns out to each other by how many
    of them there are at most, so that fewer leave smaller gaps, and one leaves none."""
    if not plan.identity_columns:
        return apply_gate(frame, plan)
    most = min(_partitions_of(frame) or _NUMBERING_TASKS, _NUMBERING_TASKS)
    return apply_gate(frame.coalesce(most), plan, partitions=most)


def _partitions_of(frame: DataFrame) -> int | None:
    """How many partitions a frame has, where a classic session knows it before anything runs."""
    if is_connect(frame.sparkSession):
        return None
    execution = frame._jdf.queryExecution()
    plan = str(execution.executedPlan().toString())
    if any(word in plan for word in _LATER):
        return None
    return max(1, int(execution.toRdd().getNumPartitions()))


def _numbered(plan: GatePlan) -> Iterator[tuple[str, int]]:
    for item in plan.identity_columns:
        if isinstance(item.source, IdentityValue):
            yield item.field.name, item.source.identity.step or 1


def _in_order(rows: DataFrame, statement: RowStatement) -> DataFrame:
    """The rows of each partition of the table one after the other, so that a task has one file
    open at a time however many there are; and within one in the order in which they came."""
    names = [name for name, _ in statement.form.partitions]
    if not names:
        return rows
    from pyspark.sql import functions as fn

    # Always sorted: a million rows of eight columns and two tasks took as long either way into 20
    # partitions (2.3 s), and into 1,000 of them 5 s and 2,000 files with a sort, 120 s and 100,000
    # files without; a worker had at most 240 MiB.
    # Spark drops a sort that the caller made below another one, unless something is in between
    # that it cannot look through
    kept = rows.filter(fn.monotonically_increasing_id() >= fn.lit(0))
    return kept.sortWithinPartitions(*map(quoted, names))


def _check_place(session: SparkSession, statement: RowStatement) -> None:
    if statement.target.snapshot is None:
        check_visible_place(session, statement.target.store)
    else:
        check_visible(session, statement.target.store)
