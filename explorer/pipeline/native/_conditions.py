"""Predicates as conditions of Spark, node by node: no text of anybody reaches its parser.

Only what means the same under every setting of a session is rendered: where a day is held
against a time, Spark would ask for the session's time zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, Final

from explorer.protocol.schema import VOID, DataType, DecimalType, PrimitiveType, render_type
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.scan.predicate.predicate import (
    ColumnReference,
    Comparison,
    Condition,
    Conjunction,
    Constant,
    Disjunction,
    LikeTest,
    Membership,
    Negation,
    NullTest,
    Predicate,
    SqlCondition,
    Truth,
    TruthTest,
    Value,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

# beyond these Spark rounds one of two decimals before it compares them
_EXACT_DIGITS: Final = 30
_NUMBERS: Final = frozenset({"byte", "short", "integer", "long", "float", "double"})
_SPARK_NAMES: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "void": "boolean",  # NULL beside NULL: of a type that compares with itself
}

Columns = Mapping[str, "Column"]
"""The table's columns by their names."""


def can_render(predicate: Predicate) -> bool:
    """Whether `render_filter` can say the same."""
    return not predicate.sql_conditions and all(
        _plain_node(node)
        for node in _walk(predicate.condition)
        if isinstance(node, Comparison | Membership | LikeTest)
    )


def render_filter(predicate: Predicate, columns: Columns) -> Column:
    """The predicate over `columns`, among them all that it speaks of."""
    return _condition(predicate.condition, columns)


def _walk(condition: Condition | Value) -> Any:
    stack: list[Any] = [condition]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Conjunction | Disjunction):
            stack.extend(node.operands)
        elif isinstance(node, NullTest | TruthTest | Negation):
            stack.append(node.operand)


def _plain_node(node: Comparison | Membership | LikeTest) -> bool:
    match node:
        case LikeTest(matches=matches):
            return matches in {"itself", "prefix"}
        case Membership(operand=operand, options=options):
            return all(_plain_pair(operand, option) for option in options)
        case Comparison(left=left, right=right):
            return _plain_pair(left, right)


def _plain_pair(left: Value, right: Value) -> bool:
    """Whether both have one type, or numbers that Spark compares as we do."""
    kinds = {_kind(side.data_type) for side in (left, right)} - {"void"}
    return len(kinds) < 2


def _kind(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return "number" if data_type.precision <= _EXACT_DIGITS else render_type(data_type)
    name = data_type.name if isinstance(data_type, PrimitiveType) else render_type(data_type)
    return "number" if name in _NUMBERS else name


def _condition(condition: Condition, columns: Columns) -> Column:  # noqa: C901, PLR0911  # one per node
    from pyspark.sql import functions as fn

    match condition:
        case Comparison():
            return _comparison(condition, columns)
        case Membership(operand=operand, options=options, has_null=has_null):
            found = _value(operand, columns).isin([_value(option, columns) for option in options])
            return found | fn.lit(None).cast("boolean") if has_null else found
        case LikeTest(operand=operand, prefix=prefix, matches=matches):
            text = _value(operand, columns)
            return text == fn.lit(prefix) if matches == "itself" else text.startswith(prefix)
        case NullTest(operand=operand):
            return _operand(operand, columns).isNull()
        case TruthTest(operand=inner, truth=truth):
            answer = _condition(inner, columns)
            return fn.coalesce(answer if truth else ~answer, fn.lit(False))  # noqa: FBT003  # a value
        case Negation(operand=inner):
            return ~_condition(inner, columns)
        case Conjunction(operands=operands):
            return reduce(and_, (_condition(item, columns) for item in operands))
        case Disjunction(operands=operands):
            return reduce(or_, (_condition(item, columns) for item in operands))
        case Truth(value=value):
            return fn.lit(value).cast("boolean")
        case SqlCondition(text=text):
            raise TypeError(f"no predicate on rows has {text[:60]!r}")


def _comparison(comparison: Comparison, columns: Columns) -> Column:
    left = _value(comparison.left, columns, comparison.right.data_type)
    right = _value(comparison.right, columns, comparison.left.data_type)
    match comparison.operator:
        case "=":
            return left == right
        case "<=>":
            return left.eqNullSafe(right)
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _operand(operand: Value | Condition, columns: Columns) -> Column:
    if isinstance(operand, ColumnReference | Constant):
        return _value(operand, columns)
    return _condition(operand, columns)


def _value(value: Value, columns: Columns, beside: DataType = VOID) -> Column:
    """A value; a NULL has the type of what stands `beside` it, because Spark compares a
    boolean, as which it would be written alone, with no other type."""
    if isinstance(value, Constant):
        return _literal(replace(value, data_type=beside) if value.data_type == VOID else value)
    name, *inner = value.path
    return reduce(lambda found, field: found.getField(field), inner, columns[name])


def _literal(constant: Constant) -> Column:
    from pyspark.sql import functions as fn

    value, kind = constant.value, constant.data_type
    match value:
        case Moment(is_instant=True):
            # by its number: how a literal is read depends on the session's time zone
            return fn.timestamp_micros(fn.lit(value.number))
        case Moment():
            return fn.lit(str(value)).cast("timestamp_ntz")
        case Day():
            return fn.date_from_unix_date(fn.lit(value.number))
        case bytes():
            return fn.lit(bytearray(value)).cast("binary")
        case Decimal():
            return fn.lit(format(value, "f")).cast(render_type(kind))
        case _:
            name = render_type(kind)
            return fn.lit(value).cast(_SPARK_NAMES.get(name, name))
