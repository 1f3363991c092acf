"""The columns that rows bring (spec: Column Metadata).

What a schema says of the table it was read from, such as ids of columns and rules for its
writers, does not go with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from explorer.protocol.character_types import with_lengths_on_columns
from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    NESTED_IDS_KEY,
    PHYSICAL_NAME_KEY,
)
from explorer.protocol.features.column_rules import DEFAULT_KEY, IDENTITY_KEYS
from explorer.protocol.features.type_widening import TYPE_CHANGES_KEY
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from explorer.protocol.schema_walk import map_fields

_EXISTS_DEFAULT: Final = "EXISTS_DEFAULT"
_OF_FILES: Final = frozenset(
    {
        FIELD_ID_KEY,
        NESTED_IDS_KEY,
        PHYSICAL_NAME_KEY,
        TYPE_CHANGES_KEY,
        _EXISTS_DEFAULT,
        f"{IDENTITY_KEYS}highWaterMark",
        "parquet.field.id",
        "parquet.field.nested.ids",
    }
)
"""Keys of column metadata that speak of files which are there, and of numbers given out."""

_OF_DELTA: Final = "delta."
_OF_SPARK: Final = "__"


def schema_of_data(schema: StructType) -> StructType:
    """The columns of rows that are written: every value may be null, and of the columns'
    metadata there are comments, lengths of text, and what Delta does not know."""
    return with_lengths_on_columns(nullable_schema(map_fields(schema, _as_data)))


def schema_of_table(schema: StructType) -> StructType:
    """The columns of a table that somebody describes, without what only files that are there
    could have brought: ids and physical names, former types, the last number given out."""
    return with_lengths_on_columns(map_fields(schema, _without_files))


def nullable_schema(schema: StructType) -> StructType:
    """The schema with every value nullable, also inside structs, arrays and maps."""
    return map_fields(
        schema, lambda item: replace(item, nullable=True, data_type=nullable_type(item.data_type))
    )


def nullable_type(data_type: DataType) -> DataType:
    """The type with every value in it nullable; keys of maps never are."""
    match data_type:
        case StructType():
            return nullable_schema(data_type)
        case ArrayType(element_type=element):
            return ArrayType(element_type=nullable_type(element), contains_null=True)
        case MapType(key_type=key, value_type=value):
            return MapType(
                key_type=nullable_type(key),
                value_type=nullable_type(value),
                value_contains_null=True,
            )
        case _:
            return data_type


def _as_data(field: StructField) -> StructField:
    return replace(field, metadata=_kept(field.metadata))


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in metadata.items()
        if key == CHARACTER_TYPE_KEY
        or not (key.startswith((_OF_DELTA, _OF_SPARK)) or key in _OF_FILES or key == DEFAULT_KEY)
    }


def _without_files(field: StructField) -> StructField:
    kept = {key: value for key, value in field.metadata.items() if key not in _OF_FILES}
    return replace(field, metadata=kept)
