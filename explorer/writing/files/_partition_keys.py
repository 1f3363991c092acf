"""Rows told apart by their partition values (spec: Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.values.calendar_days import Day, Moment
from explorer.protocol.values.partition_values import render_partition_value

PartitionKey: TypeAlias = tuple[str | None, ...]
"""The values of the partition columns as the log has them, in the order of the metadata."""


def split_by_partition(
    rows: pa.RecordBatch, columns: Sequence[str]
) -> Iterator[tuple[PartitionKey, pa.RecordBatch]]:
    """The rows of each partition, in the order in which they came.

    Rows whose values are written alike are of one partition: an empty string is a null.
    Raises `InvalidArgumentError` for binary values that no text can hold.
    """
    if not columns:
        yield (), rows
        return
    if not rows.num_rows:
        return
    codes = np.zeros(rows.num_rows, np.int64)
    for name in columns:
        found, count = _codes_of(rows.column(name))
        # as small as may be, so that the next column has room
        _, codes = np.unique(codes * count + found, return_inverse=True)
    firsts = np.unique(codes, return_index=True)[1]
    keys = [tuple(_rendered(rows.column(name)[at]) for name in columns) for at in firsts.tolist()]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(numbers) == 1:
        yield keys[0], rows
        return
    codes = np.array([numbers[key] for key in keys])[codes]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(numbers))).tolist()
    sorted_rows = rows.take(pa.array(order))
    start = 0
    for key, end in zip(numbers, ends, strict=True):
        yield key, sorted_rows.slice(start, end - start)
        start = end


def _codes_of(values: pa.Array) -> tuple[np.ndarray[Any, Any], int]:
    """A number for each distinct value, and how many there are."""
    encoded = values.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False), max(1, len(encoded.dictionary))


def _rendered(value: pa.Scalar) -> str | None:
    """One value as the log has it."""
    if not value.is_valid:
        return None
    kind = value.type
    if pa.types.is_float32(kind):  # as few digits as tell it from its neighbours
        return render_partition_value(float(str(np.float32(value.as_py()))))
    # Python's own times end with the year 9999
    if pa.types.is_date32(kind):
        return render_partition_value(Day(value.cast(pa.int32()).as_py()))
    if pa.types.is_timestamp(kind):
        number = pc.cast(value, pa.int64()).as_py()
        return render_partition_value(Moment(number, is_instant=kind.tz is not None))
    return render_partition_value(value.as_py())
