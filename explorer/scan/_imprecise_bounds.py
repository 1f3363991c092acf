"""Why files are read although their stored bounds would skip them (spec: Per-file Statistics).

Bounds may be imprecise: NaN may be left out, strings and times may be truncated. Evaluating the
predicate again with narrower ranges finds the files that precise bounds would skip, and those
that Delta Spark skips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column
from explorer.protocol.actions import FieldPath
from explorer.protocol.schema import PrimitiveType
from explorer.scan.facts import Answers
from explorer.scan.possibility import may_be_true
from explorer.scan.predicate.domains import domain_of
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
)
from explorer.scan.statistics.bounds import ColumnRange, stored_range
from explorer.scan.statistics.column_statistics import StatisticsColumn

Ranges: TypeAlias = Mapping[FieldPath, ColumnRange]
_TIMES = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptByImprecision:
    """For each of some files that stay: whether it does so only because a row may be NaN
    (`nan`); because the bounds of a column may be imprecise, by that column (`imprecise`); or
    because of several of these together. `reference_skips` says where the reference takes the
    bounds as they are, NaN and cut texts included, and rules the file out."""

    nan: pa.BooleanArray
    imprecise: Mapping[FieldPath, pa.BooleanArray]
    together: pa.BooleanArray
    reference_skips: pa.BooleanArray


def find_kept_by_imprecision(
    predicate: Predicate, columns: Sequence[StatisticsColumn], answers: Answers, count: int
) -> KeptByImprecision | None:
    """What keeps `count` files that all stay; None where nothing but their values can."""
    ranges = answers.ranges
    stored: dict[FieldPath, ColumnRange] = {}
    for column in columns:
        found = stored_range(column, answers.statistics[column.path], ranges[column.path])
        if found is not None:
            stored[column.path] = found
    floats = {path for path, found in ranges.items() if found.may_be_nan}
    if not count or not (stored or floats):
        return None
    conditions = (*predicate.conjuncts, predicate.condition)

    def ruled_out(some: Ranges, asked: Sequence[Condition] = conditions) -> pa.BooleanArray:
        truths = [may_be_true(item, some, count, answers.answers) for item in asked]
        return pc.invert(reduce(pc.and_, truths, bool_column([True] * count)))

    nan = ruled_out(_without_nan(ranges))
    imprecise = {path: ruled_out({**ranges, path: exact}) for path, exact in stored.items()}
    single = reduce(pc.or_, imprecise.values(), nan)
    all_exact = _without_nan({**ranges, **stored})
    # the reference allows for times that are cut, and for nothing else
    times = {column.path for column in columns if _is_time(column)}
    theirs = {**all_exact, **{path: ranges[path] for path in times}}
    pushed = [item for item in predicate.conjuncts if _is_pushed(item)]
    return KeptByImprecision(
        nan=nan,
        imprecise=imprecise,
        together=pc.and_not(ruled_out(all_exact), single),
        reference_skips=ruled_out(theirs, pushed),
    )


def _without_nan(ranges: Ranges) -> dict[FieldPath, ColumnRange]:
    return {path: replace(found, may_be_nan=False) for path, found in ranges.items()}


def _is_time(column: StatisticsColumn) -> bool:
    kind = column.data_type
    return isinstance(kind, PrimitiveType) and kind.name in _TIMES


def _is_pushed(condition: Condition) -> bool:
    """Whether the reference skips files by such a condition: columns as they are, without a
    cast, held against literals."""
    match condition:
        case Conjunction(operands=operands) | Disjunction(operands=operands):
            return all(map(_is_pushed, operands))
        case Negation(operand=Comparison() | NullTest() as inner):
            return _is_pushed(inner)
        case (
            Comparison(left=ColumnReference() as column, right=Constant(), domain=domain)
            | Comparison(left=Constant(), right=ColumnReference() as column, domain=domain)
            | Membership(operand=column, domain=domain)
        ):
            own = domain_of(column.data_type)
            return own is not None and own.kind == domain.kind
        case LikeTest(matches=matches):
            return matches != "pattern"
        case NullTest(operand=operand):
            return isinstance(operand, ColumnReference)
        case _:
            return False
