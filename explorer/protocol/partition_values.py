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
from decimal import Decimal, InvalidOperation

from explorer.errors import CorruptLogError, InvalidArgumentError

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
    """The typed value of the log's string; raises `CorruptLogError` where it is none."""
    if text is None or text == "":
        return None
    family = type_name.partition("(")[0]
    parse = _PARSERS.get(family)
    if parse is None:
        return text
    try:
        return parse(text)
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


def _parse_integer(text: str) -> int:
    if "_" in text:  # an integer to Python, not to the log
        raise ValueError("not an integer")
    return int(text)


def _parse_boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("neither true nor false")
    return text.lower() == "true"


def _parse_timestamp(text: str) -> datetime:
    # without a zone the log means the writer's, which nobody recorded: UTC as the reference
    parsed = datetime.fromisoformat(text)
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


_PARSERS: dict[str, Callable[[str], PartitionValue]] = {
    "long": _parse_integer,
    "integer": _parse_integer,
    "short": _parse_integer,
    "byte": _parse_integer,
    "float": float,
    "double": float,
    "decimal": Decimal,
    "boolean": _parse_boolean,
    "date": date.fromisoformat,
    "timestamp": _parse_timestamp,
    "timestamp_ntz": datetime.fromisoformat,
    "binary": str.encode,
}
