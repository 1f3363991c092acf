"""Columns whose values the log holds, one value for a whole file
(spec: Partition Value Serialization)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Context, Decimal

import pyarrow as pa

from explorer.log.actions.columns import string_scalar
from explorer.protocol.schema import StructField, render_type
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.protocol.values.partition_values import PartitionValue, parse_partition_value

_EXACT = Context(prec=80)  # the default one rounds to 28 digits
_SIZES = {8: "<b", 16: "<h", 32: "<i", 64: "<q"}


def partition_scalar(text: str | None, item: StructField, target: pa.DataType) -> pa.Scalar:
    """The value of a partition column as a scalar of type `target`.

    Null and the empty string are null. Raises `CorruptLogError` where the text
    is not a value of the column's type.
    """
    value = parse_partition_value(text, render_type(item.data_type))
    if value is None:
        return pa.nulls(1, target)[0]
    if isinstance(value, str):
        return string_scalar(value)
    # by way of bytes: `pyarrow.array(list)` would import pandas
    data = _stored_bytes(value, target)
    buffers = [None, pa.py_buffer(data)]
    if isinstance(value, bytes):
        buffers.insert(1, pa.py_buffer(struct.pack("<ii", 0, len(value))))
    return pa.Array.from_buffers(target, 1, buffers)[0]


def constant_column(value: pa.Scalar, count: int) -> pa.Array:
    """`count` times the same value."""
    return pa.repeat(value, count) if value.is_valid else pa.nulls(count, value.type)


def joined_scalars(values: Sequence[pa.Scalar], kind: pa.DataType) -> pa.Array:
    """A column of scalars; by way of Python their times would end with the year 9999."""
    pieces = [constant_column(value, 1) for value in values]
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, kind)


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
        case Moment(number=number):
            return struct.pack("<q", number * (1000 if target.unit == "ns" else 1))
        case Day(number=number):
            return struct.pack("<i", number)
        case _:
            return struct.pack(_SIZES[target.bit_width], value)
