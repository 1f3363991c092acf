"""Columns that stay what they are although every row is replaced (spec: Column Mapping)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    PHYSICAL_NAME_KEY,
)
from explorer.protocol.features.column_rules import IDENTITY_KEYS, identity_column
from explorer.protocol.features.iceberg import NESTED_ID_KEYS
from explorer.protocol.schema import ArrayType, DataType, MapType, StructType

_LAST_NUMBER: Final = f"{IDENTITY_KEYS}highWaterMark"


def with_kept_ids(data: StructType, held: StructType) -> StructType:
    """The columns that come, with id and physical name where the table has the column already
    and of the same type; a struct is the same whatever it holds."""
    known = {item.name.lower(): item for item in held.fields}
    fields = []
    for item in data.fields:
        other = known.get(item.name.lower())
        if other is not None and _may_keep(item.data_type, other.data_type):
            kept = {
                key: other.metadata[key]
                for key in (FIELD_ID_KEY, PHYSICAL_NAME_KEY, *NESTED_ID_KEYS)
                if key in other.metadata
            }
            kind = _kept_inside(item.data_type, other.data_type)
            item = replace(item, data_type=kind, metadata={**item.metadata, **kept})  # noqa: PLW2901
        fields.append(item)
    return StructType(fields=tuple(fields))


def with_last_numbers(data: StructType, held: StructType) -> StructType:
    """The columns that come, where identity columns go on behind the last number that the
    column of that name has given out: a number never comes twice."""
    known = {item.name.lower(): item.metadata.get(_LAST_NUMBER) for item in held.fields}
    fields = []
    for item in data.fields:
        mark = known.get(item.name.lower())
        if mark is not None and identity_column(item).step is not None:
            item = replace(item, metadata={**item.metadata, _LAST_NUMBER: mark})  # noqa: PLW2901
        fields.append(item)
    return StructType(fields=tuple(fields))


def _may_keep(data_type: DataType, held: DataType) -> bool:
    match data_type, held:
        case StructType(), StructType():
            return True
        case ArrayType(element_type=ours), ArrayType(element_type=theirs):
            return _may_keep(ours, theirs)
        case MapType(), MapType():
            return _may_keep(data_type.key_type, held.key_type) and _may_keep(
                data_type.value_type, held.value_type
            )
        case _:
            return data_type == held


def _kept_inside(data_type: DataType, held: DataType) -> DataType:
    match data_type, held:
        case StructType(), StructType():
            return with_kept_ids(data_type, held)
        case ArrayType(element_type=ours), ArrayType(element_type=theirs):
            return replace(data_type, element_type=_kept_inside(ours, theirs))
        case MapType(), MapType():
            return replace(
                data_type,
                key_type=_kept_inside(data_type.key_type, held.key_type),
                value_type=_kept_inside(data_type.value_type, held.value_type),
            )
        case _:
            return data_type
