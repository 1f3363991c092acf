"""Values calculated from the columns of a row: what a default or a generated column says.

Columns, texts cast to texts, literals, `+`, `-`, `*` and `/` of numbers, the day of a time, and
year, month and day of a date, with Spark's types and its ANSI errors: a sum that does not fit, and
a division by zero. Everything else has no meaning here. Days of times are those of UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import (
    DATE,
    DOUBLE,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
)
from explorer.scan.predicate._day_casts import day_of
from explorer.scan.predicate._literals import is_text, parse_literal, text_of
from explorer.scan.predicate.names import resolve_name
from explorer.scan.predicate.parse import UnlistedConditionError, bare, names_of, parse_sql
from explorer.scan.predicate.predicate import MAX_DEPTH, ColumnReference, Constant

ArithmeticOperator = Literal["+", "-", "*", "/"]
DatePart = Literal["year", "month", "day"]

_OPERATORS: Final[dict[str, ArithmeticOperator]] = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
_PARTS: Final[dict[str, DatePart]] = {
    "Year": "year",
    "Month": "month",
    "Day": "day",
    "DayOfMonth": "day",
}
_INTEGERS: Final = ("byte", "short", "integer", "long")
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_FLOATS: Final = ("float", "double")
_DAYS: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_INTEGER: Final = PrimitiveType(name="integer")
_MAX_DIGITS: Final = 38


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """`left operator right`; both are taken to `data_type` first, but for decimals, which are
    calculated as they are."""

    operator: ArithmeticOperator
    left: Calculation
    right: Calculation
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfTime:
    """The day of a time in UTC; a date is its own."""

    operand: Calculation
    data_type: DataType = DATE


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOfDay:
    """Year, month or day of a date, or of a time in UTC."""

    part: DatePart
    operand: DayOfTime
    data_type: DataType = _INTEGER


Calculation: TypeAlias = ColumnReference | Constant | Arithmetic | DayOfTime | PartOfDay


def parse_calculation(text: str, schema: StructType) -> Calculation:
    """The value that SQL text means for a row of a table.

    Raises `InvalidArgumentError` where it is more than the docstring of this module says, or
    where Spark would have to choose the types.
    """
    return _build(parse_sql(text), schema, MAX_DEPTH)


def _build(node: Any, schema: StructType, depth: int) -> Calculation:
    node = bare(node)
    kind = type(node).__name__
    if depth <= 0:
        raise _unlisted(node)
    if (names := names_of(node)) is not None:
        return resolve_name(names, schema)
    if (found := parse_literal(node)) is not None:
        return found
    if (inner := text_of(node)) is not None:
        text = _build(inner, schema, depth - 1)
        if not is_text(text.data_type):
            raise _unlisted(node)
        return text
    if kind in _OPERATORS and not _has_more(node, "this", "expression", "typed", "safe"):
        left, right = (_build(part, schema, depth - 1) for part in (node.this, node.expression))
        return _arithmetic(_OPERATORS[kind], left, right, node)
    if kind in _PARTS and not _has_more(node, "this"):
        inner = node.this
        operand = day_of(inner) if day_of(inner) is not None else inner
        return PartOfDay(part=_PARTS[kind], operand=_day(operand, schema, depth))
    if (inner := day_of(node)) is not None:
        return _day(inner, schema, depth)
    raise _unlisted(node)


def _day(node: Any, schema: StructType, depth: int) -> DayOfTime:
    operand = _build(node, schema, depth - 1)
    kind = operand.data_type
    if not isinstance(kind, PrimitiveType) or kind.name not in _DAYS:
        raise _unlisted(node)
    return DayOfTime(operand=operand)


def _arithmetic(
    operator: ArithmeticOperator, left: Calculation, right: Calculation, node: Any
) -> Arithmetic:
    found = _result(operator, left, right)
    if found is None:
        raise _unlisted(node)
    return Arithmetic(operator=operator, left=left, right=right, data_type=found)


def _result(operator: ArithmeticOperator, left: Calculation, right: Calculation) -> DataType | None:
    """The type of a result as Spark has it; None where it would be something else."""
    first, second = _name(left), _name(right)
    kinds = {first, second}
    if operator == "/":
        divisible = kinds <= {"double", *_INTEGERS}
        return DOUBLE if divisible else None
    if kinds <= set(_INTEGERS):
        return PrimitiveType(name=max(cast("str", first), cast("str", second), key=_INTEGERS.index))
    if kinds == {"float"}:
        return left.data_type
    if "double" in kinds and kinds <= {"double", "float", "decimal", *_INTEGERS}:
        return DOUBLE
    if "decimal" in kinds and kinds <= {"decimal", *_INTEGERS}:
        return _decimal(operator, decimal_of(left), decimal_of(right))
    return None


def _name(value: Calculation) -> str | None:
    if isinstance(value.data_type, DecimalType):
        return "decimal"
    return value.data_type.name if isinstance(value.data_type, PrimitiveType) else None


def decimal_of(value: Calculation) -> DecimalType:
    """The decimal that Spark calculates with in the place of a whole number or a decimal."""
    if isinstance(value.data_type, DecimalType):
        return value.data_type
    if isinstance(value, Constant):
        return DecimalType(precision=len(str(abs(cast("int", value.value)))), scale=0)
    return DecimalType(precision=_DIGITS[cast("PrimitiveType", value.data_type).name], scale=0)


def _decimal(
    operator: ArithmeticOperator, left: DecimalType, right: DecimalType
) -> DecimalType | None:
    if operator == "*":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        precision = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    # where it would be more Spark takes digits away
    return DecimalType(precision=precision, scale=scale) if precision <= _MAX_DIGITS else None


def _has_more(node: Any, *known: str) -> bool:
    return any(value and name not in known for name, value in node.args.items())


def _unlisted(node: Any) -> InvalidArgumentError:
    text = " ".join(node.sql(dialect="spark").split())
    return UnlistedConditionError(
        f"The expression has `{text[:80]}`, which cannot be calculated here.",
        reason="Only columns, literals, +, -, * and / of numbers, and year, month and day of "
        "dates can.",
        remedy="Use Spark for it.",
    )
