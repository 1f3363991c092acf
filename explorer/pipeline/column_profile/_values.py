"""How often each value of a column occurs, counted in tasks and joined on Spark."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_scalar
from explorer.pipeline.tasks.file_tasks import Batches, ReadFiles
from explorer.protocol.values.calendar_days import Day, Moment
from explorer.rows.data_file.partition_columns import constant_column
from explorer.rows.python_values import ordinal_of

COUNT: Final = "delta_explorer.count"
NUMBER: Final = "delta_explorer.number"


def is_nested(kind: pa.DataType) -> bool:
    """Whether values of the type hold others, and have no order here."""
    return bool(pa.types.is_nested(kind))


def has_numbers(kind: pa.DataType) -> bool:
    """Whether values of the type can be put into bins."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
        or types.is_duration(kind)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountValues:
    """Counts the values of the column `name` in the files of a group; the request of `read`
    has it, and the columns that the table is partitioned by where these are wanted."""

    read: ReadFiles
    name: str
    partitions: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The value and those of its partition, how often it occurs, and as a number."""
        fields = [self.read.request.schema.field(name) for name in (*self.partitions, self.name)]
        extra = [pa.field(COUNT, pa.int64()), pa.field(NUMBER, pa.float64())]
        return pa.schema([*fields, *extra])

    def __call__(self, files: pa.Table) -> Batches:
        """The counts of each batch of rows: the same value may occur in several."""
        schema = self.schema
        for batch in self.read(files):
            values, counts = _counted(batch.column(self.name))
            # a file lies in one partition, and a batch in one file
            inside = [
                constant_column(batch.column(name)[0], len(values)) for name in self.partitions
            ]
            numbers = _numbers(values)
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays([*inside, values, counts, numbers], schema=schema)


def _counted(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    if is_nested(values.type) or pa.types.is_null(values.type):
        ones = constant_column(int64_scalar(1), len(values))
        return values, ones
    found = pc.value_counts(values)
    return found.field("values"), found.field("counts")


def _numbers(values: pa.Array) -> pa.Array:
    """Values as numbers for bins; null for what is none, not finite, or no number."""
    kind = values.type
    if not has_numbers(kind):
        return pa.nulls(len(values), pa.float64())
    if pa.types.is_date(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_temporal(kind):
        values = values.cast(pa.int64())
    numbers = pc.cast(values, pa.float64(), safe=False)
    return pc.if_else(pc.is_finite(numbers), numbers, pa.nulls(1, pa.float64())[0])


def number_of(value: Any, kind: pa.DataType) -> float | None:
    """One value of Python's as `_numbers` has it."""
    if value is None or not has_numbers(kind):
        return None
    match value:
        case date() | Day() | Moment():
            return float(ordinal_of(value))
        case timedelta():
            return float(value // timedelta(microseconds=1))
        case int() | float() | Decimal():
            return float(value) if math.isfinite(value) else None
        case _:
            return None


def bin_of(number: float, low: float, high: float, bins: int) -> int:
    """The bin of a number between two others."""
    if low == high or not math.isfinite(high - low):
        return 0
    return min(int((number - low) / (high - low) * bins), bins - 1)
