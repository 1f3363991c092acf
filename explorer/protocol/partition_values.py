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

from explorer.errors import CorruptLogError, InvalidArgumentError, UnsupportedError

PartitionValue = str | int | float | bool | bytes | date | datetime | Decimal | None

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""How a null partition value is called in a folder's name."""

# characters that Hive escapes in the names of partition folders
_HIVE_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")


def render_partition_value(value: PartitionValue) -> str | None:
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
        case datetime():
            return _render_time(value)
        case bytes():
            return _render_binary(value)
        case Decimal():
            return format(value, "f")
        case _:
            return value.isoformat() if isinstance(value, date) else str(value)


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
            reason=f"{text[:60]!r} is no {type_name}.",
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


def _render_time(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(sep=" ")
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _render_binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            "A binary partition value cannot be written.",
            reason="The log holds it as text, and these bytes are no UTF-8.",
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


def _parse_date(text: str, _: str) -> date:
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError("not a date")
    return date(int(found[1]), int(found[2]), int(found[3]))


def _parse_timestamp(text: str, _: str) -> datetime:
    # without a zone the log means the writer's, which nobody recorded: UTC as the reference
    parsed = _parse_time(text)
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def _parse_local_timestamp(text: str, _: str) -> datetime:
    return _parse_time(text).replace(tzinfo=None)


def _parse_time(text: str) -> datetime:
    # a column of dates may have become one of timestamps: its old values have no time
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a timestamp")
    day, clock, fraction, zone = found.groups()
    if fraction is not None and fraction[6:].strip("0"):
        raise ValueError("finer than microseconds")
    text = day if clock is None else f"{day}T{clock}.{(fraction or '0')[:6]:0<6}{zone or ''}"
    return datetime.fromisoformat(text)


_INTEGER = re.compile(r"[+-]?\d{1,20}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,4})?", re.ASCII)
_DECIMAL_TYPE = re.compile(r"decimal\((\d+),(\d+)\)")
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})?)?",
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
