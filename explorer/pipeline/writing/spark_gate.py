"""The gate of rows on Spark: a caller's DataFrame as rows of the table.

Projections make the columns, and a filter that lets every row through holds them to the rules:
a row that breaks one raises there, with the rule and some of its values. The filter cannot be
moved below another operation, because Spark takes it to be non-deterministic: else it would
judge rows that a join or a filter of the caller drops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Final

from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.tasks.task_failures import (
    ShownRow,
    message_of,
    raise_refusal,
    render_refusal,
    render_row,
)
from explorer.pipeline.writing._row_rules import broken_rules
from explorer.pipeline.writing.spark_casts import cast_column, null_of
from explorer.protocol.schema import STRING, StructField, StructType, parse_schema
from explorer.writing.gate.identity import free_numbers, overflows
from explorer.writing.gate.plan import (
    ComputedValue,
    GateColumn,
    GatePlan,
    GivenValue,
    IdentityValue,
)
from explorer.writing.gate.planning import plan_computed
from explorer.writing.gate.refusals import Refusal, no_numbers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SHOWN_CHARACTERS: Final = 100
_SENT_COLUMNS: Final = 32
"""So many values leave the worker with a refusal, and those of the columns that rules are about;
fewer are shown, the latter first."""

_PARTITION_BITS: Final = 33
"""`monotonically_increasing_id` counts the rows of a partition in its lower 33 bits."""

MAX_PARTITIONS: Final = 2**20
"""Numbers of identity columns are dealt out to so many partitions where nobody says how many
there are."""


def given_schema_of(frame: DataFrame) -> StructType:
    """The columns of a DataFrame, as types of a table."""
    return parse_schema(frame.schema.json())


def apply_gate(
    frame: DataFrame,
    plan: GatePlan,
    *,
    partitions: int = MAX_PARTITIONS,
    first_partition: int = 0,
    carried: Sequence[str] = (),
) -> DataFrame:
    """The rows with the columns of the table, in its order, for one action. `carried` are columns
    beside them, which no rule speaks of, and which come out as they are behind the others.

    A row that breaks a rule raises where it is worked on; inside `pipeline.clear_errors` or
    `watching` that is an `InvalidArgumentError` of kind `rows_refused`. `partitions` is how many
    of them the frame has at most, by which identity columns get their numbers: partition p of P
    gets every P-th one, so that no task has to know of another. Several frames of one statement
    share P, and each counts its own from another `first_partition` on.

    Raises what analysing the table's own expressions raises, as `DeltaError`.
    """
    if plan.is_unchanged and not plan.row_rules and not plan.values.columns:
        return frame
    numbering = _Numbering(partitions=partitions, first=first_partition)
    with clear_errors("Checking the rows"):
        return _held_to_rules(_with_columns(frame, plan, numbering, carried), plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbering:
    """So many partitions share the numbers of identity columns; those here begin with `first`."""

    partitions: int
    first: int


def _with_columns(
    frame: DataFrame, plan: GatePlan, numbering: _Numbering, carried: Sequence[str]
) -> DataFrame:
    if plan.is_unchanged:
        # no name of the caller's frame is left by which an expression could mean another column
        return frame.toDF(*plan.schema.names, *carried)
    early = [item for item in plan.columns if not _is_generated(item)]
    late = [item for item in plan.columns if _is_generated(item)]
    casts = {item.field.name: item for item in early}
    beside = [_of(name) for name in carried]
    columns = _columns(frame, early, plan.given, numbering)
    found = frame.select(*(columns[name].alias(name) for name in casts), *beside)
    if not late:
        return found
    columns = _columns(found, late, plan.schema, numbering)
    names = {name: _of(name) for name in casts} | columns
    return found.select(*(names[name].alias(name) for name in plan.schema.names), *beside)


def _is_generated(item: GateColumn) -> bool:
    return isinstance(item.source, ComputedValue) and item.source.kind == "generated"


def _columns(
    frame: DataFrame, items: list[GateColumn], shown: StructType, numbering: _Numbering
) -> dict[str, Column]:
    from pyspark.sql import functions as fn

    computed = {
        item.field.name: fn.expr(item.source.expression.text)
        for item in items
        if isinstance(item.source, ComputedValue)
    }
    kinds = _types_of(frame, computed)
    stop = _Stop(shown)
    found: dict[str, Column] = {}
    for item in items:
        name = item.field.name
        match item.source:
            case GivenValue(name=given, cast=cast):
                found[name] = cast_column(_of(given), cast, stop)
            case ComputedValue() as source:
                field = kinds.field(name)
                assert field is not None
                cast = plan_computed(item, source, field.data_type)
                found[name] = cast_column(computed[name], cast, stop)
            case IdentityValue():
                found[name] = _numbers(item, stop, numbering)
            case _:
                found[name] = null_of(item.field.data_type)
        if item.empty_is_null:
            found[name] = fn.when(fn.length(found[name]) > 0, found[name])
    return found


def _types_of(frame: DataFrame, computed: dict[str, Column]) -> StructType:
    """The types that Spark finds for expressions, each under its name."""
    if not computed:
        return StructType()
    asked = frame.select(*(column.alias(name) for name, column in computed.items()))
    return given_schema_of(asked)


def _numbers(item: GateColumn, stop: _Stop, numbering: _Numbering) -> Column:
    from pyspark.sql import functions as fn

    assert isinstance(item.source, IdentityValue)
    free = free_numbers(item.field.name, item.source.identity)
    if not free.room:
        raise overflows(item.field.name)
    row = fn.monotonically_increasing_id()
    partitions = numbering.partitions
    partition = fn.shiftright(row, _PARTITION_BITS) + fn.lit(numbering.first)
    within = row.bitwiseAND(fn.lit((1 << _PARTITION_BITS) - 1))
    count = within * fn.lit(partitions) + partition
    most = min(free.room, (2**63 - 1) // abs(free.step))  # no product is beyond 64 bits
    fits = (count < fn.lit(most)) & (partition < fn.lit(partitions))
    number = count * fn.lit(free.step) + fn.lit(free.first)
    return fn.when(fits, number).otherwise(stop(no_numbers(item.field.name)).cast("bigint"))


def _held_to_rules(frame: DataFrame, plan: GatePlan) -> DataFrame:
    """The same rows, but for those that raise."""
    from pyspark.sql import functions as fn

    rules = list(broken_rules(plan))
    if not rules:
        return frame
    # flat CASEs: a chain of many ORs is a tree too deep for Spark
    broken = fn.coalesce(*_cases(rules))
    about = tuple(dict.fromkeys(name for _, refusal in rules for name in refusal.about))
    stop = _Stop(plan.schema).where(broken, about).cast("boolean")
    # always true, and nothing that Spark could move past another operation
    passes = fn.monotonically_increasing_id() >= fn.lit(0)
    return frame.filter(fn.when(broken.isNotNull(), stop).otherwise(passes))


def _cases(rules: list[tuple[Column | str, Refusal]]) -> Iterator[Column]:
    """The messages of rules that a row breaks, in the order of the rules; null for none."""
    from pyspark.sql import functions as fn

    for is_text, some in groupby(rules, lambda rule: isinstance(rule[0], str)):
        if is_text:
            whens = (f"WHEN {asked} THEN '{message_of(refusal)}'" for asked, refusal in some)
            yield fn.expr(f"CASE {' '.join(whens)} END")
            continue
        case: Column | None = None
        for asked, refusal in some:
            assert not isinstance(asked, str)
            message = render_refusal(refusal)
            case = fn.when(asked, message) if case is None else case.when(asked, message)
        assert case is not None
        yield case


class _Stop:
    """What raises a refusal with the row of a frame that asks for it.

    To make a column takes milliseconds of Spark's driver, and there may be hundreds of rules: the
    values that all of them show are one column, made of one text of SQL.
    """

    def __init__(self, columns: StructType) -> None:
        self._first = columns.fields[:_SENT_COLUMNS]
        self._others = columns.fields[_SENT_COLUMNS:]
        self._made: dict[tuple[str, ...], ShownRow] = {}

    def __call__(self, refusal: Refusal) -> Column:
        """For one rule."""
        return self.where(render_refusal(refusal), refusal.about)

    def where(self, refusal: Column, about: tuple[str, ...]) -> Column:
        """For the rule that a column names, one of some that are `about` these columns."""
        said = {name.lower() for name in about}
        added = tuple(item for item in self._others if item.name.lower() in said)
        key = tuple(item.name for item in added)
        if key not in self._made:
            self._made[key] = self._row(added)
        return raise_refusal(refusal, self._made[key])

    @cached_property
    def _first_texts(self) -> Column:
        return _texts(self._first)

    def _row(self, added: tuple[StructField, ...]) -> ShownRow:
        from pyspark.sql import functions as fn

        texts = self._first_texts
        if added:
            texts = fn.concat(texts, _texts(added))
        columns = [(item.name, item.data_type == STRING) for item in (*self._first, *added)]
        return render_row(columns, texts)


def _texts(fields: tuple[StructField, ...]) -> Column:
    from pyspark.sql import functions as fn

    shown = (
        f"substring(CAST({quoted(item.name)} AS STRING), 1, {_SHOWN_CHARACTERS})" for item in fields
    )
    return fn.expr(f"array({', '.join(shown)})")


def _of(name: str) -> Column:
    from pyspark.sql import functions as fn

    return fn.col(quoted(name))
