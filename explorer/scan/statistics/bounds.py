"""From statistics and partition values to ranges that surely hold every value.

What is stored may be less than a bound (spec: Per-file Statistics): strings are
cut, timestamps are cut to milliseconds, NaN may be left out, some writers round
decimals to doubles, old ones tell days by the old calendar. Each is widened here,
and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column, int64_column, int64_scalar
from explorer.log.plain_arrays import FALSE, ZERO, build_array, read_values
from explorer.protocol.schema import VOID
from explorer.protocol.values.calendar_days import LAST_US
from explorer.scan.predicate.domains import Domain, comparable_constant, is_float
from explorer.scan.statistics.column_statistics import ColumnFacts, StatisticsColumn

# the marks that writers put behind a cut maximum
_TIE_BREAKERS: Final = "\x7f\ufffd\U0010ffff"
_BINARY: Final = Domain(kind="binary")
# sorts after every continuation of a text: no UTF-8 has it
_AFTER_ANY_TEXT: Final = b"\xff"

# the old calendar and ours differ by up to twelve days before this day
_CALENDAR_DAY: Final = -141_427  # 15 October 1582
_CALENDAR_SHIFT: Final = 12
_DAY_US: Final = 86_400_000_000
# zones had odd seconds before, which the text of an offset leaves out
_ODD_ZONES_END: Final = 315_532_800_000_000  # 1980
_MINUTE_US: Final = 60_000_000
_MILLISECOND_US: Final = 1_000

# from 16 digits on a double has not all of them
_EXACT_DIGITS: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRange:
    """Where the values of one column lie in some files.

    Every value that is not null lies between `lower` and `upper` (null where
    unknown), except NaN where `may_be_nan`. `may_hold` says which files may
    have a value, `may_be_null` which may have a null.
    """

    lower: pa.Array
    upper: pa.Array
    may_hold: pa.Array
    may_be_null: pa.Array
    may_be_nan: bool
    values: pa.Array | None = None
    """The value that all rows of a file have, as a partition has it; null where it is null, and
    where nothing is known of the file: then `may_hold` and `may_be_null` both say so."""


def range_of_statistics(
    column: StatisticsColumn, facts: ColumnFacts, num_records: pa.Array
) -> ColumnRange:
    """The range that statistics promise, wide bounds and tight ones alike: a count of
    nulls is used only where it is 0 or all rows, which holds for both."""
    nulls = facts.null_count
    no_null = pc.coalesce(pc.equal(nulls, ZERO), FALSE)
    all_null = pc.coalesce(pc.equal(nulls, num_records), FALSE)
    if column.data_type == VOID:
        all_null = bool_column([True] * len(nulls))
        no_null = pc.invert(all_null)
    try:
        lower, upper = _widened(column, facts.minimum, facts.maximum)
    except pa.ArrowInvalid:  # a decimal beyond what its type can hold: nothing is known
        lower = upper = pa.nulls(len(nulls), facts.minimum.type)
    return ColumnRange(
        lower=lower,
        upper=upper,
        may_hold=pc.invert(all_null),
        may_be_null=pc.invert(no_null),
        # a maximum may leave NaN out, which is greater than every number
        may_be_nan=is_float(column.data_type),
    )


def stored_range(
    column: StatisticsColumn, facts: ColumnFacts, widened: ColumnRange
) -> ColumnRange | None:
    """The range `widened` with the bounds as they are stored; None where they are the same."""
    lower, upper = facts.minimum, facts.maximum
    if column.bound_type is not None and pa.types.is_string(column.bound_type):
        lower, upper = pc.cast(lower, pa.binary()), pc.cast(upper, pa.binary())
    if lower.equals(widened.lower) and upper.equals(widened.upper):
        return None
    return replace(widened, lower=lower, upper=upper)


def range_of_values(values: pa.Array, unreadable: pa.Array) -> ColumnRange:
    """The range of a column with one value for a whole file, as a partition has it;
    `unreadable` marks files of which nothing is known."""
    return ColumnRange(
        lower=values,
        upper=values,
        may_hold=pc.or_(values.is_valid(), unreadable),
        may_be_null=pc.or_(values.is_null(), unreadable),
        may_be_nan=False,
        values=values,
    )


def _widened(
    column: StatisticsColumn, minimum: pa.Array, maximum: pa.Array
) -> tuple[pa.Array, pa.Array]:
    kind = column.bound_type
    if kind is None:
        return minimum, maximum
    if pa.types.is_string(kind):
        return pc.cast(minimum, pa.binary()), _above_cut(maximum)
    if pa.types.is_date(kind):
        return _by_either_calendar(minimum, maximum, 1)
    if pa.types.is_timestamp(kind):
        return _times(minimum, maximum)
    if pa.types.is_decimal(kind) and kind.precision > _EXACT_DIGITS:
        return _rounded(minimum, maximum)
    if column.was_float and pa.types.is_float64(kind):
        return _narrow(minimum, -np.inf), _narrow(maximum, np.inf)
    return minimum, maximum


def _above_cut(maximum: pa.Array) -> pa.Array:
    """Not below any text that begins as the maximum does."""
    plain = pc.cast(pc.utf8_rtrim(maximum, characters=_TIE_BREAKERS), pa.binary())
    above, nothing = (comparable_constant(data, _BINARY) for data in (_AFTER_ANY_TEXT, b""))
    return pc.binary_join_element_wise(plain, above, nothing)


def _by_either_calendar(
    minimum: pa.Array, maximum: pa.Array, units_a_day: int
) -> tuple[pa.Array, pa.Array]:
    kind = minimum.type
    whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
    most = 2 ** (whole.bit_width - 1) - 1
    sides = []
    for side, direction in ((minimum, -1), (maximum, 1)):
        numbers = pc.cast(pc.cast(side, whole), pa.int64())
        moved = _moved(
            numbers, _CALENDAR_DAY * units_a_day, direction * _CALENDAR_SHIFT * units_a_day, most
        )
        sides.append(pc.cast(pc.cast(moved, whole), kind))
    return sides[0], sides[1]


def _times(minimum: pa.Array, maximum: pa.Array) -> tuple[pa.Array, pa.Array]:
    kind = minimum.type
    minimum, maximum = _by_either_calendar(minimum, maximum, _DAY_US)
    low, high = (pc.cast(side, pa.int64()) for side in (minimum, maximum))
    if kind.tz is not None:
        low = _moved(low, _ODD_ZONES_END, -_MINUTE_US)
        high = _moved(high, _ODD_ZONES_END, _MINUTE_US)
    high = _plus(high, _MILLISECOND_US)
    return pc.cast(low, kind), pc.cast(high, kind)


def _moved(numbers: pa.Array, before: int, by: int, most: int = LAST_US) -> pa.Array:
    """The numbers, those below `before` moved."""
    early = pc.less(numbers, int64_scalar(before))
    if not pc.any(early).as_py():
        return numbers
    return pc.if_else(early, _plus(numbers, by, most), numbers)


def _plus(numbers: pa.Array, by: int, most: int = LAST_US) -> pa.Array:
    """The sum, no further than the last number that there is: no value lies beyond it."""
    limit, step = (int64_column([most - by if by > 0 else -most - 1 - by, by])[at] for at in (0, 1))
    clip = pc.min_element_wise if by > 0 else pc.max_element_wise
    return pc.add(clip(numbers, limit, skip_nulls=False), step)


def _rounded(minimum: pa.Array, maximum: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Decimals that some writers take from a double: wrong from the 16th digit on."""
    precision, scale = minimum.type.precision, minimum.type.scale
    wide = pa.decimal256(precision, scale)
    sides = []
    for side, add in ((minimum, pc.subtract), (maximum, pc.add)):
        size = pc.abs(pc.cast(side, pa.float64()))
        exact = pc.less(size, _number(10.0 ** (_EXACT_DIGITS - scale)))
        error = pc.if_else(exact, _number(0.0), pc.multiply(size, _number(4e-16)))
        # as many units as its size may be off, and one for the cut of the cast
        units = pc.cast(error, wide, safe=False)
        one = pc.if_else(exact, _number(0.0), _number(10.0**-scale))
        sides.append(add(add(pc.cast(side, wide), units), pc.cast(one, wide, safe=False)))
    return sides[0], sides[1]


def _narrow(values: pa.Array, towards: float) -> pa.Array:
    """Beyond the float whose digits a double was written with."""
    plain = pc.fill_null(values, _number(0.0))
    numbers = read_values(plain)
    with np.errstate(over="ignore"):
        near = np.nextafter(numbers.astype(np.float32), np.float32(towards)).astype(np.float64)
    keep = np.minimum(near, numbers) if towards < 0 else np.maximum(near, numbers)
    found = build_array(keep)
    return pc.if_else(values.is_valid(), found, pa.nulls(len(keep), pa.float64()))


def _number(value: float) -> pa.Scalar:
    return build_array(np.array([value]))[0]
