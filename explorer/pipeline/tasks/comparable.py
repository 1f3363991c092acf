"""Columns in a form in which Spark can compare, sort and group them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column


def comparable(column: Column, kind: pa.DataType) -> Column:
    """A column of the Arrow type `kind`, its maps made lists of entries in the order of
    their keys: Spark refuses to compare maps. Values that are equal stay equal."""
    from pyspark.sql import functions as fn

    if not _has_map(kind):
        return column
    if pa.types.is_struct(kind):
        inner = [
            comparable(column.getField(item.name), item.type).alias(f"f{at}")
            for at, item in enumerate(kind)
        ]
        return fn.when(column.isNotNull(), fn.struct(*inner))
    if pa.types.is_list(kind):
        return fn.transform(column, lambda item: comparable(item, kind.value_type))
    entries = fn.transform(
        fn.map_entries(column),
        lambda entry: fn.struct(
            comparable(entry.getField("key"), kind.key_type).alias("key"),
            comparable(entry.getField("value"), kind.item_type).alias("value"),
        ),
    )
    return fn.array_sort(entries)


def is_comparable(kind: pa.DataType) -> bool:
    """Whether there is anything to compare: a column of void has no values."""
    return not pa.types.is_null(kind)


def _has_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    inner = [kind.field(at).type for at in range(kind.num_fields)]
    return reduce(lambda found, item: found or _has_map(item), inner, False)  # noqa: FBT003  # a value
