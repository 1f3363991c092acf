"""Arrow rows as Python values that can be shown."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from widgets.text import read_moment


def read_records(frame: pa.Table) -> list[dict[str, Any]]:
    """The rows of a small frame.

    Times become aware datetimes, or None where they lie outside of what a calendar
    holds: Arrow's own conversion raises there, and a log may hold any number.
    """
    columns = {name: _read_column(frame[name]) for name in frame.column_names}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def _read_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        milliseconds = column.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
        return [read_moment(value) for value in milliseconds.to_pylist()]
    return list(column.to_pylist())
