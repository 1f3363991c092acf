"""What a condition may be for the rows of a file: true, false, unknown.

Each node gives three columns of truth, one value a file; a file may go exactly
where its condition cannot be true. Everything unknown counts as possible, so that
no row is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column, int64_scalar
from explorer.log.plain_arrays import FALSE, TRUE
from explorer.protocol.actions import FieldPath
from explorer.protocol.schema import PrimitiveType
from explorer.scan.predicate.domains import NAN_KEY, Domain, comparable_column, comparable_constant
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
from explorer.scan.statistics.bounds import ColumnRange

_NAN = int64_scalar(NAN_KEY)
_TEXT = Domain(kind="binary")

# more options than that are taken as so many runs between a least and a greatest
_MAX_RUNS = 64

_SWAPPED: dict[Operator, Operator] = {">": "<", ">=": "<="}

_NO_ANSWERS: Mapping[SqlCondition, pa.BooleanArray] = {}
Mask = Any
"""A boolean column without nulls, or one scalar for all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Possible:
    """Whether a condition may be true, false or unknown for a row of each file."""

    true: Mask
    false: Mask
    unknown: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """A `ColumnRange` in a domain; None where no file has a bound."""

    lower: Any
    upper: Any
    may_hold: Mask
    may_be_null: Mask


def may_be_true(
    condition: Condition,
    ranges: Mapping[FieldPath, ColumnRange],
    count: int,
    answers: Mapping[SqlCondition, pa.BooleanArray] = _NO_ANSWERS,
) -> pa.BooleanArray:
    """For which of `count` files a row may exist that the condition is true for; `answers` say
    so of conditions that are not evaluated here.

    Rows are taken in groups by which column is NaN: in none of them, or in each
    in turn. Within a group a column is NaN or within its bounds, so that a range
    of doubles is as good as one of integers.
    """
    floats = [path for path, found in ranges.items() if found.may_be_nan]
    found = _Case(ranges, floats, None, answers).possible(condition).true
    for path in floats:
        found = pc.or_(found, _Case(ranges, floats, path, answers).possible(condition).true)
    if isinstance(found, pa.Scalar):
        return bool_column([found.as_py()] * count)
    return found


class _Case:
    """One group of rows: `nan` is the column that is NaN in them."""

    def __init__(
        self,
        ranges: Mapping[FieldPath, ColumnRange],
        floats: Iterable[FieldPath],
        nan: FieldPath | None,
        answers: Mapping[SqlCondition, pa.BooleanArray],
    ) -> None:
        self._answers = answers
        self._ranges = ranges
        self._floats = set(floats)
        self._nan = nan
        self._spans: dict[tuple[FieldPath, Domain], _Span] = {}

    def possible(self, condition: Condition) -> Possible:
        """What the condition may be."""
        match condition:
            case Comparison():
                return self._comparison(condition)
            case Membership():
                return self._membership(condition)
            case LikeTest():
                return self._likeness(condition)
            case NullTest(operand=operand):
                return self._null_test(operand)
            case TruthTest(operand=inner, truth=truth):
                found = self.possible(inner)
                yes, no = (found.true, found.false) if truth else (found.false, found.true)
                return Possible(true=yes, false=pc.or_(no, found.unknown), unknown=FALSE)
            case other:
                return self._logical(other)

    def _null_test(self, operand: Value | Condition) -> Possible:
        if isinstance(operand, ColumnReference | Constant):
            span = self._span(operand, None)
            return Possible(true=span.may_be_null, false=span.may_hold, unknown=FALSE)
        found = self.possible(operand)
        known = pc.or_(found.true, found.false)
        return Possible(true=found.unknown, false=known, unknown=FALSE)

    def _logical(
        self, condition: Negation | Conjunction | Disjunction | Truth | SqlCondition
    ) -> Possible:
        match condition:
            case SqlCondition():
                # it stands at the top alone, where nothing but its truth counts
                true = self._answers.get(condition, TRUE)
                return Possible(true=true, false=TRUE, unknown=TRUE)
            case Negation(operand=inner):
                return _not(self.possible(inner))
            case Conjunction(operands=operands):
                return reduce(_and, map(self.possible, operands))
            case Disjunction(operands=operands):
                return _not(reduce(_and, (_not(self.possible(item)) for item in operands)))
            case Truth(value=value):
                sides = [TRUE if value is side else FALSE for side in (True, False, None)]
                return Possible(true=sides[0], false=sides[1], unknown=sides[2])

    def _comparison(self, comparison: Comparison) -> Possible:
        left = self._span(comparison.left, comparison.domain)
        right = self._span(comparison.right, comparison.domain)
        operator = comparison.operator
        if operator in _SWAPPED:
            left, right, operator = right, left, _SWAPPED[operator]
        both = pc.and_(left.may_hold, right.may_hold)
        unknown = pc.or_(left.may_be_null, right.may_be_null)
        if operator == "<":
            return Possible(
                true=pc.and_(both, _maybe(pc.less, left.lower, right.upper)),
                false=pc.and_(both, _maybe(pc.less_equal, right.lower, left.upper)),
                unknown=unknown,
            )
        if operator == "<=":
            return Possible(
                true=pc.and_(both, _maybe(pc.less_equal, left.lower, right.upper)),
                false=pc.and_(both, _maybe(pc.less, right.lower, left.upper)),
                unknown=unknown,
            )
        equal = _equality(left, right, both, unknown)
        return equal if operator == "=" else _null_safe(equal, left, right)

    def _membership(self, membership: Membership) -> Possible:
        span = self._span(membership.operand, membership.domain)
        options = [
            comparable_constant(option.value, membership.domain) for option in membership.options
        ]
        runs = _runs(options)
        inside = reduce(pc.or_, (_overlaps(span, low, high) for low, high in runs))
        alone = (_is_only(span, low, high) for low, high in runs if low is high)
        certain = reduce(pc.or_, alone, FALSE)
        no = FALSE if membership.has_null else pc.and_(span.may_hold, pc.invert(certain))
        unknown = TRUE if membership.has_null else span.may_be_null
        return Possible(true=pc.and_(span.may_hold, inside), false=no, unknown=unknown)

    def _likeness(self, likeness: LikeTest) -> Possible:
        found = self._ranges.get(likeness.operand.path)
        if found is not None and found.values is not None:
            return _likeness_of_values(likeness, found, found.values)
        span = self._span(likeness.operand, _TEXT)
        low = likeness.prefix.encode()
        # above every text that begins so; without wildcards there is one text alone
        is_one = likeness.matches == "itself"
        high = low if is_one else low + b"\xff"
        bounds = [comparable_constant(side, _TEXT) for side in (low, high)]
        certain: Mask = FALSE
        if is_one:
            certain = _is_only(span, bounds[0], bounds[1])
        elif likeness.matches == "prefix":
            certain = pc.and_(
                _surely(pc.less_equal, bounds[0], span.lower),
                _surely(pc.less_equal, span.upper, bounds[1]),
            )
        return Possible(
            true=pc.and_(span.may_hold, _overlaps(span, bounds[0], bounds[1])),
            false=pc.and_(span.may_hold, pc.invert(certain)),
            unknown=span.may_be_null,
        )

    def _span(self, value: Value, domain: Domain | None) -> _Span:
        if isinstance(value, Constant):
            if value.value is None:
                return _Span(lower=None, upper=None, may_hold=FALSE, may_be_null=TRUE)
            same = None if domain is None else comparable_constant(value.value, domain)
            return _Span(lower=same, upper=same, may_hold=TRUE, may_be_null=FALSE)
        if (found := self._ranges.get(value.path)) is None:
            return _Span(lower=None, upper=None, may_hold=TRUE, may_be_null=TRUE)
        if self._nan == value.path:
            at = _NAN if domain is None or domain.kind == "double" else None
            return _Span(lower=at, upper=at, may_hold=found.may_hold, may_be_null=FALSE)
        if domain is None:
            return _Span(
                lower=None, upper=None, may_hold=found.may_hold, may_be_null=found.may_be_null
            )
        key = (value.path, domain)
        if key not in self._spans:
            span = _in_domain(found, domain, value)
            if self._nan is not None and value.path in self._floats:
                span = replace(span, upper=None)  # this one may be NaN as well
            self._spans[key] = span
        return self._spans[key]


def _likeness_of_values(likeness: LikeTest, found: ColumnRange, values: pa.Array) -> Possible:
    """Of one value for a whole file the pattern itself says whether it matches."""
    matches = match_pattern(values, likeness)
    return Possible(
        true=pc.and_(found.may_hold, pc.coalesce(matches, TRUE)),
        false=pc.and_(found.may_hold, pc.coalesce(pc.invert(matches), TRUE)),
        unknown=found.may_be_null,
    )


def _in_domain(found: ColumnRange, domain: Domain, column: ColumnReference) -> _Span:
    text = isinstance(column.data_type, PrimitiveType) and column.data_type.name == "string"
    sides: list[Any] = []
    for side in (found.lower, found.upper):
        if side.null_count == len(side):
            sides.append(None)
            continue
        try:
            sides.append(comparable_column(side, _TEXT if text else domain))
        except pa.ArrowInvalid:  # no place for it in the domain: nothing is known
            sides.append(None)
    lower, upper = sides
    if domain.kind == "double" and pa.types.is_decimal(found.lower.type):
        lower, upper = _apart(lower, -_ULPS), _apart(upper, _ULPS)
    return _Span(lower=lower, upper=upper, may_hold=found.may_hold, may_be_null=found.may_be_null)


_ULPS = 64
"""Neighbouring doubles that a decimal's conversion may be off by, and more."""


def _apart(keys: Any, ulps: int) -> Any:
    return None if keys is None else pc.add(keys, int64_scalar(ulps))


def _maybe(compare: Any, left: Any, right: Any) -> Mask:
    """Whether a comparison of bounds holds, true where one of them is unknown."""
    if left is None or right is None:
        return TRUE
    return pc.coalesce(compare(left, right), TRUE)


def _surely(compare: Any, left: Any, right: Any) -> Mask:
    """Whether a comparison of bounds holds, false where one of them is unknown."""
    if left is None or right is None:
        return FALSE
    return pc.coalesce(compare(left, right), FALSE)


def _overlaps(span: _Span, low: Any, high: Any) -> Mask:
    return pc.and_(_maybe(pc.less_equal, span.lower, high), _maybe(pc.less_equal, low, span.upper))


def _is_only(span: _Span, low: Any, high: Any) -> Mask:
    """Whether every value lies between two that are the same."""
    return pc.and_(_surely(pc.equal, span.lower, low), _surely(pc.equal, span.upper, high))


def _equality(left: _Span, right: _Span, both: Mask, unknown: Mask) -> Possible:
    overlap = _overlaps(left, right.lower, right.upper)
    one = pc.and_(
        _is_only(left, right.lower, right.upper), _surely(pc.equal, left.lower, left.upper)
    )
    return Possible(
        true=pc.and_(both, overlap), false=pc.and_(both, pc.invert(one)), unknown=unknown
    )


def _null_safe(equal: Possible, left: _Span, right: _Span) -> Possible:
    both_null = pc.and_(left.may_be_null, right.may_be_null)
    one_null = pc.or_(
        pc.and_(left.may_be_null, right.may_hold), pc.and_(left.may_hold, right.may_be_null)
    )
    return Possible(
        true=pc.or_(equal.true, both_null), false=pc.or_(equal.false, one_null), unknown=FALSE
    )


def _runs(options: list[pa.Scalar]) -> list[tuple[pa.Scalar, pa.Scalar]]:
    """Options as a few ranges that hold them all; each alone where they are few."""
    if len(options) <= _MAX_RUNS:
        return [(option, option) for option in options]
    ordered = sorted(options, key=lambda option: option.as_py())
    size = -(-len(ordered) // _MAX_RUNS)
    return [
        (ordered[start], ordered[min(start + size, len(ordered)) - 1])
        for start in range(0, len(ordered), size)
    ]


def _not(found: Possible) -> Possible:
    return Possible(true=found.false, false=found.true, unknown=found.unknown)


def _and(left: Possible, right: Possible) -> Possible:
    first = pc.and_(left.unknown, pc.or_(right.unknown, right.true))
    return Possible(
        true=pc.and_(left.true, right.true),
        false=pc.or_(left.false, right.false),
        unknown=pc.or_(first, pc.and_(right.unknown, left.true)),
    )
