"""Ids and physical names for columns that have none (spec: Column Mapping).

Elements, keys and values get none: `explorer.transaction.rules.iceberg_rules` asks for those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

from explorer.protocol.actions import Metadata
from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    PHYSICAL_NAME_KEY,
    field_id,
)
from explorer.protocol.schema import StructField, StructType, parse_schema, render_schema
from explorer.protocol.schema_walk import map_fields, walk_fields
from explorer.protocol.table_properties.known_properties import (
    COLUMN_MAPPING_MAX_ID,
    COLUMN_MAPPING_MODE,
)


def has_column_ids(schema: StructType) -> bool:
    """Whether any column has an id or a physical name already."""
    return any(
        key in place.field.metadata
        for place in walk_fields(schema)
        for key in (FIELD_ID_KEY, PHYSICAL_NAME_KEY)
    )


def highest_column_id(schema: StructType) -> int:
    """The highest id of the columns, 0 where none has one."""
    return max((field_id(place.field) or 0 for place in walk_fields(schema)), default=0)


def own_name(field: StructField) -> str:
    """The physical name of a column whose files are there already: the name that it has."""
    return field.name


def assign_columns(
    schema: StructType, given: int = 0, name_of: Callable[[StructField], str] = own_name
) -> tuple[StructType, int]:
    """The schema in which every column has an id and a physical name, and the highest id.

    What a column has it keeps. New ids are above those that were `given` out before and those
    that are there, in the order of the fields, outer ones before their inner ones; `name_of`
    gives the physical names, which are those of the columns where files are there already.
    """
    highest = max(given, highest_column_id(schema))
    numbers = count(highest + 1)

    def assigned(field: StructField) -> StructField:
        nonlocal highest
        named: dict[str, Any] = {}
        if field_id(field) is None:
            named[FIELD_ID_KEY] = highest = next(numbers)
        if not isinstance(field.metadata.get(PHYSICAL_NAME_KEY), str):
            named[PHYSICAL_NAME_KEY] = name_of(field)
        return replace(field, metadata={**field.metadata, **named})

    return map_fields(schema, assigned), highest


def map_columns(metadata: Metadata) -> Metadata:
    """The metadata of a table that is there, mapped by name: each column has an id, and in files
    the name that it has; as they are where columns are mapped already.

    Ids go on behind those that were given out before: a restore to a version without a mapping
    keeps count of them.
    """
    if COLUMN_MAPPING_MODE.value_of(metadata.configuration) != "none":
        return metadata
    given = COLUMN_MAPPING_MAX_ID.value_of(metadata.configuration)
    schema, highest = assign_columns(parse_schema(metadata.schema_string), given)
    added = {COLUMN_MAPPING_MODE.name: "name", COLUMN_MAPPING_MAX_ID.name: str(highest)}
    return replace(
        metadata,
        schema_string=render_schema(schema),
        configuration={**metadata.configuration, **added},
    )
