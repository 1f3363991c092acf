"""Comparisons of a time's day, as comparisons of the time itself: bounds tell of times alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from explorer.protocol.schema import TIMESTAMP, PrimitiveType
from explorer.protocol.values.calendar_days import DAY_US, LAST_US, LEAST_US, Day, Moment
from explorer.scan.predicate.predicate import (
    ColumnReference,
    Condition,
    Conjunction,
    Constant,
    Operator,
    TruthTest,
    Value,
)

Compare: TypeAlias = Callable[[Operator, Value, Value], Condition]

_TIMES: Final = frozenset({"timestamp", "timestamp_ntz"})
_CASTS: Final = frozenset({"Cast", "TryCast", "Date", "TsOrDsToDate"})
_SWAPPED: Final[dict[Operator, Operator]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def day_of(node: Any) -> Any:
    """What a node of sqlglot's tree takes the day of: of `CAST(x AS DATE)`, `DATE(x)` and
    `TO_DATE(x)` the node of `x`; None for another one."""
    if type(node).__name__ not in _CASTS:
        return None
    parts = {name for name, value in node.args.items() if value}
    if not parts <= {"this", "to", "safe"} or "this" not in parts:
        return None  # a format, or further arguments
    if "to" in parts and node.args["to"].this.name != "DATE":
        return None
    return node.this


def is_time(value: Value) -> bool:
    """Whether it is a column of times."""
    kind = value.data_type
    is_known = isinstance(kind, PrimitiveType) and kind.name in _TIMES
    return isinstance(value, ColumnReference) and is_known


def swapped(operator: Operator) -> Operator:
    """The operator with its sides the other way round."""
    return _SWAPPED.get(operator, operator)


def compare_day(
    operator: Operator, column: ColumnReference, day: Constant, compare: Compare
) -> Condition:
    """`CAST(column AS DATE) operator day`, in UTC, as comparisons made by `compare`."""
    if not isinstance(day.value, Day):  # null
        return compare(operator, column, Constant(value=None, data_type=column.data_type))

    first, after = day.value.number, day.value.number + 1
    match operator:
        case "<":
            return _side("<", column, first, compare)
        case "<=":
            return _side("<", column, after, compare)
        case ">":
            return _side(">=", column, after, compare)
        case ">=":
            return _side(">=", column, first, compare)
    within = Conjunction(
        operands=(_side(">=", column, first, compare), _side("<", column, after, compare))
    )
    return within if operator == "=" else TruthTest(operand=within, truth=True)


def _side(side: Operator, column: ColumnReference, days: int, compare: Compare) -> Condition:
    """Whether a time is before midnight of a day, or not; days reach further than times."""
    number = days * DAY_US
    if number <= LAST_US:
        return compare(side, column, _moment(max(number, LEAST_US), column))
    return compare("<=" if side == "<" else ">", column, _moment(LAST_US, column))


def _moment(number: int, column: ColumnReference) -> Constant:
    is_instant = column.data_type == TIMESTAMP
    return Constant(value=Moment(number, is_instant), data_type=column.data_type)
