"""Values of rows as Python's, also where Python has none for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_scalar
from explorer.protocol.actions import EPOCH
from explorer.protocol.values.calendar_days import PER_SECOND, Day, Moment, days_of

_DAY_SECONDS: Final = 86_400
_FIRST_DAY, _END_DAY = days_of(1, 1, 1), days_of(10_000, 1, 1)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column as `to_pylist` has it, but a `Day` or a `Moment` for each date or time beyond
    the years 1 to 9999, for which pyarrow raises."""
    kind = column.type
    if pa.types.is_date32(kind):
        return _calendar(column, pc.cast(pc.cast(column, pa.int32()), pa.int64()), 1)
    if pa.types.is_timestamp(kind):
        numbers = pc.cast(column, pa.int64())
        return _calendar(column, numbers, _DAY_SECONDS * PER_SECOND[kind.unit])
    found: list[Any] = column.to_pylist()
    return found


def plain_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column as `to_pylist` has it, with a whole number of its unit for each date, time and
    duration, nested ones too: pyarrow raises for those beyond Python's years."""
    found: list[Any] = column.cast(_as_numbers(column.type)).to_pylist()
    return found


def _as_numbers(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_timestamp(kind) or types.is_duration(kind):
        return pa.int64()
    if types.is_date32(kind):
        return pa.int32()
    if types.is_struct(kind):
        return pa.struct([item.with_type(_as_numbers(item.type)) for item in kind])
    if types.is_map(kind):
        key, value = kind.key_field, kind.item_field
        return pa.map_(
            key.with_type(_as_numbers(key.type)), value.with_type(_as_numbers(value.type))
        )
    if types.is_list(kind):
        item = kind.value_field
        return pa.list_(item.with_type(_as_numbers(item.type)))
    return kind


def ordinal_of(value: Any) -> Any:
    """What dates and times of either class are ordered by: days or microseconds since 1970;
    other values are themselves."""
    match value:
        case Day(number=number) | Moment(number=number):
            return number
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (aware - EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - EPOCH.date()).days
        case _:
            return value


def _calendar(column: Any, numbers: Any, per_day: int) -> list[Any]:
    first, end = (int64_scalar(day * per_day) for day in (_FIRST_DAY, _END_DAY))
    beyond = pc.or_(pc.less(numbers, first), pc.greater_equal(numbers, end))
    usual = pc.if_else(beyond, pa.nulls(1, column.type)[0], column)
    found: list[Any] = usual.to_pylist()
    if not pc.any(beyond).as_py():
        return found
    wide = pc.if_else(beyond, numbers, pa.nulls(1, pa.int64())[0]).to_pylist()
    make = _maker(column.type)
    pairs = zip(found, wide, strict=True)
    return [value if number is None else make(number) for value, number in pairs]


def _maker(kind: pa.DataType) -> Callable[[int], Day | Moment]:
    if pa.types.is_date32(kind):
        return Day
    is_instant, per_second = kind.tz is not None, PER_SECOND[kind.unit]
    return lambda number: Moment(number * PER_SECOND["us"] // per_second, is_instant)
