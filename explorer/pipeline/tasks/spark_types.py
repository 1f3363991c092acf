"""Types of rows as Spark has them (spec: Schema Serialization Format)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from explorer.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def spark_schema(rows: pa.Schema) -> StructType:
    """The schema of a DataFrame that holds rows of an Arrow schema, every value nullable.

    Raises `UnsupportedError` for a type that Spark does not have.
    """
    from pyspark.sql import types

    return types.StructType(
        [types.StructField(item.name, spark_type(item.type, item.name)) for item in rows]
    )


def spark_type(kind: pa.DataType, place: str) -> DataType:
    """One type; `place` is its column, for messages."""
    from pyspark.sql import types

    if pa.types.is_struct(kind):
        return types.StructType(
            [
                types.StructField(item.name, spark_type(item.type, f"{place}.{item.name}"))
                for item in kind
            ]
        )
    if pa.types.is_map(kind):
        return types.MapType(
            spark_type(kind.key_type, f"{place}.key"), spark_type(kind.item_type, f"{place}.value")
        )
    if pa.types.is_list(kind):
        return types.ArrayType(spark_type(kind.value_type, f"{place}.element"))
    if pa.types.is_decimal(kind):
        return types.DecimalType(kind.precision, kind.scale)
    name = _NAMES.get(kind)
    if name is None:
        raise UnsupportedError(
            f"Spark has no type for the column `{place[:200]}`.",
            reason=f"Its values are {str(kind)[:60]}, and would have to be changed.",
            remedy="Leave this column out, or read it with explorer.read_rows.",
        )
    make: Callable[[], Any] = getattr(types, name)
    found: DataType = make()
    return found


_NAMES = {
    pa.string(): "StringType",
    pa.binary(): "BinaryType",
    pa.bool_(): "BooleanType",
    pa.int8(): "ByteType",
    pa.int16(): "ShortType",
    pa.int32(): "IntegerType",
    pa.int64(): "LongType",
    pa.float32(): "FloatType",
    pa.float64(): "DoubleType",
    pa.date32(): "DateType",
    pa.timestamp("us", "UTC"): "TimestampType",
    pa.timestamp("us"): "TimestampNTZType",
    pa.duration("us"): "DayTimeIntervalType",
    pa.null(): "NullType",
}
