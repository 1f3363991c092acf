"""Columns whose values the log holds, one value for a whole file
(spec: Partition Value Serialization)."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal

import pyarrow as pa

from explorer.log.actions.columns import string_column
from explorer.protocol.partition_values import PartitionValue, parse_partition_value
from explorer.protocol.schema import StructField, render_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=80)  # the default one rounds to 28 digits
_SIZES = {8: "<b", 16: "<h", 32: "<i", 64: "<q"}


def partition_scalar(text: str | None, item: StructField, target: pa.DataType) -> pa.Scalar:
    """The value of a partition column as a scalar of type `target`.

    Null and the empty string are null. Raises `CorruptLogError` where the text
    is no value of the column's type.
    """
    value = parse_partition_value(text, render_type(item.data_type))
    if value is None:
        return pa.nulls(1, target)[0]
    if isinstance(value, str):
        return string_column([value])[0]
    # by way of bytes: `pyarrow.array(list)` would import pandas
    data = _stored_bytes(value, target)
    buffers = [None, pa.py_buffer(data)]
    if isinstance(value, bytes):
        buffers.insert(1, pa.py_buffer(struct.pack("<ii", 0, len(value))))
    return pa.Array.from_buffers(target, 1, buffers)[0]


def constant_column(value: pa.Scalar, count: int) -> pa.Array:
    """`count` times the same value."""
    return pa.repeat(value, count) if value.is_valid else pa.nulls(count, value.type)


def _stored_bytes(value: PartitionValue, target: pa.DataType) -> bytes:
    """The value as Arrow stores it."""
    match value:
        case bytes():
            return value
        case bool():
            return bytes([value])
        case float():
            return struct.pack("<f" if target == pa.float32() else "<d", value)
        case Decimal():
            return int(value.scaleb(target.scale, _EXACT)).to_bytes(16, "little", signed=True)
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            count = (aware - _EPOCH) // timedelta(microseconds=1)
            return struct.pack("<q", count * (1000 if target.unit == "ns" else 1))
        case date():
            return struct.pack("<i", (value - _EPOCH.date()).days)
        case _:
            return struct.pack(_SIZES[target.bit_width], value)
