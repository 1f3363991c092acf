"""The gate of rows in this process: the caller's Arrow rows as rows of the table.

It is for what `GatePlan.needs_spark` does not keep for Spark, and holds a batch at a time. Times
without a zone are in UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.log.plain_arrays import FALSE, build_array, read_flags
from explorer.protocol.arrow_types import arrow_schema, arrow_type, delta_schema
from explorer.protocol.schema import StructType
from explorer.rows.python_values import plain_values, python_values
from explorer.rows.row_checks import find_broken
from explorer.scan.predicate.domains import comparable_column, domain_of
from explorer.scan.predicate.evaluation import evaluate
from explorer.writing.gate._nested_casts import RefusedRowError, cast_values
from explorer.writing.gate._plain_casts import held_by
from explorer.writing.gate.calculated_values import NotCalculatedError, calculate
from explorer.writing.gate.identity import WHOLE, Part, free_numbers, give_numbers
from explorer.writing.gate.plan import (
    ComputedValue,
    GateColumn,
    GatePlan,
    GivenValue,
    IdentityValue,
    RowRule,
    TableExpression,
    ValueCast,
)
from explorer.writing.gate.refusals import (
    WrittenValue,
    mismatch,
    not_as_generated,
    not_computed,
    not_null,
    not_true,
    too_long,
)

MAX_BYTES: Final = 2**30
"""A batch that is larger goes through in pieces."""

_HELD_BYTES: Final = 16 * 2**20
_HELD_ROWS: Final = 2**17
"""A piece of `ArrowGate.take`. Its rows count too: those of a dictionary are small, and become as
large as its values."""


def given_schema(schema: pa.Schema) -> StructType:
    """The columns of a caller's Arrow rows, as types of a table: unsigned numbers as wider signed
    ones, times of any unit, texts and bytes of any layout.

    Raises `InvalidArgumentError` of kind `schema_mismatch` where a table has no such type.
    """
    plain = pa.schema([item.with_type(_held(item.type)).remove_metadata() for item in schema])
    try:
        return delta_schema(plain)
    except InvalidArgumentError as error:
        raise mismatch(error.problem, error.reason, error.remedy) from error


def _held(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _held(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _held(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([_held_field(item) for item in kind])
    if types.is_map(kind):
        return pa.map_(_held_field(kind.key_field), _held_field(kind.item_field))
    if hasattr(kind, "value_field"):
        return pa.list_(_held_field(kind.value_field))
    return kind if types.is_fixed_size_binary(kind) else held_by(kind)


def _held_field(item: pa.Field) -> pa.Field:
    return item.with_type(_held(item.type)).remove_metadata()


def pieces(
    batch: pa.RecordBatch, most_bytes: int = MAX_BYTES, most_rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    """A batch in pieces of so many bytes and rows, or of one row: texts and lists of the table's
    types have offsets of 32 bits, those of a caller may have 64."""
    rows = batch.num_rows
    step = max(1, min(rows * most_bytes // max(batch.nbytes, 1), most_rows or rows))
    for start in range(0, max(rows, 1), step):
        yield batch.slice(start, step)


class ArrowGate:
    """Takes a caller's rows through a plan, batch by batch; identity columns count on."""

    def __init__(self, plan: GatePlan, part: Part = WHOLE) -> None:
        """`part` is which of several writers of the statement this one is, so that no two give out
        the same number. Raises `UnsupportedError` where the plan needs Spark."""
        if plan.needs_spark is not None:
            raise UnsupportedError(
                "The rows cannot be written without Spark.",
                reason=plan.needs_spark,
                remedy="Write them with engine='spark'.",
            )
        self._plan = plan
        self._part = part
        self._rows = 0
        self.schema: pa.Schema = arrow_schema(plan.schema)

    @property
    def marks(self) -> dict[str, int]:
        """The last number given out, for each identity column that got some."""
        found = {}
        for item in self._plan.identity_columns if self._rows else ():
            assert isinstance(item.source, IdentityValue)
            free = free_numbers(item.field.name, item.source.identity, part=self._part)
            found[item.field.name] = free.last_of(self._rows)
        return found

    def apply(self, rows: pa.Table | pa.RecordBatch) -> pa.Table:
        """The rows with the columns and types of the table (`schema`), raising what `take` does."""
        taken = [self._through(piece) for batch in self._batches(rows) for piece in pieces(batch)]
        return pa.Table.from_batches(taken, self.schema)

    def take(self, rows: pa.Table | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The same in small pieces: what becomes of one is all that need be held.

        Raises `InvalidArgumentError` of kind `rows_refused` for the first row that breaks a rule,
        of kind `schema_mismatch` where the rows do not have the columns of the plan, and of kind
        `limit_exceeded` where an identity column has no more numbers.
        """
        for batch in self._batches(rows):
            yield from map(self._through, pieces(batch, _HELD_BYTES, _HELD_ROWS))

    def _batches(self, rows: pa.Table | pa.RecordBatch) -> list[pa.RecordBatch]:
        names = rows.schema.names
        if sorted(names) != sorted(self._plan.given.names):
            raise mismatch(
                "The rows have other columns than the ones that were planned for.",
                f"They have {', '.join(name[:60] for name in names[:12]) or 'none'}.",
                "Give the same columns in each batch.",
            )
        return rows.to_batches() if isinstance(rows, pa.Table) else [rows]

    def _through(self, given: pa.RecordBatch) -> pa.RecordBatch:
        every = np.arange(given.num_rows, dtype=np.int64)
        try:
            found = self._columns(given, every)
        except RefusedRowError as error:
            raise error.refusal.error(row_values(given, error.row)) from None
        self._check(found)
        self._rows += given.num_rows
        return found

    def _columns(self, given: pa.RecordBatch, every: Any) -> pa.RecordBatch:
        arrays: dict[str, pa.Array] = {}
        generated = []
        for item in self._plan.columns:
            if isinstance(item.source, ComputedValue) and item.source.kind == "generated":
                generated.append(item)
            else:
                arrays[item.field.name] = _told(item, self._column(item, given, every))
        if generated:
            known = _batch(arrays, given.num_rows)
            for item in generated:
                assert isinstance(item.source, ComputedValue)
                arrays[item.field.name] = _told(item, _computed(item, item.source, known, every))
        ordered = [arrays[name] for name in self.schema.names]
        if not ordered:
            return given.select([])
        return pa.RecordBatch.from_arrays(ordered, schema=self.schema)

    def _column(self, item: GateColumn, given: pa.RecordBatch, every: Any) -> pa.Array:
        match item.source:
            case GivenValue(name=name, cast=cast):
                return cast_values(given.column(name), cast, every)
            case ComputedValue() as source:
                return _computed(item, source, given, every)
            case IdentityValue(identity=identity):
                name = item.field.name
                numbers = give_numbers(name, identity, len(every), self._rows, self._part)
                return build_array(numbers)
            case _:
                return pa.nulls(len(every), arrow_type(item.field.data_type))

    def _check(self, rows: pa.RecordBatch) -> None:
        for broken in find_broken(rows, self._plan.values):
            is_null = broken.rule == "NOT NULL"
            refusal = not_null(broken.path) if is_null else too_long(broken.path, broken.rule)
            raise refusal.error(row_values(rows, broken.first_row))
        for rule in self._plan.row_rules:
            self._check_rule(rule, rows)

    def _check_rule(self, rule: RowRule, rows: pa.RecordBatch) -> None:
        if rule.kind == "generated":
            kept = self._as_generated(rule, rows)
        else:
            assert rule.expression.condition is not None
            kept = evaluate(rule.expression.condition, rows)
        flags = read_flags(kept)
        if not flags.all():
            refusal = not_as_generated(rule) if rule.kind == "generated" else not_true(rule)
            raise refusal.error(row_values(rows, int(np.flatnonzero(~flags)[0])))

    def _as_generated(self, rule: RowRule, rows: pa.RecordBatch) -> pa.Array:
        item = next(item for item in self._plan.columns if item.field.name == rule.column)
        every = np.arange(rows.num_rows, dtype=np.int64)
        wanted = _calculated(item, rule.expression, rows)
        domain = domain_of(item.field.data_type)
        assert domain is not None
        assert rule.expression.calculation is not None
        source = rule.expression.calculation.data_type
        cast = ValueCast(path=(item.field.name,), source=source, target=item.field.data_type)
        try:
            wanted = cast_values(wanted, cast, every)
        except RefusedRowError as error:
            raise error.refusal.error(row_values(rows, error.row)) from None
        left, right = (
            comparable_column(side, domain) for side in (rows.column(item.field.name), wanted)
        )
        both_null = pc.and_(pc.is_null(left), pc.is_null(right))
        return pc.or_(pc.fill_null(pc.equal(left, right), FALSE), both_null)


def _told(item: GateColumn, values: pa.Array) -> pa.Array:
    """The values as the log can tell them."""
    if not item.empty_is_null:
        return values
    return pc.if_else(pc.equal(pc.binary_length(values), 0), pa.nulls(1, values.type)[0], values)


def _computed(
    item: GateColumn, source: ComputedValue, rows: pa.RecordBatch, every: Any
) -> pa.Array:
    assert source.cast is not None
    found = _calculated(item, source.expression, rows)
    try:
        return cast_values(found, source.cast, every)
    except RefusedRowError as error:
        written = f"{error.refusal.rule}, computed as {source.expression.written}"
        raise replace(error.refusal, rule=written).error(row_values(rows, error.row)) from None


def _calculated(item: GateColumn, expression: TableExpression, rows: pa.RecordBatch) -> pa.Array:
    assert expression.calculation is not None
    try:
        return calculate(expression.calculation, rows)
    except NotCalculatedError as error:
        refusal = not_computed(item.field.name, expression, error.why)
        raise refusal.error(row_values(rows, error.row)) from None


def _batch(arrays: dict[str, pa.Array], num_rows: int) -> pa.RecordBatch:
    if not arrays:  # a batch without columns would have no rows
        return pa.RecordBatch.from_arrays([pa.nulls(num_rows)], names=[""])
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows in one piece. Raises `UnsupportedError` where Arrow cannot have them so: a column
    of text or bytes holds 2 GiB at most."""
    found = table.combine_chunks().to_batches()
    if len(found) > 1:
        raise UnsupportedError(
            "These rows are too large for this process.",
            reason="A column of them has more than 2 GiB.",
            remedy='Give fewer rows at a time, or use engine="spark".',
        )
    return found[0] if found else pa.RecordBatch.from_pylist([], table.schema)


def row_values(rows: pa.RecordBatch, at: int) -> dict[str, Any]:
    """The values of one row, for a message."""
    return dict(_values(rows, at))


def _values(rows: pa.RecordBatch, at: int) -> Iterator[tuple[str, Any]]:
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        yield name, _value(column.slice(at, 1))


def _value(values: pa.Array) -> Any:
    try:
        return python_values(values)[0]
    except (ValueError, OverflowError, NotImplementedError):  # a value beyond Python's
        pass
    try:
        return plain_values(values)[0]
    except (ValueError, OverflowError, NotImplementedError):  # a type without plain numbers
        return WrittenValue(str(values.type))
