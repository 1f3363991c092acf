"""Values of a data file as values of a column's type, for types without others inside
(spec: Delta Data Type to Parquet Type Mappings, Type Widening)."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.features.type_widening import is_widening
from explorer.protocol.schema import DataType, DecimalType, GeoType, PrimitiveType

Converter = Callable[[pa.Array], pa.Array]

_INTEGER_NAMES = {pa.int8(): "byte", pa.int16(): "short", pa.int32(): "integer", pa.int64(): "long"}
# Parquet keeps all three in 32 bits, and not every writer says which one is meant
_NARROW = frozenset({"byte", "short", "integer"})
_UNSIGNED_FITS = {
    pa.uint8(): ("short", "integer", "long"),
    pa.uint16(): ("integer", "long"),
    pa.uint32(): ("long",),
}


def leaf_converter(found: pa.DataType, wanted: DataType) -> Converter | None:
    """What turns an array of type `found` into one of `arrow_type(wanted)`; None where
    there is no rule. It raises `pyarrow.ArrowInvalid` for values that do not fit."""
    target = arrow_type(wanted)
    if found == target:
        return _as_it_is
    if pa.types.is_null(target):
        return lambda array: pa.nulls(len(array))
    if pa.types.is_dictionary(found):
        inner = leaf_converter(found.value_type, wanted)
        return None if inner is None else lambda array: inner(array.cast(found.value_type))
    match wanted:
        case DecimalType():
            return _cast_to(target) if _fits_decimal(found, wanted) else None
        case GeoType():
            return _cast_to(target) if _is_bytes(found) else None
        case PrimitiveType(name=name):
            return _primitive_converter(found, name, target)
        case _:
            return None


def _primitive_converter(found: pa.DataType, name: str, target: pa.DataType) -> Converter | None:
    types = pa.types
    if types.is_timestamp(target):
        return _timestamp_converter(found, name, target)
    if name in ("string", "binary"):
        fixed = name == "binary" and types.is_fixed_size_binary(found)
        return _cast_to(target) if fixed or _is_bytes(found) else None
    if types.is_integer(target):
        return _cast_to(target) if _fits_integer(found, name) else None
    if types.is_duration(target):
        return _cast_to(target) if types.is_duration(found) or found == pa.int64() else None
    narrow = _INTEGER_NAMES.get(found) or ("float" if found == pa.float32() else "")
    widens = name == "double" and is_widening(PrimitiveType(name=narrow), PrimitiveType(name=name))
    return _cast_to(target) if widens or (name == "date" and found == pa.date64()) else None


def _timestamp_converter(found: pa.DataType, name: str, target: pa.DataType) -> Converter | None:
    if found == pa.date32():
        return _cast_to(target) if name == "timestamp_ntz" else None
    if not pa.types.is_timestamp(found):
        return None

    def convert(array: pa.Array) -> pa.Array:
        # by way of numbers: the zone of a file says how to show an instant, not which it is
        plain = array.cast(pa.int64()).cast(pa.timestamp(found.unit))
        if found.unit == "ns" and target.unit == "us":
            plain = pc.floor_temporal(plain, unit="microsecond")
        plain = plain.cast(pa.timestamp(target.unit))
        return plain.cast(pa.int64()).cast(target)

    return convert


def _fits_integer(found: pa.DataType, name: str) -> bool:
    if name == "interval year to month":
        return bool(found == pa.int32())
    narrow = _INTEGER_NAMES.get(found)
    if narrow is None:
        return name in _UNSIGNED_FITS.get(found, ())
    both_narrow = narrow in _NARROW and name in _NARROW
    return both_narrow or is_widening(PrimitiveType(name=narrow), PrimitiveType(name=name))


def _fits_decimal(found: pa.DataType, wanted: DecimalType) -> bool:
    if pa.types.is_decimal(found):
        stored = (found.precision, found.scale)
        return stored == (wanted.precision, wanted.scale) or is_widening(
            DecimalType(precision=stored[0], scale=stored[1]), wanted
        )
    if found == pa.uint64():
        return wanted.scale == 0 and wanted.precision >= 20
    narrow = _INTEGER_NAMES.get(found)
    return narrow is not None and is_widening(PrimitiveType(name=narrow), wanted)


def _is_bytes(found: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(found)
        or types.is_binary(found)
        or types.is_large_string(found)
        or types.is_large_binary(found)
        or types.is_string_view(found)
        or types.is_binary_view(found)
    )


def _cast_to(target: pa.DataType) -> Converter:
    return lambda array: array.cast(target)


def _as_it_is(array: pa.Array) -> pa.Array:
    return array
