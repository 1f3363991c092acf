"""A caller's Arrow rows as they are sent to Spark: one layout for each type of a table, whatever
they had (`given_schema`), and variants where the table has such (spec: Variant Data Type).

Spark makes no variant of bytes, so that the struct that Arrow has for one is told apart here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from explorer.protocol.arrow_types import arrow_schema
from explorer.protocol.schema import (
    VARIANT,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from explorer.writing.gate._assignment import is_stored_variant, plan_cast
from explorer.writing.gate._nested_casts import RefusedRowError, cast_values
from explorer.writing.gate.arrow_gate import pieces, row_values
from explorer.writing.gate.plan import GatePlan, GivenValue, ValueCast


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRows:
    """Rows with the columns `given` on their way to Spark, where they are `sent`."""

    given: StructType
    sent: StructType

    def conform(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows as `arrow_schema` has them. Raises `InvalidArgumentError` of kind
        `rows_refused` for the first value that Delta's own type of its column does not hold,
        such as a time in nanoseconds."""
        return map(self._through, pieces(rows))

    def _through(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        every = np.arange(rows.num_rows, dtype=np.int64)
        arrays = []
        for item, wanted in zip(self.given.fields, self.sent.fields, strict=True):
            cast = plan_cast((item.name,), item.data_type, wanted.data_type, {})
            try:
                arrays.append(cast_values(rows.column(item.name), cast, every))
            except RefusedRowError as error:
                raise error.refusal.error(row_values(rows, error.row)) from None
        return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(self.sent))


def rows_to_send(plan: GatePlan) -> tuple[SentRows, GatePlan]:
    """What rows of Arrow are sent as, and the plan for them there."""
    casts = {
        item.source.name: _sent(item.source.cast)
        for item in plan.columns
        if isinstance(item.source, GivenValue)
    }
    fields = tuple(
        StructField(name=item.name, data_type=casts[item.name].source)
        if item.name in casts
        else StructField(name=item.name, data_type=item.data_type)
        for item in plan.given.fields
    )
    columns = tuple(
        replace(item, source=replace(item.source, cast=casts[item.source.name]))
        if isinstance(item.source, GivenValue)
        else item
        for item in plan.columns
    )
    sent = replace(plan, given=StructType(fields=fields), columns=columns)
    return SentRows(given=plan.given, sent=sent.given), sent


def _sent(cast: ValueCast) -> ValueCast:
    """The same cast, from variants where there are structs that are such."""
    if cast.target == VARIANT and is_stored_variant(cast.source):
        return replace(cast, source=VARIANT)
    fields = tuple(
        item if item.cast is None else replace(item, cast=_sent(item.cast)) for item in cast.fields
    )
    element, key, value = (
        None if inner is None else _sent(inner) for inner in (cast.element, cast.key, cast.value)
    )
    found = replace(cast, fields=fields, element=element, key=key, value=value)
    return replace(found, source=_source(found))


def _source(cast: ValueCast) -> DataType:
    match cast.source:
        case StructType(fields=fields):
            inner = {item.given: item.cast.source for item in cast.fields if item.cast is not None}
            return StructType(
                fields=tuple(
                    replace(item, data_type=inner.get(item.name, item.data_type)) for item in fields
                )
            )
        case ArrayType() as found if cast.element is not None:
            return replace(found, element_type=cast.element.source)
        case MapType() as found if cast.key is not None and cast.value is not None:
            return replace(found, key_type=cast.key.source, value_type=cast.value.source)
    return cast.source
