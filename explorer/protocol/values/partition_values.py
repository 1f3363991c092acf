"""Partition values as strings, and back (spec: Partition Value Serialization).

The empty string means null for every type, strings too; the reference writes
JSON's null. `type_name` is the primitive's name in the schema: "long",
"decimal(10,2)", "timestamp" and so on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from typing import TypeAlias

from explorer.errors import CorruptLogError, InvalidArgumentError, UnsupportedError
from explorer.protocol.values.calendar_days import (
    DAY_PATTERN,
    DAY_US,
    LAST_US,
    LEAST_US,
    Day,
    Moment,
    checked_moment,
    days_of,
    parse_clock,
    parse_day,
    parse_offset,
    parse_year,
    render_moment,
)

PartitionValue: TypeAlias = str | int | float | bool | bytes | Day | Moment | Decimal | None
"""A value of the log: dates and times are numbers, in every year that the types have."""

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How a null partition value is called in a folder's name."""

# characters that Hive escapes in the names of partition folders
_HIVE_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")


def render_partition_value(value: PartitionValue | date | datetime) -> str | None:
    """The string of the log, None for null.

    Times keep their microseconds only where there are any; those with a time
    zone are written in UTC with a `Z`, as the reference does.
    """
    match value:
        case None | "":
            return None
        case bool():
            return "true" if value else "false"
        case float():
            return _render_float(value)
        case Moment() | date():
            return _render_calendar(value)
        case bytes():
            return _render_binary(value)
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def parse_partition_value(text: str | None, type_name: str) -> PartitionValue:
    """The typed value of the log's string; raises `CorruptLogError` where it is none,
    or where the type does not hold it, and `UnsupportedError` for types without a rule."""
    if text is None or text == "":
        return None
    parse = _PARSERS.get(type_name.partition("(")[0])
    if parse is None:
        raise UnsupportedError(
            f"A column of type {type_name[:60]} cannot be partitioned by.",
            reason="No revision of the specification says how its values are written in the log.",
            remedy="Leave the column out.",
            spec="Partition Value Serialization",
        )
    try:
        return parse(text, type_name)
    except (ValueError, InvalidOperation) as error:
        raise CorruptLogError(
            "A partition value is not readable.",
            reason=f"{text[:60]!r} is not a valid {type_name}.",
            remedy="Rewrite the partition with the engine that wrote it.",
            spec="Partition Value Serialization",
        ) from error


def render_partition_folder(column: str, value: str | None) -> str:
    """The folder of one partition in Hive's manner: `country=DE`, escaped as Hive does.

    It is a name in the store, not yet a URI: in the log its `%` is encoded again.
    """
    shown = HIVE_NULL if value is None or value == "" else _escape_hive(value)
    return f"{_escape_hive(column)}={shown}"


def _escape_hive(name: str) -> str:
    return _HIVE_ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", name)


def _render_float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _render_calendar(value: Moment | date) -> str:
    match value:
        case Moment(number=number, is_instant=True):
            return render_moment(number, "T", 6) + "Z"
        case datetime() if value.tzinfo is None:
            return value.isoformat(sep=" ")
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        case _:
            return str(value)


def _render_binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            "A binary partition value cannot be written.",
            reason="The log holds it as text, and these bytes are not UTF-8.",
            remedy="Partition by another column, or encode this one as hex or Base64.",
            spec="Partition Value Serialization",
        ) from error


def _parse_text(text: str, _: str) -> str:
    return text


def _parse_binary(text: str, _: str) -> bytes:
    return text.encode()


def _parse_integer(text: str, type_name: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("not an integer")
    value = int(text)
    if not -(bound := 2 ** (_BITS[type_name] - 1)) <= value < bound:
        raise ValueError("out of range")
    return value


def _parse_float(text: str, type_name: str) -> float:
    if "_" in text or not text.isascii():  # a number to Python, not to the log
        raise ValueError("not a number")
    value = float(text)
    if type_name == "float" and _MAX_FLOAT <= abs(value) < math.inf:
        raise ValueError("out of range")
    return value


def _parse_decimal(text: str, type_name: str) -> Decimal:
    found = _DECIMAL_TYPE.fullmatch(type_name)
    precision, scale = (int(found[1]), int(found[2])) if found else (10, 0)
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("not a decimal")
    value = Decimal(text)
    # beyond these bounds it does not fit, and its digits need not be written out
    if value and not -100 < value.adjusted() < 100:
        raise ValueError("out of range")
    scaled = value.scaleb(scale, _EXACT)
    unscaled = int(scaled)
    if scaled != unscaled or abs(unscaled) >= 10**precision:
        raise ValueError("does not fit")
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def _parse_boolean(text: str, _: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("neither true nor false")
    return text.lower() == "true"


def _parse_date(text: str, _: str) -> Day:
    return parse_day(text)


def _parse_timestamp(text: str, type_name: str) -> Moment:
    # without a zone the log means the writer's, which nobody recorded: UTC as the reference
    clock, offset = _parse_time(text)
    return _held(clock - offset, type_name, is_instant=True)


def _parse_local_timestamp(text: str, type_name: str) -> Moment:
    clock, _ = _parse_time(text)
    return _held(clock, type_name, is_instant=False)


def _held(microseconds: int, type_name: str, *, is_instant: bool) -> Moment:
    """The time, where a column of the type can hold it."""
    per_unit = 1000 if type_name.startswith("timestamp_nanos") else 1
    if not LEAST_US <= microseconds * per_unit <= LAST_US:
        raise ValueError("beyond what the type holds")
    return checked_moment(microseconds, is_instant=is_instant)


def _parse_time(text: str) -> tuple[int, int]:
    """The microseconds of a clock on the wall since 1970, and those that it is before UTC."""
    # a column of dates may have become one of timestamps: its old values have no time
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a timestamp")
    year, month, day, clock, zone = found.groups()
    days = days_of(parse_year(year), int(month), int(day))
    time = 0 if clock is None else parse_clock(clock)
    return days * DAY_US + time, 0 if zone is None else parse_offset(zone)


_INTEGER = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,4})?", re.ASCII)
_DECIMAL_TYPE = re.compile(r"decimal\((\d+),(\d+)\)")
_TIME = re.compile(
    DAY_PATTERN + r"(?:[ T](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(Z|[+-]\d{2}:\d{2}(?::\d{2})?)?)?",
    re.ASCII,
)
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_EXACT = Context(prec=300)
_MAX_FLOAT = 3.4028235677973366e38  # from here on, rounding to 32 bits reaches infinity

_PARSERS: dict[str, Callable[[str, str], PartitionValue]] = {
    "string": _parse_text,
    "long": _parse_integer,
    "integer": _parse_integer,
    "short": _parse_integer,
    "byte": _parse_integer,
    "float": _parse_float,
    "double": _parse_float,
    "decimal": _parse_decimal,
    "boolean": _parse_boolean,
    "date": _parse_date,
    "timestamp": _parse_timestamp,
    "timestamp_ntz": _parse_local_timestamp,
    "timestamp_nanos": _parse_timestamp,
    "timestamp_nanos_ntz": _parse_local_timestamp,
    "binary": _parse_binary,
}
