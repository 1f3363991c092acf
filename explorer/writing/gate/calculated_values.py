"""Calculations of defaults and generated columns over Arrow batches, as Spark has them with ANSI
errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import UnsupportedError
from explorer.log.plain_arrays import Flags, build_array, read_flags, read_numbers, read_values
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import DOUBLE, DecimalType, PrimitiveType
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.calendar_days import DAY_US, Day, Moment
from explorer.scan.predicate.calculations import (
    Arithmetic,
    ArithmeticOperator,
    Calculation,
    DayOfTime,
    PartOfDay,
    decimal_of,
)
from explorer.scan.predicate.predicate import ColumnReference, Constant
from explorer.writing.gate._plain_casts import cast_plain

_OPERATIONS: Final[dict[ArithmeticOperator, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}


class NotCalculatedError(Exception):
    """A row for which there is no value, by its position; `why` says what is wrong."""

    def __init__(self, why: str, row: int) -> None:
        super().__init__(why)
        self.why = why
        self.row = row


def calculate(calculation: Calculation, rows: pa.RecordBatch) -> pa.Array:
    """The value for each row, of the Arrow type for `calculation.data_type`.

    Raises `NotCalculatedError` for the first row whose sum does not fit, or that divides by zero.
    """
    match calculation:
        case Constant():
            return pa.repeat(constant_scalar(calculation), rows.num_rows)
        case ColumnReference():
            return _column(calculation, rows)
        case DayOfTime(operand=operand):
            return build_days(calculate(operand, rows))
        case PartOfDay(part=part, operand=operand):
            days = calculate(operand, rows)
            parts = dict(zip(("year", "month", "day"), _civil(days), strict=True))
            return build_array(parts[part].astype(np.int32), ~_valid(days))
        case Arithmetic():
            return _arithmetic(calculation, rows)


def constant_scalar(constant: Constant) -> pa.Scalar:
    """A literal as a scalar of the Arrow type for its own."""
    kind = arrow_type(constant.data_type)
    match constant.value:
        case Day(number=number):
            return build_array(np.array([number], np.int32)).view(kind)[0]
        case Moment(number=number):
            return build_array(np.array([number], np.int64)).view(kind)[0]
        case value:
            return pa.array([value], kind)[0]


def build_days(values: pa.Array) -> pa.Array:
    """The day in UTC of each date or time."""
    if pa.types.is_date(values.type):
        return values.cast(pa.date32())
    numbers = read_numbers(values.cast(pa.int64()))
    return build_array((numbers // DAY_US).astype(np.int32), ~_valid(values)).view(pa.date32())


def _civil(days: pa.Array) -> tuple[Any, Any, Any]:
    """Year, month and day of dates, of every year that there is."""
    shifted = read_numbers(days.cast(pa.int32())) + 719_468  # from 1 March of the year 0
    cycle, rest = np.divmod(shifted, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    rest = rest - (365 * year + year // 4 - year // 100)
    months = (5 * rest + 2) // 153
    month = (months + 2) % 12 + 1
    return cycle * 400 + year + (month <= 2), month, rest - (153 * months + 2) // 5 + 1


def _column(reference: ColumnReference, rows: pa.RecordBatch) -> pa.Array:
    name, *inner = reference.path
    at = rows.schema.get_field_index(name)
    if at < 0:
        raise UnsupportedError(
            f"A column is generated from `{render_path(reference.path)[:200]}`.",
            reason="That one is generated itself, so that its value is not known yet.",
            remedy="Give that column.",
            spec="Generated Columns",
        )
    column = rows.column(at)
    return pc.struct_field(column, inner) if inner else column


def _arithmetic(calculation: Arithmetic, rows: pa.RecordBatch) -> pa.Array:
    left, right = calculate(calculation.left, rows), calculate(calculation.right, rows)
    if left.null_count == len(left) or right.null_count == len(right):
        return pa.nulls(rows.num_rows, arrow_type(calculation.data_type))
    if isinstance(calculation.data_type, DecimalType):
        sides = [
            cast_plain(values, side.data_type, decimal_of(side)).values
            for values, side in ((left, calculation.left), (right, calculation.right))
        ]
        compute = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[calculation.operator]
        return compute(*sides)
    wanted = calculation.data_type
    left = cast_plain(left, calculation.left.data_type, wanted).values
    right = cast_plain(right, calculation.right.data_type, wanted).values
    assert isinstance(wanted, PrimitiveType)
    if wanted.name in _BITS:
        return _whole(calculation.operator, left, right, _BITS[wanted.name])
    return _floating(calculation.operator, left, right, is_double=wanted == DOUBLE)


def _whole(sign: ArithmeticOperator, left: pa.Array, right: pa.Array, bits: int) -> pa.Array:
    valid = _valid(left) & _valid(right)
    first, second = (read_numbers(side).astype(object) for side in (left, right))
    exact = _OPERATIONS[sign](first, second)  # of any size
    end = 1 << (bits - 1)
    lost = np.array([not -end <= number < end for number in exact], np.bool_) & valid
    if lost.any():
        raise NotCalculatedError(f"it does not fit into {bits} bits", int(np.flatnonzero(lost)[0]))
    found = np.where(valid, exact, 0).astype(np.int64)
    return build_array(found, ~valid).cast(left.type)


def _floating(
    sign: ArithmeticOperator, left: pa.Array, right: pa.Array, *, is_double: bool
) -> pa.Array:
    valid = _valid(left) & _valid(right)
    first, second = (read_values(side.fill_null(0)) for side in (left, right))
    if sign == "/":
        zero = (second == 0) & valid
        if zero.any():
            raise NotCalculatedError("it divides by zero", int(np.flatnonzero(zero)[0]))
        second = np.where(valid, second, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _OPERATIONS[sign](first, second)
    return build_array(found.astype(np.float64 if is_double else np.float32), ~valid)


def _valid(values: pa.Array) -> Flags:
    return read_flags(values.is_valid())
