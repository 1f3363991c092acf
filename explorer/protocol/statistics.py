"""What is known about the rows of a file without reading it (spec: Per-file Statistics).

`RunningStatistics` counts and bounds columns as the reference does: strings cut to 32
characters, times cut to milliseconds, no bounds for booleans, binary, lists and maps. Columns
go by their physical names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import CorruptLogError
from explorer.protocol.actions import FieldPath
from explorer.protocol.values.calendar_days import PER_SECOND, SECOND_US, render_day, render_moment

DEFAULT_STRING_PREFIX = 32
"""Characters of a string that its bounds keep."""

_LAST_CODE_POINT = "\U0010ffff"


class RunningStatistics:
    """The statistics of a file that is written piece by piece.

    `paths` are the physical field paths that are counted and bounded, each reached through
    structs alone; `string_prefix` is how many characters of a string its bounds keep.
    """

    def __init__(
        self, paths: Sequence[FieldPath], string_prefix: int = DEFAULT_STRING_PREFIX
    ) -> None:
        self._num_records = 0
        self._columns = {path: _Column() for path in paths}
        self._prefix = string_prefix

    @property
    def num_records(self) -> int:
        """How many rows there were."""
        return self._num_records

    def add(self, rows: pa.Table) -> None:
        """Take further rows into account; they have the same columns as those before."""
        self._num_records += rows.num_rows
        for path, column in _leaves(rows, self._columns.keys()):
            self._columns[path].add(column)

    def add_known(
        self, num_records: int, columns: Mapping[FieldPath, tuple[int, pa.ChunkedArray]]
    ) -> None:
        """Take further rows into account of which only this is known: of every column the nulls,
        and values with its type among which are the least and the greatest of it."""
        self._num_records += num_records
        for path, (null_count, values) in columns.items():
            self._columns[path].add(values)
            self._columns[path].null_count += null_count

    def render(self) -> str:
        """The JSON text for all rows."""
        lows: dict[str, Any] = {}
        highs: dict[str, Any] = {}
        nulls: dict[str, Any] = {}
        for path, column in self._columns.items():
            _put(nulls, path, column.null_count)
            if (bounds := column.bounds(self._prefix)) is not None:
                _put(lows, path, bounds[0])
                _put(highs, path, bounds[1])
        return _render(
            {
                "numRecords": self._num_records,
                "minValues": lows,
                "maxValues": highs,
                "nullCount": nulls,
                "tightBounds": True,
            }
        )


class _Column:
    """What is known of one column so far; its bounds are numbers where it has times."""

    __slots__ = ("_has_order", "_high", "_kind", "_low", "null_count")

    def __init__(self) -> None:
        self.null_count = 0
        self._kind: pa.DataType | None = None
        self._has_order = True
        self._low: Any = None
        self._high: Any = None

    def add(self, column: pa.ChunkedArray) -> None:
        if pa.types.is_date64(column.type):
            column = column.cast(pa.date32())
        kind = column.type
        self.null_count += column.null_count
        self._kind = kind
        self._has_order = self._has_order and _has_order(column)
        if not self._has_order:
            return
        if pa.types.is_temporal(kind):  # Python's own times end with the year 9999
            column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        found = pc.min_max(column).as_py()
        low, high = found["min"], found["max"]
        if low is None:
            return
        self._low = low if self._low is None else min(self._low, low)
        self._high = high if self._high is None else max(self._high, high)

    def bounds(self, prefix: int) -> tuple[Any, Any] | None:
        """Least and greatest value as JSON, None where there are none to tell."""
        low, high = self._low, self._high
        if not self._has_order or low is None or self._kind is None:
            return None
        if isinstance(low, float):
            # two zeros are one number to SQL; to readers that order them by their bits -0.0 is less
            low, high = low or -0.0, high or 0.0
            if not (math.isfinite(low) and math.isfinite(high)):
                return None
        if isinstance(low, str):
            return low[:prefix], _cut_above(high, prefix)
        return _json_value(low, self._kind), _json_value(high, self._kind)


def widen_statistics(stats: str | None, num_records: int | None = None) -> str:
    """The same statistics for the file once a deletion vector hides some of its rows.

    `numRecords` stays physical, and is filled in by `num_records` where it lacks; the bounds still
    hold but may be wide. Raises `CorruptLogError` for statistics that cannot be read, and where
    nobody says how many rows there are.
    """
    try:
        # numbers keep their digits: a decimal of 38 digits is not a float
        body = (
            {}
            if stats is None
            else json.loads(stats, parse_float=orjson.Fragment, parse_int=orjson.Fragment)
        )
    except (ValueError, RecursionError) as error:
        raise _unreadable("They are not JSON.") from error
    if isinstance(body, dict) and body.get("numRecords") is None and num_records is not None:
        body = {"numRecords": num_records} | {
            name: value for name, value in body.items() if name != "numRecords"
        }
    if not isinstance(body, dict) or body.get("numRecords") is None:
        raise _unreadable("They do not say how many rows the file has.")
    return _render(body | {"tightBounds": False})


def _render(body: dict[str, Any]) -> str:
    return orjson.dumps(body).decode()


def _unreadable(reason: str) -> CorruptLogError:
    return CorruptLogError(
        "The statistics of a file cannot be carried over.",
        reason=reason,
        remedy="Compute the statistics of this file again before deleting rows from it.",
        spec="Per-file Statistics",
    )


def _leaves(
    table: pa.Table, wanted: Collection[FieldPath]
) -> Iterator[tuple[FieldPath, pa.ChunkedArray]]:
    """Those columns of `table`, and fields inside structs, that are wanted."""
    parents = {path[:depth] for path in wanted for depth in range(1, len(path))}
    pending: list[tuple[FieldPath, pa.ChunkedArray]]
    pending = [((name,), table.column(name)) for name in table.column_names]
    while pending:
        path, column = pending.pop()
        if path in wanted:
            yield path, column
        elif path in parents:
            # flatten, unlike field access, makes a child null where its parent is
            children = zip(column.type, column.flatten(), strict=True)
            pending.extend(((*path, field.name), child) for field, child in children)


def _put(target: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *parents, leaf = path
    for parent in parents:
        target = target.setdefault(parent, {})
    target[leaf] = value


def _has_order(column: pa.ChunkedArray) -> bool:
    """Whether bounds can be told of these values."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_nested(kind) or _is_binary(kind):
        return False
    if pa.types.is_duration(kind) or pa.types.is_null(kind):
        return False
    # NaN sorts above everything, and JSON cannot say it
    return not (pa.types.is_floating(kind) and pc.any(pc.is_nan(column)).as_py())


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _cut_above(text: str, prefix: int) -> str:
    """At most about `prefix` characters, yet not below `text` in code point order."""
    if len(text) <= prefix:
        return text
    end = prefix
    while end < len(text) and text[end] == _LAST_CODE_POINT:
        end += 1
    return text if end == len(text) else text[:end] + _LAST_CODE_POINT


def _json_value(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    if pa.types.is_date(kind):
        return render_day(value)
    if pa.types.is_timestamp(kind):
        # cut, not rounded, as the reference does; readers allow for it
        microseconds = value * SECOND_US // PER_SECOND[kind.unit]
        return render_moment(microseconds, "T", 3) + ("" if kind.tz is None else "Z")
    return value
