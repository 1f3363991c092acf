"""Rows as plain values that can be compared and counted, whoever read them."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def counted_rows(rows: pa.Table, columns: list[str] | None = None) -> Counter[Any]:
    """How often each row occurs. NaN equals itself, times are microseconds, and the
    order of rows, of a struct's fields and of a map's entries means nothing."""
    names = rows.column_names if columns is None else columns
    values = [map(plain_value, rows.column(name).to_pylist()) for name in names]
    return Counter(zip(*values, strict=True))


def plain_value(value: Any) -> Any:
    """A value of Arrow's `to_pylist` that can be hashed."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return (aware - _EPOCH) // timedelta(microseconds=1)
        case dict():
            return tuple(sorted((name, plain_value(inner)) for name, inner in value.items()))
        case [tuple(), *_]:  # the entries of a map
            return tuple(sorted((plain_value(pair) for pair in value), key=repr))
        case list() | tuple():
            return tuple(plain_value(inner) for inner in value)
        case _:
            return value


def column_figures(column: pa.ChunkedArray) -> dict[str, Any]:
    """The figures that the manifest has for a column of this type."""
    figures: dict[str, Any] = {"null_count": column.null_count}
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        figures["true_count"] = pc.sum(column, min_count=0).as_py() if len(column) else None
    elif types.is_binary(kind):
        figures["total_bytes"] = pc.sum(pc.binary_length(column)).as_py()
    elif types.is_floating(kind):
        is_nan = pc.is_nan(column)
        figures["nan_count"] = pc.sum(is_nan).as_py()
        numbers = column.filter(pc.invert(is_nan)).cast(pa.float64())
        figures |= pc.min_max(numbers).as_py() | {"sum": pc.sum(numbers).as_py()}
    elif types.is_integer(kind) or types.is_decimal(kind):
        scale = kind.scale if types.is_decimal(kind) else 0
        total = pc.sum(column.cast(pa.decimal256(76, scale))).as_py()
        figures |= {name: _shown(value) for name, value in pc.min_max(column).items()}
        figures["sum"] = total if total is None or types.is_decimal(kind) else int(total)
        figures["sum"] = _shown(figures["sum"])
    elif types.is_timestamp(kind) or types.is_date(kind) or types.is_string(kind):
        figures |= {name: _shown(value) for name, value in pc.min_max(column).items()}
    return figures


def _shown(value: Any) -> Any:
    """A figure as the manifest writes it."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    match value:
        case Decimal():
            return format(value, "f")
        case datetime():
            return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case _:
            return value
