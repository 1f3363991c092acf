"""Values of partitions as columns of Arrow (spec: Partition Value Serialization)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import int32_column, int64_column, string_column
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.protocol.values.partition_values import PartitionValue


def partition_array(values: Sequence[PartitionValue], kind: pa.DataType) -> pa.Array:
    """Values of one type, as `parse_partition_value` gives them, as a column of `kind`."""
    # the common types without `pyarrow.array`, which would import pandas
    if pa.types.is_string(kind):
        return string_column(values)
    if pa.types.is_integer(kind):
        return pc.cast(int64_column(values), kind)
    if pa.types.is_date32(kind):
        return pc.cast(int32_column([_number(value) for value in values]), kind)
    if pa.types.is_timestamp(kind):
        per_unit = 1000 if kind.unit == "ns" else 1
        numbers = [_number(value) for value in values]
        scaled = [None if number is None else number * per_unit for number in numbers]
        return pc.cast(int64_column(scaled), kind)
    return pa.array(values, kind)


def _number(value: Any) -> int | None:
    match value:
        case Day(number=number) | Moment(number=number):
            return number
        case _:
            return None
