"""Rows of a frame as plain values, for JSON documents and for listings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 10_000
"""Rows that are Python objects at once, where whoever takes them does not keep them."""


def plain_rows(frame: pa.Table, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """The first `limit` rows, all of them where it is None: times as aware datetimes, a map as a
    dict."""
    names = frame.schema.names
    shown = frame if limit is None else frame.slice(0, limit)
    for batch in shown.to_batches(max_chunksize=_BATCH_ROWS):
        columns = [_plain_column(column) for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _plain_column(column: pa.Array) -> list[Any]:
    # not at the top: loading pyarrow takes longest, and `--help` does without
    from pyarrow.types import is_map, is_timestamp  # noqa: PLC0415

    from explorer.table.times import utc_time  # noqa: PLC0415  # which loads the log's modules

    if is_timestamp(column.type):
        # by way of numbers: pyarrow would import pandas to make a datetime
        numbers = column.cast("int64").to_pylist()
        return [None if number is None else utc_time(number) for number in numbers]
    values: list[Any] = column.to_pylist()
    if is_map(column.type):
        return [None if pairs is None else dict(pairs) for pairs in values]
    return values
