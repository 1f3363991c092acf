"""Columns of Spark as those of a table, by store assignment with Spark's own casts.

Every cast is one that answers null for what it cannot say (`try_cast`), whatever the session's
settings are, so that a value that is lost is told by us, with its column and row. Which types
meet here, and which values are lost, is said in `explorer.writing.gate._assignment`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

from explorer.errors import UnsupportedError
from explorer.protocol.character_types import CharacterType
from explorer.protocol.schema import (
    BINARY,
    DOUBLE,
    STRING,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    render_schema,
    render_type,
)
from explorer.protocol.values.calendar_days import DAY_US, LAST_US
from explorer.writing.gate.number_widths import is_wider
from explorer.writing.gate.plan import FieldCast, ValueCast
from explorer.writing.gate.refusals import Refusal, not_stored

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType as SparkType

Stop = Callable[[Refusal], "Column"]
"""What raises the refusal where a row asks for its value."""

_INTEGERS: Final = frozenset({"byte", "short", "integer", "long"})
_FLOATS: Final = frozenset({"float", "double"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_LAST_DAY: Final = LAST_US // DAY_US


def spark_type_of(data_type: DataType) -> SparkType:
    """The type that Spark has for one of a table; raises `UnsupportedError` where it has none."""
    from pyspark.errors import PySparkException
    from pyspark.sql import types

    field = StructField(name="c", data_type=_plain(data_type))
    try:
        parsed = orjson.loads(render_schema(StructType(fields=(field,))))
        return types.StructType.fromJson(parsed).fields[0].dataType
    except (PySparkException, ValueError, KeyError) as error:
        raise UnsupportedError(
            f"Spark has no type for {render_type(data_type)[:120]}.",
            reason="Its values cannot be written by Spark.",
            remedy="Write with the engine that made the table.",
            spec="Schema Serialization Format",
        ) from error


def _plain(data_type: DataType) -> DataType:
    """The type without metadata of fields, which is the table's affair."""
    match data_type:
        case StructType(fields=fields):
            plain = (
                StructField(name=item.name, data_type=_plain(item.data_type)) for item in fields
            )
            return StructType(fields=tuple(plain))
        case ArrayType(element_type=element):
            return ArrayType(element_type=_plain(element), contains_null=True)
        case MapType(key_type=key, value_type=value):
            return MapType(key_type=_plain(key), value_type=_plain(value), value_contains_null=True)
        case _:
            return data_type


def null_of(data_type: DataType) -> Column:
    """Null, of the type that Spark has for one of a table."""
    from pyspark.sql import functions as fn

    return fn.lit(None).cast(spark_type_of(data_type))


def cast_column(value: Column, cast: ValueCast, stop: Stop) -> Column:
    """Values as those of the table; a value that the type does not hold raises."""
    from pyspark.sql import functions as fn

    if cast.changes_nothing:
        return value
    if cast.source == VOID:
        return null_of(cast.target)
    match cast.target:
        case StructType():
            fields = [_field(value, item, stop).alias(item.field.name) for item in cast.fields]
            made = fn.struct(*fields)
            return fn.when(value.isNotNull(), made).otherwise(null_of(cast.target))
        case ArrayType():
            assert cast.element is not None
            element = cast.element
            return fn.transform(value, lambda inner: cast_column(inner, element, stop))
        case MapType():
            return _map(value, cast, stop)
    found = _plain_value(value, cast, stop)
    return found if cast.characters is None else _fit(found, cast.characters)


def _field(value: Column, item: FieldCast, stop: Stop) -> Column:
    if item.given is None or item.cast is None:
        return null_of(item.field.data_type)
    return cast_column(value.getField(item.given), item.cast, stop)


def _map(value: Column, cast: ValueCast, stop: Stop) -> Column:
    from pyspark.sql import functions as fn

    assert cast.key is not None
    assert cast.value is not None
    key, item = cast.key, cast.value
    if key.changes_nothing:
        return fn.transform_values(value, lambda _, inner: cast_column(inner, item, stop))
    entries = fn.transform(
        fn.map_entries(value),
        lambda entry: fn.struct(
            cast_column(entry.getField("key"), key, stop).alias("key"),
            cast_column(entry.getField("value"), item, stop).alias("value"),
        ),
    )
    return fn.map_from_entries(entries)


def _fit(text: Column, kind: CharacterType) -> Column:
    """As `explorer.writing.gate` pads text of a length."""
    from pyspark.sql import functions as fn

    if kind.name == "varchar":
        return text
    is_short = fn.length(text) < fn.lit(kind.length)
    return fn.when(is_short, fn.rpad(text, kind.length, " ")).otherwise(text)


def _plain_value(value: Column, cast: ValueCast, stop: Stop) -> Column:
    from pyspark.sql import functions as fn

    source, target = cast.source, cast.target
    if source == target:
        return value
    if VARIANT in {source, target}:
        raise UnsupportedError(
            f"The given {render_type(source)[:120]} cannot become {render_type(target)[:120]}.",
            reason="Spark makes variants with parse_json or to_variant_object alone.",
            remedy="Make the column with one of these first.",
            spec="Variant Data Type",
        )
    found = _converted(value, source, target)
    kept, why = _kept(value, found, source, target)
    if kept is None:
        return found
    refused = stop(not_stored(cast.path, source, target, why)).cast(spark_type_of(target))
    return fn.when(value.isNull() | kept, found).otherwise(refused)


def _converted(value: Column, source: DataType, target: DataType) -> Column:
    from pyspark.sql import functions as fn

    if isinstance(source, DecimalType) and target == STRING:
        # a cast may write 1E-7, as the session's settings say
        digits = fn.format_number(value, source.scale)
        return fn.regexp_replace(digits, fn.lit(","), fn.lit(""))
    if target in {STRING, BINARY}:
        return value.cast(spark_type_of(target))
    if _name(source) == "date" and _name(target) != "date":
        is_within = fn.unix_date(value).between(-_LAST_DAY, _LAST_DAY)
        return fn.when(is_within, value.cast(spark_type_of(target)))
    return value.try_cast(spark_type_of(target))


def _kept(
    value: Column, found: Column, source: DataType, target: DataType
) -> tuple[Column | None, str]:
    """Whether a value, which is not null, is stored as the same one; None where each is. And what
    is wrong with one that is not."""
    from pyspark.sql import functions as fn

    if is_wider(source, target):
        return None, ""
    if target in {STRING, BINARY}:
        return (fn.is_valid_utf8(found), "is not UTF-8") if source == BINARY else (None, "")
    if source == STRING:
        return _is_said(value, found, target), f"does not say one of type {render_type(target)}"
    if _name(source) in _TIMES:
        return _is_same_time(value, found, source, target)
    return _is_same_number(value, found, source, target)


def _is_said(text: Column, found: Column, target: DataType) -> Column:
    from pyspark.sql import functions as fn

    kept = found.isNotNull()
    if _name(target) in _FLOATS:
        is_infinite = fn.abs(found).cast("double") == fn.lit(float("inf"))
        kept &= ~is_infinite | fn.lower(text).contains("inf")
    return kept


def _is_same_number(
    value: Column, found: Column, source: DataType, target: DataType
) -> tuple[Column | None, str]:
    from pyspark.sql import functions as fn

    second = _name(target)
    if second in _INTEGERS:
        return _is_whole(value, found, source), f"is not a whole number of type {second}"
    if isinstance(target, DecimalType):
        return found.isNotNull(), f"does not fit into {target.precision} digits"
    if second == "float" and source == DOUBLE:
        infinity = fn.lit(float("inf"))
        is_lost = (fn.abs(found).cast("double") == infinity) & (fn.abs(value) != infinity)
        return ~is_lost, "is beyond the largest of type float"
    return None, ""


def _is_same_time(
    value: Column, found: Column, source: DataType, target: DataType
) -> tuple[Column, str]:
    if _name(source) == "date":
        return found.isNotNull(), "is beyond what a timestamp can be"
    back = found.try_cast(spark_type_of(source))
    if _name(target) == "date":
        return back.eqNullSafe(value), "has a time of day, and a date has none"
    return back.eqNullSafe(value), "is not a time on the clocks of the session's zone"


def _is_whole(value: Column, found: Column, source: DataType) -> Column:
    from pyspark.sql import functions as fn

    if _name(source) in _INTEGERS:
        return found.isNotNull()
    kept = found.try_cast(spark_type_of(source)).eqNullSafe(value)
    if _name(source) in _FLOATS:
        # Spark takes 2^63 for the largest long
        kept &= value.cast("double") < fn.lit(float(2**63))
    return kept & found.isNotNull()


def _name(data_type: DataType) -> Any:
    if isinstance(data_type, DecimalType):
        return "decimal"
    return data_type.name if isinstance(data_type, PrimitiveType) else ""
