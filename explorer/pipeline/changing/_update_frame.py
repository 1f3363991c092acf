"""The rows of an update on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from explorer.pipeline.changing._changed_frame import rows_frame
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.removing.workplace import Workplace
from explorer.pipeline.writing.spark_gate import given_schema_of
from explorer.protocol.schema import VOID, StructField, StructType
from explorer.writing.changes.changed_rows import BEFORE, KIND, ROW_ID, UPDATE, ChangeForm
from explorer.writing.changes.set_values import Assignment, SetTree, UpdatePlan
from explorer.writing.statements.change_statement import ChangeStatement

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def updated_frame(
    place: Workplace,
    statement: ChangeStatement,
    files: pa.Table,
    plan: UpdatePlan,
    form: ChangeForm,
) -> tuple[DataFrame, StructType]:
    """The rows of `files` with their new values, as the gate is given them, and what `form`
    carries; and the types of the former. Raises what Spark has against a value, as
    `DeltaError`."""
    from pyspark.sql import functions as fn

    with clear_errors("Updating rows"):
        frame = rows_frame(place, statement, files)
        names = [name for name in frame.columns if name != ROW_ID]
        carried = {
            KIND: fn.lit(UPDATE),
            ROW_ID: fn.col(quoted(ROW_ID)),
            BEFORE: fn.struct(*(fn.col(quoted(name)).alias(name) for name in names)),
        }
        others = [carried[name].alias(name) for name in form.carried]
        changed = frame.select(*_values(plan), *others)
        kept = [quoted(item.name) for item in plan.kept]
        return changed, given_schema_of(changed.select(*kept))


def _values(plan: UpdatePlan) -> Iterator[Column]:
    from pyspark.sql import functions as fn

    for item in plan.kept:
        held = fn.col(quoted(item.name))
        at = plan.tree.get(item.name)
        yield (held if at is None else _value(at, held, item)).alias(item.name)


def _value(at: Assignment | SetTree, held: Column, item: StructField) -> Column:
    from pyspark.sql import functions as fn

    if isinstance(at, Assignment):
        value: Column = at.value if at.text is None else fn.expr(at.text)
        return value
    assert isinstance(item.data_type, StructType)
    fields = []
    for inner in item.data_type.fields:
        if inner.data_type == VOID:
            continue
        below, value = at.get(inner.name), held.getField(inner.name)
        fields.append((value if below is None else _value(below, value, inner)).alias(inner.name))
    return fn.struct(*fields)
