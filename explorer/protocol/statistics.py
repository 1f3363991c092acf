"""What is known about the rows of a file without reading it (spec: Per-file Statistics).

`build_statistics` counts and bounds the columns of an Arrow table as the
reference does: the first 32 leaves, strings cut to 32 characters, times cut
to milliseconds, no bounds for booleans, binary, lists and maps. Columns go by
their physical names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError

DEFAULT_INDEXED_COLUMNS = 32
"""`delta.dataSkippingNumIndexedCols` where the table does not say."""

_STRING_PREFIX = 32
_LAST_CODE_POINT = "\U0010ffff"


def build_statistics(table: pa.Table, indexed_columns: int = DEFAULT_INDEXED_COLUMNS) -> str:
    """The JSON text for a file that holds exactly `table`; -1 indexes every column."""
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for number, (path, column) in enumerate(_leaves(table)):
        if number == indexed_columns:
            break
        _put(nulls, path, column.null_count)
        if (bounds := _bounds(column)) is not None:
            _put(lows, path, bounds[0])
            _put(highs, path, bounds[1])
    return _render(
        {
            "numRecords": table.num_rows,
            "minValues": lows,
            "maxValues": highs,
            "nullCount": nulls,
            "tightBounds": True,
        }
    )


def widen_statistics(stats: str) -> str:
    """The same statistics for the file once a deletion vector hides some of its rows.

    `numRecords` stays physical; the bounds still hold but may be wide.
    """
    try:
        # numbers keep their digits: a decimal of 38 digits is no float
        body = json.loads(stats, parse_float=orjson.Fragment, parse_int=orjson.Fragment)
    except (ValueError, RecursionError) as error:
        raise _unreadable("They are not JSON.") from error
    if not isinstance(body, dict) or "numRecords" not in body:
        raise _unreadable("They do not say how many rows the file has.")
    return _render(body | {"tightBounds": False})


def _render(body: dict[str, Any]) -> str:
    return orjson.dumps(body).decode()


def _unreadable(reason: str) -> CorruptLogError:
    return CorruptLogError(
        "The statistics of a file cannot be carried over.",
        reason=reason,
        remedy="Compute the statistics of this file anew before deleting rows from it.",
        spec="Per-file Statistics",
    )


def _leaves(table: pa.Table) -> Iterator[tuple[tuple[str, ...], pa.ChunkedArray]]:
    """The columns of `table` in the order of the schema, structs taken apart."""
    pending: list[tuple[tuple[str, ...], pa.ChunkedArray]]
    pending = [((name,), table.column(name)) for name in reversed(table.column_names)]
    while pending:
        path, column = pending.pop()
        if pa.types.is_struct(column.type):
            # flatten, unlike field access, makes a child null where its parent is
            children = zip(column.type, column.flatten(), strict=True)
            pending.extend(reversed([((*path, field.name), child) for field, child in children]))
        elif not pa.types.is_null(column.type):
            yield path, column


def _put(target: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *parents, leaf = path
    for parent in parents:
        target = target.setdefault(parent, {})
    target[leaf] = value


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """Least and greatest value as JSON, None where there are none to tell."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_nested(kind) or _is_binary(kind):
        return None
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(column)).as_py():
        return None  # NaN sorts above everything, and JSON cannot say it
    if pa.types.is_timestamp(kind):  # Python's times have no nanoseconds
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    found = pc.min_max(column).as_py()
    low, high = found["min"], found["max"]
    if low is None or (isinstance(low, float) and not math.isfinite(low + high)):
        return None
    if isinstance(low, str):
        return low[:_STRING_PREFIX], _cut_above(high)
    return _json_value(low), _json_value(high)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _cut_above(text: str) -> str:
    """At most about 32 characters, yet not below `text` in code point order."""
    if len(text) <= _STRING_PREFIX:
        return text
    end = _STRING_PREFIX
    while end < len(text) and text[end] == _LAST_CODE_POINT:
        end += 1
    return text if end == len(text) else text[:end] + _LAST_CODE_POINT


def _json_value(value: Any) -> Any:
    match value:
        case Decimal():
            return orjson.Fragment(format(value, "f"))
        case datetime():
            # cut, not rounded, as the reference does; readers allow for it
            if value.tzinfo is None:
                return value.isoformat(timespec="milliseconds")
            utc = value.astimezone(UTC).replace(tzinfo=None)
            return utc.isoformat(timespec="milliseconds") + "Z"
        case date():
            return value.isoformat()
        case _:
            return value
