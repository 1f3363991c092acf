"""Columns of dates and times as texts and back, in every year (spec: Per-file Statistics).

Arrow's own casts know the years 0 to 9999: beyond them they write no sign, other years, or that
the value is out of range, and they read none. There each value goes by way of
`explorer.protocol.values.calendar_days`, which takes far longer and is rare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import int64_column, int64_scalar, string_column, string_scalar
from explorer.protocol.values.calendar_days import (
    DAY_US,
    LEAST_US,
    PER_SECOND,
    SECOND_US,
    checked_moment,
    days_of,
    parse_clock,
    parse_day,
    parse_offset,
    parse_year,
    render_day,
    render_moment,
)

_FRACTION: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_MILLISECOND_US: Final = 1_000
_DAY_SECONDS: Final = 86_400
_FIRST_DAY, _END_DAY = days_of(0, 1, 1), days_of(10_000, 1, 1)
# a scalar by way of an array: a plain value would make pyarrow import pandas
_NO_TEXT = string_scalar(None)

_DAY: Final = r"(?P<year>[+-]?[0-9]{4,9})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_CLOCK: Final = r"[T ](?P<clock>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
_ZONE: Final = r"(?P<zone>[zZ]|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)"
_TIME: Final = rf"^{_DAY}(?:{_CLOCK}{_ZONE}?)?$"


def render_values(values: pa.Array) -> pa.Array:
    """Values of any type as Arrow casts them to strings, dates and times by `render_calendar`."""
    kind = values.type
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return render_calendar(values)
    return pc.cast(values, pa.string())


def render_calendar(values: pa.Array) -> pa.Array:
    """Dates, or times with all digits of their unit and a `Z` where they have a zone, as Arrow
    casts them to strings, in every year; null stays null."""
    kind = values.type
    is_date = pa.types.is_date32(kind)
    per_day = 1 if is_date else _DAY_SECONDS * PER_SECOND[kind.unit]
    numbers = pc.cast(pc.cast(values, pa.int32() if is_date else pa.int64()), pa.int64())
    first, end = (int64_scalar(day * per_day) for day in (_FIRST_DAY, _END_DAY))
    beyond = pc.or_(pc.less(numbers, first), pc.greater_equal(numbers, end))
    if not pc.any(beyond).as_py():
        return pc.cast(values, pa.string())
    render = render_day if is_date else _time_renderer(kind)
    odd = pc.fill_null(beyond, False).to_pylist()  # noqa: FBT003  # a value
    texts = [
        render(number) if is_odd else None
        for number, is_odd in zip(numbers.to_pylist(), odd, strict=True)
    ]
    usual = pc.if_else(beyond, pa.nulls(1, kind)[0], values)
    return pc.coalesce(string_column(texts), pc.cast(usual, pa.string()))


def plain_times(texts: pa.Array) -> pa.Array:
    """What `render_calendar` makes of times, as people read them, see
    `explorer.protocol.values.utc_times`: each with the digits that it needs, in threes."""
    for pattern, plain in ((r"\.000000", ""), (r"(\.[0-9]{3})000", r"\1"), ("Z$", " UTC")):
        texts = pc.replace_substring_regex(texts, pattern, plain)
    return texts


def _time_renderer(kind: pa.DataType) -> Callable[[int], str]:
    zone, digits, per_second = "Z" if kind.tz else "", _FRACTION[kind.unit], PER_SECOND[kind.unit]

    def render(number: int) -> str:
        seconds, fraction = divmod(number, per_second)
        tail = f".{fraction:0{digits}}" if digits else ""
        return f"{render_moment(seconds * SECOND_US)}{tail}{zone}"

    return render


def parse_calendar(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Dates, or times in microseconds, of texts one by one, each null that is none: with years
    of more than four digits, and offsets with seconds. What follows a second is cut to
    microseconds; without a zone a time is in UTC, and a `Z` behind a time on the wall, as some
    writers have it, is passed over."""
    parts = pc.extract_regex(texts, _TIME)
    found = [None if part is None else _number(part, kind) for part in parts.to_pylist()]
    numbers = int64_column(found)
    whole = pc.cast(numbers, pa.int32()) if pa.types.is_date(kind) else numbers
    return pc.cast(whole, kind)


def _number(part: dict[str, Any], kind: pa.DataType) -> int | None:
    year, month, day, clock, zone = (
        part[name] for name in ("year", "month", "day", "clock", "zone")
    )
    try:
        if pa.types.is_date(kind):
            return None if clock else parse_day(f"{year}-{month}-{day}").number
        days = days_of(parse_year(year), int(month), int(day))
        if not clock:
            return None if kind.tz else _least_cut(days * DAY_US)
        if zone and not kind.tz and zone not in "zZ":
            return None
        before = parse_offset(zone) if zone and kind.tz else 0
        time = parse_clock(_cut(clock))
        return _least_cut(days * DAY_US + time - before)
    except ValueError:
        return None


def _least_cut(microseconds: int) -> int:
    """The number; the first time that there is, cut to milliseconds, is before it."""
    if LEAST_US - _MILLISECOND_US < microseconds < LEAST_US:
        return LEAST_US
    return checked_moment(microseconds, is_instant=False).number


def _cut(clock: str) -> str:
    whole, _, fraction = clock.partition(".")
    return f"{whole}.{fraction[:6]}" if fraction else whole
