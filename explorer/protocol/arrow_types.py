"""Delta types as Arrow types and back
(spec: Schema Serialization Format, Delta Data Type to Parquet Type Mappings)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson
import pyarrow as pa

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    NESTED_IDS_KEY,
    physical_schema,
)
from explorer.protocol.features.iceberg import NESTED_ID_KEYS, ids_by_way
from explorer.protocol.schema import (
    BINARY,
    MAX_SCHEMA_DEPTH,
    STRING,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    GeoType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import map_fields
from explorer.protocol.table_properties.known_properties import MappingMode

_VARIANT: Final = pa.struct(
    [
        pa.field("metadata", pa.binary(), nullable=False),
        pa.field("value", pa.binary(), nullable=False),
    ]
)
_PRIMITIVES: Final[Mapping[str, Any]] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamp_nanos": pa.timestamp("ns", "UTC"),
    "timestamp_nanos_ntz": pa.timestamp("ns"),
    # stored as a plain count of months and of microseconds
    "interval year to month": pa.int32(),
    "interval day to second": pa.duration("us"),
    "variant": _VARIANT,
    "void": pa.null(),
}
_TYPED_KEYS: Final = frozenset(
    {
        FIELD_ID_KEY,
        *NESTED_ID_KEYS,
        "__COLLATIONS",
        "delta.identity.allowExplicitInsert",
        "delta.identity.highWaterMark",
        "delta.identity.start",
        "delta.identity.step",
        "delta.typeChanges",
    }
)
"""Column metadata whose values are not strings: Arrow's metadata has them as JSON."""

PARQUET_ID: Final = b"PARQUET:field_id"


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a table's rows, under logical names.

    Column metadata becomes Arrow field metadata: strings as they are, other
    values as JSON. A variant is a struct of two binaries, a geometry or
    geography its well-known binary. Raises `UnsupportedError` where a type is unknown.
    """
    return pa.schema([_arrow_field(item, (item.name,)) for item in schema.fields])


def row_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of rows that were read: as `arrow_schema`, but with variants
    as JSON text and every value nullable.

    A file from before a NOT NULL column was added has no values for it, and the
    reference answers nulls; the rule binds writers alone (spec: Delta Data Type
    to Parquet Type Mappings, Variant Data Type).
    """
    return arrow_schema(_readable(schema, STRING))


def stored_schema(schema: StructType, mode: MappingMode) -> StructType:
    """The columns as data files hold them: physical names, no void columns (spec: Void
    Type), and every value nullable, because files from before a NOT NULL column was added
    have none."""
    return _without_void(physical_schema(_readable(schema, VARIANT), mode))


def file_schema(schema: StructType, mode: MappingMode) -> pa.Schema:
    """The Arrow schema to write data files with: physical names and Parquet field ids
    where columns are mapped, those of elements, keys and values too where they have any
    (spec: Writer Requirements for IcebergCompatV2), and no void columns (spec: Void Type)."""
    if mode != "none":
        schema = map_fields(schema, _with_ways)
    stored = _without_void(physical_schema(schema, mode))
    fields = [_arrow_field(item, (item.name,)) for item in stored.fields]
    return pa.schema([_with_parquet_ids(item, mode) for item in fields])


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of one Delta type; raises `UnsupportedError` where it is unknown."""
    return _arrow_type(data_type, ())


def delta_schema(schema: pa.Schema) -> StructType:
    """The Delta schema that can hold rows of an Arrow schema.

    Large, view, dictionary, run-end encoded and fixed-size types become their plain
    kin, times of any unit have microseconds, half floats are floats, and unsigned
    integers become the next wider type, as Spark reads them from Parquet (of 64 bits:
    `decimal(20,0)`). Raises `InvalidArgumentError` where Delta has no such type (times
    of day, durations, unions, extension types).
    """
    try:
        return StructType(fields=tuple(_delta_field(item, ()) for item in schema))
    except RecursionError as error:
        raise InvalidArgumentError(
            "A column is nested too deep.",
            reason=f"Types of a table are at most {MAX_SCHEMA_DEPTH} levels deep.",
            remedy="Keep what is deeper as JSON.",
            spec="Schema Serialization Format",
        ) from error


def _arrow_field(item: StructField, place: tuple[str, ...]) -> pa.Field:
    metadata = {
        key: value if isinstance(value, str) else orjson.dumps(value).decode()
        for key, value in item.metadata.items()
    }
    kind = _arrow_type(item.data_type, place)
    return pa.field(item.name, kind, nullable=item.nullable, metadata=metadata or None)


def _arrow_type(data_type: DataType, place: tuple[str, ...]) -> pa.DataType:
    match data_type:
        case PrimitiveType(name=name):
            return _PRIMITIVES[name]
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case GeoType():
            return pa.binary()
        case StructType(fields=fields):
            inner = []
            for item in fields:
                inner.append(_arrow_field(item, (*place, item.name)))  # noqa: PERF401  # one frame less for each level
            return pa.struct(inner)
        case ArrayType(element_type=element, contains_null=contains_null):
            kind = _arrow_type(element, (*place, "element"))
            return pa.list_(pa.field("element", kind, nullable=contains_null))
        case MapType(key_type=key, value_type=value, value_contains_null=contains_null):
            key_field = pa.field("key", _arrow_type(key, (*place, "key")), nullable=False)
            kind = _arrow_type(value, (*place, "value"))
            return pa.map_(key_field, pa.field("value", kind, nullable=contains_null))
    where = f" of column `{'.'.join(name[:60] for name in place)}`" if place else ""
    raise UnsupportedError(
        f"unsupported type {render_type(data_type)[:120]}{where}",
        reason="No revision of the specification says how its values are stored.",
        remedy="Leave this column out, or read the table with the engine that wrote it.",
        spec="Schema Serialization Format",
    )


def _readable(schema: StructType, variant: DataType) -> StructType:
    """Every value nullable, and `variant` in the place of variants."""
    fields = []
    for item in schema.fields:
        kind = _readable_type(item.data_type, variant)
        fields.append(replace(item, data_type=kind, nullable=True))
    return StructType(fields=tuple(fields))


def _readable_type(data_type: DataType, variant: DataType) -> DataType:
    match data_type:
        case PrimitiveType(name="variant"):
            return variant
        case StructType():
            return _readable(data_type, variant)
        case ArrayType(element_type=element):
            return ArrayType(element_type=_readable_type(element, variant), contains_null=True)
        case MapType(key_type=key, value_type=value):
            return MapType(
                key_type=_readable_type(key, variant),
                value_type=_readable_type(value, variant),
                value_contains_null=True,
            )
        case _:
            return data_type


def _without_void(schema: StructType) -> StructType:
    fields = []
    for item in schema.fields:
        if item.data_type == VOID:
            continue
        kind = item.data_type
        fields.append(
            replace(item, data_type=_without_void(kind) if isinstance(kind, StructType) else kind)
        )
    return StructType(fields=tuple(fields))


def _with_ways(item: StructField) -> StructField:
    """The ids of what lies in arrays and maps by the way to it alone, whatever they are kept by."""
    ids = {way: number for way, number in ids_by_way(item).items() if type(number) is int}
    return replace(item, metadata={**item.metadata, NESTED_IDS_KEY: ids})


def _with_parquet_ids(item: pa.Field, mode: MappingMode) -> pa.Field:
    held = item.metadata or {}
    number = held.get(FIELD_ID_KEY.encode())
    ids = {} if mode == "none" else orjson.loads(held.get(NESTED_IDS_KEY.encode(), b"{}"))
    kind = _type_with_parquet_ids(item.type, mode, ids, "")
    metadata = {} if mode == "none" or number is None else {PARQUET_ID: number}
    return pa.field(item.name, kind, nullable=item.nullable, metadata=metadata or None)


def _type_with_parquet_ids(
    kind: pa.DataType, mode: MappingMode, ids: Mapping[str, int], way: str
) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_with_parquet_ids(item, mode) for item in kind])
    if pa.types.is_map(kind):
        key = _nested_with_id(kind.key_field, mode, ids, f"{way}.key")
        return pa.map_(key, _nested_with_id(kind.item_field, mode, ids, f"{way}.value"))
    if pa.types.is_list(kind):
        return pa.list_(_nested_with_id(kind.value_field, mode, ids, f"{way}.element"))
    return kind


def _nested_with_id(
    item: pa.Field, mode: MappingMode, ids: Mapping[str, int], way: str
) -> pa.Field:
    """An element, key or value, with its id where it has one."""
    kind = _type_with_parquet_ids(item.type, mode, ids, way)
    metadata = {PARQUET_ID: str(ids[way])} if way in ids else None
    return pa.field(item.name, kind, nullable=item.nullable, metadata=metadata)


def _delta_field(item: pa.Field, above: tuple[str, ...]) -> StructField:
    return StructField(
        name=item.name,
        data_type=_delta_type(item.type, (*above, item.name)),
        nullable=item.nullable,
        metadata=_delta_metadata(item.metadata or {}),
    )


def _delta_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for raw_key, raw_value in metadata.items():
        key = raw_key.decode(errors="replace")
        if raw_key.startswith((b"PARQUET:", b"ARROW:")):  # of the file format, not of the table
            continue
        result[key] = raw_value.decode(errors="replace")
        if key in _TYPED_KEYS:
            result[key] = _parse_typed(key, raw_value)
    return result


def _parse_typed(key: str, value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise InvalidArgumentError(
            f"The metadata `{key}` of an Arrow field is not JSON.",
            reason=f"Its values are not plain strings: {error}.",
            remedy="Leave the key out, or give its value as JSON.",
            spec="Column Metadata",
        ) from error


def _delta_type(kind: pa.DataType, place: tuple[str, ...]) -> DataType:
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _delta_type(kind.value_type, place)
    if types.is_struct(kind):
        fields = []
        for item in kind:
            fields.append(_delta_field(item, place))  # noqa: PERF401  # one frame less for each level
        return StructType(fields=tuple(fields))
    if types.is_map(kind):
        return MapType(
            key_type=_delta_type(kind.key_type, (*place, "key")),
            value_type=_delta_type(kind.item_type, (*place, "value")),
            value_contains_null=kind.item_field.nullable,
        )
    if _is_list(kind):
        return ArrayType(
            element_type=_delta_type(kind.value_type, (*place, "element")),
            contains_null=kind.value_field.nullable,
        )
    return _delta_leaf(kind, place)


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _delta_leaf(kind: pa.DataType, place: tuple[str, ...]) -> DataType:
    types = pa.types
    if types.is_decimal(kind) and kind.precision <= 38 and 0 <= kind.scale <= kind.precision:
        return DecimalType(precision=kind.precision, scale=kind.scale)
    if types.is_timestamp(kind):
        return PrimitiveType(name="timestamp_ntz" if kind.tz is None else "timestamp")
    if types.is_fixed_size_binary(kind):
        return BINARY
    if types.is_uint64(kind):
        return DecimalType(precision=20, scale=0)
    if (name := _LEAVES.get(kind)) is not None:
        return PrimitiveType(name=name)
    raise InvalidArgumentError(
        f"Delta has no type for the Arrow type {str(kind)[:120]} of column "
        f"`{'.'.join(name[:60] for name in place)}`.",
        reason="A table holds only what the specification can write down.",
        remedy=_remedy(kind),
        spec="Schema Serialization Format",
    )


def _remedy(kind: pa.DataType) -> str:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return "Take what the type is stored as (`.storage`), or cast it, like UUIDs to strings."
    if types.is_time(kind):
        return "Cast the column first: times of day to strings, or to integers."
    if types.is_duration(kind) or types.is_interval(kind):
        return "Cast the column first: lengths of time to integers, with the unit in the name."
    if types.is_decimal(kind):
        return "Cast the column first: a decimal has at most 38 digits, none of them negative."
    return "Cast the column first, or leave it out."


_LEAVES: Final[Mapping[Any, str]] = {
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    # as Spark reads them from Parquet: the next wider type holds every value
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.date64(): "date",
    pa.duration("us"): "interval day to second",
    pa.null(): "void",
}
