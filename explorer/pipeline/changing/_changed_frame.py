"""Changed rows on Spark: a frame of rows that are to be changed, and what is written of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.pipeline.changing._change_tasks import ReadRowsToChange, WriteChangedRows
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.file_tasks import run_groups
from explorer.pipeline.tasks.mapped_batches import map_batches
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_groups import group_files
from explorer.pipeline.writing.spark_gate import apply_gate
from explorer.rows.stored_rows import rows_to_change
from explorer.writing.changes.changed_rows import TOLD_CHANGES, ChangeForm
from explorer.writing.gate.plan import GatePlan
from explorer.writing.statements.change_statement import ChangeStatement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LABEL: Final = "Writing changed rows"
_LOOKING: Final = "Looking at changed rows"


def rows_frame(place: Workplace, statement: ChangeStatement, files: pa.Table) -> DataFrame:
    """The rows of files with what `ReadFiles` needs: the table's columns but void ones, variants as
    structs of what is stored, and `ROW_ID` where rows keep their ids."""
    session = place.session
    assert session is not None
    read = ReadRowsToChange(store=place.store, request=rows_to_change(statement.snapshot))
    groups = group_files(files, parallelism(session))
    return run_groups(session, groups, read, spark_schema(read.schema))


def gated_rows(place: Workplace, frame: DataFrame, plan: GatePlan, form: ChangeForm) -> pa.Table:
    """Rows as `write_frame` would write them, for who only looks at a few."""
    session = place.session
    assert session is not None
    with watched(session, place.watch, _LOOKING):
        return apply_gate(frame, plan, carried=form.carried).toArrow()


def write_frame(
    place: Workplace, statement: ChangeStatement, frame: DataFrame, plan: GatePlan, form: ChangeForm
) -> pa.Table:
    """Take rows through the gate and write them: new files, with the schema `TOLD_CHANGES`. The
    frame has the columns that the gate is given and those that `form` carries."""
    session = place.session
    assert session is not None
    task = WriteChangedRows(store=statement.target.store, form=form, statement=statement.id)
    with watched(session, place.watch, _LABEL):
        rows = apply_gate(frame, plan, carried=form.carried)
        if names := [name for name, _ in form.rows.partitions]:
            rows = rows.sortWithinPartitions(*map(quoted, names))
        told = map_batches(rows, task.__call__, TOLD_CHANGES).toArrow().cast(TOLD_CHANGES)
    return place.retries.hear(told)
