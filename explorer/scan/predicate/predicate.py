"""Predicates over the columns of a table, as a tree of values.

Spark's meaning in each node: three-valued logic, NaN equal to itself and above
every number, -0.0 equal to 0.0, strings by their UTF-8 bytes, times in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from explorer.protocol.schema import DataType
from explorer.protocol.schema_walk import render_path
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.scan.predicate.domains import Domain

ConstantValue: TypeAlias = bool | int | float | Decimal | str | bytes | Day | Moment | None
Operator = Literal["=", "<=>", "<", "<=", ">", ">="]

MAX_DEPTH = 40
"""Conditions may be nested this deep; every walk over a tree relies on the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReference:
    """A column, or a field reached through structs, by its logical names."""

    path: tuple[str, ...]
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A literal; its times are instants for `timestamp`, and none for `timestamp_ntz`."""

    value: ConstantValue
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two values in a domain that both fit into."""

    operator: Operator
    left: Value
    right: Value
    domain: Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """`operand IN (options)`; null options are left out and told by `has_null`."""

    operand: ColumnReference
    options: tuple[Constant, ...]
    has_null: bool
    domain: Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeTest:
    """`operand LIKE pattern`; `prefix` is what every match begins with."""

    operand: ColumnReference
    pattern: str
    expression: str
    """The pattern as a regular expression for the whole text."""
    prefix: str
    matches: Literal["itself", "prefix", "pattern"]
    """Whether `prefix` alone matches, everything that begins with it, or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NullTest:
    """`operand IS NULL`."""

    operand: Value | Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthTest:
    """`operand IS TRUE` or `operand IS FALSE`."""

    operand: Condition
    truth: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Negation:
    """`NOT operand`."""

    operand: Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Conjunction:
    """`operands` joined by AND; there are two or more."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disjunction:
    """`operands` joined by OR; there are two or more."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """TRUE, FALSE, or NULL where a condition stands."""

    value: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCondition:
    """A condition beyond the closed list, as it was written; `columns` are those of the table
    that it speaks of. Spark knows what it means, and nobody else here."""

    text: str
    columns: tuple[ColumnReference, ...]


Value: TypeAlias = ColumnReference | Constant
Condition: TypeAlias = (
    Comparison
    | Membership
    | LikeTest
    | NullTest
    | TruthTest
    | Negation
    | Conjunction
    | Disjunction
    | Truth
    | SqlCondition
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A condition on the rows of a table; made by `parse_predicate`."""

    condition: Condition

    @property
    def text(self) -> str:
        """The condition as SQL, in one fixed spelling."""
        return render_condition(self.condition)

    @property
    def references(self) -> tuple[ColumnReference, ...]:
        """Every column and field that it uses, once, in order."""
        return tuple(dict.fromkeys(references_of(self.condition)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The logical names of the table's columns that `evaluate` needs, in order."""
        return tuple(dict.fromkeys(reference.path[0] for reference in self.references))

    @property
    def conjuncts(self) -> tuple[Condition, ...]:
        """The conditions that all have to hold."""
        if isinstance(self.condition, Conjunction):
            return self.condition.operands
        return (self.condition,)

    @property
    def sql_conditions(self) -> tuple[SqlCondition, ...]:
        """Those of `conjuncts` that only Spark can evaluate; they stand nowhere else."""
        return tuple(item for item in self.conjuncts if isinstance(item, SqlCondition))


def render_condition(condition: Condition) -> str:  # noqa: C901, PLR0911, PLR0912  # nodes
    """A condition as SQL."""
    match condition:
        case Comparison(operator=operator, left=left, right=right):
            return f"{render_value(left)} {operator} {render_value(right)}"
        case Membership(operand=operand, options=options, has_null=has_null):
            shown = [render_value(option) for option in options[:20]]
            shown += ["..."] * (len(options) > len(shown)) + ["NULL"] * has_null
            return f"{render_value(operand)} IN ({', '.join(shown)})"
        case LikeTest(operand=operand, pattern=pattern):
            return f"{render_value(operand)} LIKE {render_text(pattern)}"
        case NullTest(operand=inner):
            if isinstance(inner, ColumnReference | Constant):
                return f"{render_value(inner)} IS NULL"
            return f"{_inner(inner)} IS NULL"
        case TruthTest(operand=inner, truth=truth):
            return f"{_inner(inner)} IS {str(truth).upper()}"
        case Negation(operand=inner):
            return f"NOT {_inner(inner)}"
        case Conjunction(operands=operands):
            return " AND ".join(_inner(item) for item in operands)
        case Disjunction(operands=operands):
            return " OR ".join(_inner(item) for item in operands)
        case Truth(value=value):
            return "NULL" if value is None else str(value).upper()
        case SqlCondition(text=text):
            return " ".join(text.split())


def render_value(value: Value) -> str:  # noqa: PLR0911  # one per type
    """A column or a literal as SQL."""
    if isinstance(value, ColumnReference):
        return render_path(value.path)
    match value.value:
        case None:
            return "NULL"
        case bool() as truth:
            return str(truth).upper()
        case str() as text:
            return render_text(text)
        case bytes() as data:
            return f"X'{data.hex().upper()}'"
        case Moment() as time:
            return f"TIMESTAMP{'' if time.is_instant else '_NTZ'} '{time}'"
        case Day() as day:
            return f"DATE '{day}'"
        case Decimal() as number:
            return format(number, "f")
        case float() as number if not math.isfinite(number):
            return f"CAST('{number}' AS DOUBLE)"
        case number:
            return repr(number)


def _inner(condition: Condition) -> str:
    text = render_condition(condition)
    bare = isinstance(condition, Truth | Comparison | Membership | LikeTest | NullTest)
    return text if bare else f"({text})"


def render_text(text: str) -> str:
    """A text as a literal of SQL, in one line: a field of a form has no more."""
    return "'" + text.translate(_ESCAPED) + "'"


_ESCAPED: Final = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\0"})


def references_of(condition: Condition) -> Iterator[ColumnReference]:
    """Every column and field that a condition uses, in order."""
    stack: list[Condition | Value] = [condition]
    while stack:
        match stack.pop():
            case ColumnReference() as reference:
                yield reference
            case Comparison(left=left, right=right):
                stack.extend((right, left))
            case Conjunction(operands=operands) | Disjunction(operands=operands):
                stack.extend(reversed(operands))
            case SqlCondition(columns=columns):
                stack.extend(reversed(columns))
            case Constant() | Truth():
                pass
            case other:
                stack.append(other.operand)
