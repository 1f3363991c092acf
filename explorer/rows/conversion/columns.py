"""Columns of a data file as columns of the table, however old the file is.

Fields are found on every level by the rule of the table's mapping mode: what a
file lacks is null, what the table lacks is left out, and the order is the
table's (spec: Column Mapping, Type Widening, Variant Data Type).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.types import is_struct

from explorer.errors import CorruptDataError, UnsupportedError
from explorer.protocol.schema import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructType,
    render_type,
)
from explorer.protocol.table_properties.known_properties import MappingMode
from explorer.rows.conversion.calendars import FormerCalendar
from explorer.rows.conversion.field_matching import match_fields
from explorer.rows.conversion.leaf_values import Converter, leaf_converter
from explorer.rows.conversion.variant_columns import decode_variant_column


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlace:
    """Where a value stands in the table's schema, the mode that finds it in files, the file
    that is read, for messages, and the calendar that it was written by, where that is not
    today's."""

    mode: MappingMode
    names: tuple[str, ...]
    file: str
    calendar: FormerCalendar | None = None

    def inner(self, name: str) -> ColumnPlace:
        """A place inside this one."""
        return replace(self, names=(*self.names, name))

    @property
    def shown(self) -> str:
        """The path, cut for messages."""
        return ".".join(name[:60] for name in self.names)[:200]


def build_converter(
    found: pa.DataType, wanted: DataType, target: pa.DataType, place: ColumnPlace
) -> Converter:
    """What turns arrays of a file's type into arrays of `target`, the type that
    `row_schema` has for `wanted`; raises `CorruptDataError` where there is no rule."""
    if isinstance(found, pa.BaseExtensionType):
        inner = build_converter(found.storage_type, wanted, target, place)
        return lambda array: inner(array.storage)
    match wanted:
        case StructType():
            return _struct_converter(found, wanted, target, place)
        case ArrayType():
            return _array_converter(found, wanted, target, place)
        case MapType():
            return _map_converter(found, wanted, target, place)
        case PrimitiveType(name="variant"):
            if not _is_variant(found):
                _refuse(found, wanted, place)
            return _stored_variant(found, target) if is_struct(target) else decode_variant_column
        case _:
            convert = leaf_converter(found, wanted) or _refuse(found, wanted, place)
            rebase = place.calendar and place.calendar.rebase(found, wanted)
            return (lambda array: convert(rebase(array))) if rebase else convert


def _struct_converter(
    found: pa.DataType, wanted: StructType, target: pa.DataType, place: ColumnPlace
) -> Converter:
    if not pa.types.is_struct(found):
        _refuse(found, wanted, place)
    fields = [target.field(at) for at in range(target.num_fields)]
    steps: list[tuple[int, Converter] | pa.DataType] = []
    places = match_fields(list(found), wanted.fields, place.mode)
    for item, field, at in zip(wanted.fields, fields, places, strict=True):
        if at is None:
            steps.append(field.type)
            continue
        inner = found.field(at).type
        convert_field = build_converter(inner, item.data_type, field.type, place.inner(item.name))
        steps.append((at, convert_field))

    def convert(array: pa.Array) -> pa.Array:
        children = [
            step[1](array.field(step[0])) if isinstance(step, tuple) else pa.nulls(len(array), step)
            for step in steps
        ]
        if not children:  # no child tells the length
            return pa.Array.from_buffers(
                target, len(array), array.buffers()[:1], offset=array.offset, children=[]
            )
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return convert


def _array_converter(
    found: pa.DataType, wanted: ArrayType, target: pa.DataType, place: ColumnPlace
) -> Converter:
    types = pa.types
    if not (types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)):
        _refuse(found, wanted, place)
    plain = pa.list_(found.value_field)
    inner = build_converter(
        found.value_type, wanted.element_type, target.value_type, place.inner("element")
    )

    def convert(array: pa.Array) -> pa.Array:
        items = array if array.type == plain else array.cast(plain)
        return _with_children(items, target, inner(items.values))

    return convert


def _map_converter(
    found: pa.DataType, wanted: MapType, target: pa.DataType, place: ColumnPlace
) -> Converter:
    if not pa.types.is_map(found):
        _refuse(found, wanted, place)
    fields = [target.key_field, target.item_field]
    keys = build_converter(found.key_type, wanted.key_type, target.key_type, place.inner("key"))
    items = build_converter(
        found.item_type, wanted.value_type, target.item_type, place.inner("value")
    )

    def convert(array: pa.Array) -> pa.Array:
        # a map's children are not sliced with it, so its own offsets stay right
        pairs = [keys(array.keys), items(array.items)]
        return _with_children(array, target, pa.StructArray.from_arrays(pairs, fields=fields))

    return convert


def _with_children(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    """A list or map with the same offsets and nulls over other children."""
    return pa.Array.from_buffers(
        target,
        len(array),
        array.buffers()[:2],
        null_count=array.null_count,
        offset=array.offset,
        children=[child],
    )


def _stored_variant(found: pa.DataType, target: pa.DataType) -> Converter:
    """The two binaries as they are; raises `UnsupportedError` for a shredded variant, whose
    parts would have to be encoded again."""
    names = {item.name for item in found}
    if "typed_value" in names or "value" not in names:
        raise UnsupportedError(
            "A variant that is stored in parts cannot be written again here.",
            reason="Putting it together changes its encoding, and only a reader does that.",
            remedy="Rewrite these files with the engine that wrote them.",
            spec="Variant Shredding",
        )

    def convert(array: pa.Array) -> pa.Array:
        children = [pc.fill_null(array.field(item.name).cast(pa.binary()), b"") for item in target]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)

    return convert


def _is_variant(found: pa.DataType) -> bool:
    if not pa.types.is_struct(found):
        return False
    names = {item.name for item in found}
    return "metadata" in names and not names.isdisjoint({"value", "typed_value"})


def _refuse(found: pa.DataType, wanted: DataType, place: ColumnPlace) -> NoReturn:
    raise CorruptDataError(
        f"The column `{place.shown}` cannot be read from {place.file}.",
        reason=f"The file holds {str(found)[:120]} where the table says "
        f"{render_type(wanted)[:120]}, and no rule turns one into the other.",
        remedy="Leave this column out, or rewrite the file with the engine that wrote it.",
        spec="Type Widening",
    )
