"""Updated and inserted rows of a merge on Spark, clause by clause through the gate of rows into new
files, and deleted ones where change data say what they were (spec: Add CDC File)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.merging._assignments import target_column, value_columns
from explorer.pipeline.merging._merge_tasks import TOLD, WriteMerged
from explorer.pipeline.merging._pairs import CLAUSE, INDEX, PATH, Pairs
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.mapped_batches import map_batches
from explorer.pipeline.writing.spark_casts import cast_column, null_of
from explorer.pipeline.writing.spark_gate import apply_gate, given_schema_of
from explorer.progress import Watch
from explorer.protocol.schema import VOID, StructField, StructType
from explorer.transaction.staged import ValidatedRule
from explorer.writing.changes.changed_rows import (
    BEFORE,
    DELETE,
    INSERT,
    KIND,
    ROW_ID,
    UPDATE,
    ChangeForm,
)
from explorer.writing.gate.plan import GatePlan, IdentityValue
from explorer.writing.gate.planning import plan_gate, plan_value
from explorer.writing.gate.refusals import Refusal
from explorer.writing.gate.whole_structs import check_whole
from explorer.writing.merging.clauses import ClauseAction
from explorer.writing.merging.resolving import ResolvedClause, ResolvedMerge
from explorer.writing.statements.change_statement import ChangeStatement

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_LABEL: Final = "Writing rows"

_NUMBERING_TASKS: Final = 1_000
"""At most, where rows get numbers of identity columns."""

_FEW_ROWS: Final = 50_000
_MANY_ROWS: Final = 500_000
"""Rows for a task: at least the one while not all tasks have work, about the other after that."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What became of new rows: what tasks told, with the columns of `TOLD_CHANGES`, rows by the
    numbers of the clauses, the last numbers of identity columns, and the rules that all rows have
    kept."""

    told: pa.Table
    counts: Mapping[int, int]
    marks: Mapping[str, int]
    validated: frozenset[ValidatedRule] | None


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """The rows that a merge writes. `unpaired` are source rows that insert clauses take, None
    where there are none; `num_rows` is how many come at most; with `repeats` a row that goes may
    stand among the pairs several times."""

    statement: ChangeStatement
    merge: ResolvedMerge
    pairs: Pairs
    unpaired: DataFrame | None = field(repr=False)
    form: ChangeForm
    num_rows: int
    repeats: bool

    def write(self, watch: Watch) -> Written:
        """Write them; raises what the gate raises for a row, and what the store does."""
        frames: list[DataFrame] = []
        plans: dict[int, GatePlan] = {}
        with watched(self._session, watch, _LABEL):
            for number, item in enumerate(self.merge.clauses):
                frame = self._rows_of(number, item)
                if frame is None:
                    continue
                if item.clause.action == "delete":
                    frames.append(frame)
                    continue
                given = given_schema_of(frame)
                self._check_whole(item, given)
                plans[number] = plan = self._plan(item, given)
                frames.append(self._through(frame, plan, number))
            task = WriteMerged(
                store=self.statement.target.store,
                form=self.form,
                statement=self.statement.id,
                clause=CLAUSE,
                numbered={number: dict(_numbered(plan)) for number, plan in plans.items()},
            )
            rows = reduce(lambda some, more: some.union(more), frames)
            made = self._in_order(rows.coalesce(self._num_tasks))
            told = map_batches(made, task.__call__, TOLD).toArrow().cast(TOLD)
        validated = [plan.rules() for plan in plans.values()]
        return Written(
            told=told,
            counts=task.counts_of(told),
            marks=task.marks_of(told),
            validated=frozenset.intersection(*validated) if validated else None,
        )

    @property
    def _session(self) -> SparkSession:
        return self.pairs.frame.sparkSession

    @property
    def _num_tasks(self) -> int:
        slots = parallelism(self._session)
        return max(1, min(-(-self.num_rows // _FEW_ROWS), slots), -(-self.num_rows // _MANY_ROWS))

    def _rows_of(self, number: int, item: ResolvedClause) -> DataFrame | None:
        """What a clause gives to the gate, with what goes beside it."""
        from pyspark.sql import functions as fn

        action = item.clause.action
        if action == "insert":
            if self.unpaired is None:
                return None
            rows = self.unpaired.filter(fn.col(quoted(CLAUSE)) == fn.lit(number))
            rows = rows.coalesce(_NUMBERING_TASKS)
            return rows.select(
                *value_columns(item, self.merge.names), *self._beside(action, number)
            )
        if action == "delete" and self.form.feed is None:
            return None
        rows = self.pairs.taken_by([number])
        if item.clause.kind == "not matched by source":
            # of both sides' columns only the table's may be meant
            rows = rows.select(
                f"{quoted(self.merge.names.target_alias)}.*",
                *(quoted(name) for name in rows.columns if name in {PATH, INDEX, ROW_ID}),
            )
        if action == "update":
            return rows.select(
                *value_columns(item, self.merge.names), *self._beside(action, number)
            )
        if self.repeats:
            rows = rows.dropDuplicates([PATH, INDEX])
        nothing = [null_of(kind.data_type).alias(kind.name) for kind in _stored(self.merge.schema)]
        return rows.select(*nothing, *self._beside(action, number))

    def _beside(self, action: ClauseAction, number: int) -> list[Column]:
        """The columns of `ChangeForm.carried`, and the clause."""
        from pyspark.sql import functions as fn

        kind = {"update": UPDATE, "insert": INSERT, "delete": DELETE}[action]
        is_new = action == "insert"
        made: dict[str, Column] = {KIND: fn.lit(kind)}
        if ROW_ID in self.form.carried:
            made[ROW_ID] = fn.lit(None).cast("bigint") if is_new else fn.col(quoted(ROW_ID))
        if BEFORE in self.form.carried:
            kinds = StructType(fields=tuple(_stored(self.merge.schema)))
            made[BEFORE] = null_of(kinds) if is_new else self._before()
        columns = [made[name].alias(name) for name in self.form.carried]
        return [*columns, fn.lit(number).cast("int").alias(CLAUSE)]

    def _before(self) -> Column:
        """The row as it was, with the columns that the table is to have."""
        from pyspark.sql import functions as fn

        names = self.merge.names
        known = {item.name.lower(): item for item in names.target.fields}
        fields = []
        for item in _stored(self.merge.schema):
            was = known.get(item.name.lower())
            if was is None or was.data_type == VOID:
                value = null_of(item.data_type)
            else:
                cast = plan_value((item.name,), was.data_type, item.data_type)
                value = cast_column(target_column(names, was.name), cast, _stop)
            fields.append(value.alias(item.name))
        return fn.struct(*fields)

    def _check_whole(self, item: ResolvedClause, given: StructType) -> None:
        if self.merge.request.merge_schema:
            return
        kinds = {field.name: field.data_type for field in given.fields}
        for column in self.merge.schema.fields:
            if column.name in item.columns:
                check_whole((column.name,), kinds[column.name], column.data_type, merges=True)

    def _plan(self, item: ResolvedClause, given: StructType) -> GatePlan:
        statement = self.statement
        # what goes beside the values stands behind them
        given = StructType(fields=given.fields[: len(item.columns)])
        kept = item.columns.keys() if item.clause.action == "update" else ()
        return plan_gate(
            statement.protocol,
            statement.metadata,
            given,
            statement_time=self.merge.names.time.moment,
            kept=kept,
        )

    def _through(self, frame: DataFrame, plan: GatePlan, number: int) -> DataFrame:
        carried = (*self.form.carried, CLAUSE)
        count = len(self.merge.clauses)
        found = apply_gate(
            frame,
            plan,
            partitions=_NUMBERING_TASKS * count,
            first_partition=_NUMBERING_TASKS * number,
            carried=carried,
        )
        assert found.columns == [*plan.schema.names, *carried]
        return found

    def _in_order(self, rows: DataFrame) -> DataFrame:
        """The rows of each partition of the table one after the other, as a write has them."""
        names = [name for name, _ in self.form.rows.partitions]
        return rows.sortWithinPartitions(*map(quoted, names)) if names else rows


def _stored(schema: StructType) -> Iterator[StructField]:
    return (item for item in schema.fields if item.data_type != VOID)


def _numbered(plan: GatePlan) -> Iterator[tuple[str, int]]:
    for item in plan.identity_columns:
        if isinstance(item.source, IdentityValue):
            yield item.field.name, item.source.identity.step or 1


def _stop(refusal: Refusal) -> Column:
    """For a value that a wider type does not hold, of which there is none."""
    from pyspark.sql import functions as fn

    return fn.raise_error(fn.lit(refusal.reason))
