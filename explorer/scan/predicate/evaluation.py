"""Predicates over rows, column-wise, in three-valued logic."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import bool_column
from explorer.log.plain_arrays import FALSE, TRUE
from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.domains import Domain, comparable_column, comparable_constant
from explorer.scan.predicate.patterns import match_pattern
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
    Operator,
    SqlCondition,
    Truth,
    TruthTest,
    Value,
)

# scalars by way of an array: plain values would make pyarrow import pandas
_UNKNOWN = bool_column([None])[0]

# beyond so many options, one look-up costs less than a comparison with each
_FEW_OPTIONS = 16

_COMPARE: dict[Operator, Any] = {
    "=": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def evaluate(condition: Condition, rows: pa.Table | pa.RecordBatch) -> pa.BooleanArray:
    """True where the condition is true, false where it is false or unknown.

    `rows` have the columns that the condition names, with the Arrow types of the table's
    schema. Raises `InvalidArgumentError` where one is missing.
    """
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    found = [_mask(condition, batch) for batch in batches]
    return pa.concat_arrays(found) if found else bool_column([])


def _mask(condition: Condition, rows: pa.RecordBatch) -> pa.BooleanArray:
    answer = _evaluate(condition, rows)
    if isinstance(answer, pa.Scalar):
        return bool_column([answer.as_py() is True] * rows.num_rows)
    return pc.fill_null(answer, FALSE)


def _evaluate(condition: Condition, rows: pa.RecordBatch) -> Any:  # noqa: C901, PLR0911  # nodes
    """An array of a truth value or null for each row, or a scalar for all of them."""
    match condition:
        case Comparison():
            return _compare(condition, rows)
        case Membership():
            return _is_member(condition, rows)
        case LikeTest():
            return _is_alike(condition, rows)
        case NullTest(operand=operand):
            return pc.is_null(_operand(operand, rows))
        case TruthTest(operand=inner, truth=truth):
            answer = _evaluate(inner, rows)
            return pc.fill_null(answer if truth else pc.invert(answer), FALSE)
        case Negation(operand=inner):
            return pc.invert(_evaluate(inner, rows))
        case Conjunction(operands=operands):
            return reduce(pc.and_kleene, (_evaluate(item, rows) for item in operands))
        case Disjunction(operands=operands):
            return reduce(pc.or_kleene, (_evaluate(item, rows) for item in operands))
        case SqlCondition(text=text):
            raise InvalidArgumentError(
                f"The condition `{text[:80]}` cannot be evaluated on rows here.",
                reason="It is none of the conditions that a predicate may have.",
                remedy="Use columns, literals, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE and "
                "IS NULL.",
            )
        case Truth(value=value):
            return _UNKNOWN if value is None else (TRUE if value else FALSE)


def _operand(operand: Value | Condition, rows: pa.RecordBatch) -> Any:
    match operand:
        case ColumnReference():
            return _column(operand, rows)
        case Constant(value=value):
            return _UNKNOWN if value is None else TRUE
        case condition:
            return _evaluate(condition, rows)


def _compare(comparison: Comparison, rows: pa.RecordBatch) -> Any:
    left = _comparable(comparison.left, comparison.domain, rows)
    right = _comparable(comparison.right, comparison.domain, rows)
    if comparison.operator != "<=>":
        if left is None or right is None:
            return _UNKNOWN
        return _COMPARE[comparison.operator](left, right)
    if left is None or right is None:
        other = right if left is None else left
        return TRUE if other is None else pc.is_null(other)
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(pc.equal(left, right), FALSE), both_null)


def _is_member(membership: Membership, rows: pa.RecordBatch) -> Any:
    options = [
        comparable_constant(option.value, membership.domain) for option in membership.options
    ]
    values = comparable_column(_column(membership.operand, rows), membership.domain)
    if len(options) <= _FEW_OPTIONS:
        found = reduce(pc.or_, (pc.equal(values, option) for option in options))
    else:
        known = pc.is_in(values, value_set=pa.array(options, options[0].type))
        found = pc.if_else(pc.is_valid(values), known, _UNKNOWN)
    return pc.or_kleene(found, _UNKNOWN) if membership.has_null else found


def _is_alike(likeness: LikeTest, rows: pa.RecordBatch) -> pa.BooleanArray:
    return match_pattern(_column(likeness.operand, rows), likeness)


def _comparable(value: Value, domain: Domain, rows: pa.RecordBatch) -> Any:
    """A column as an array, a constant as a scalar; None for the null constant."""
    if isinstance(value, Constant):
        return None if value.value is None else comparable_constant(value.value, domain)
    return comparable_column(_column(value, rows), domain)


def _column(reference: ColumnReference, rows: pa.RecordBatch) -> pa.Array:
    name, *inner = reference.path
    at = rows.schema.get_field_index(name)
    if at < 0:
        raise InvalidArgumentError(
            f"The rows have no column {render_path((name,))}.",
            reason="The predicate names it.",
            remedy="Read every column that `Predicate.columns` names.",
        )
    column = rows.column(at)
    return pc.struct_field(column, inner) if inner else column
