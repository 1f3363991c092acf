"""Ids and physical names for columns that have none (spec: Column Mapping).

Elements, keys and values get none: `explorer.transaction.rules.iceberg_rules` asks for those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from explorer.protocol.features.column_mapping import FIELD_ID_KEY, PHYSICAL_NAME_KEY
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.schema_walk import walk_fields


def has_column_ids(schema: StructType) -> bool:
    """Whether any column has an id or a physical name already."""
    return any(
        key in place.field.metadata
        for place in walk_fields(schema)
        for key in (FIELD_ID_KEY, PHYSICAL_NAME_KEY)
    )


def assign_columns(schema: StructType, given: int = 0) -> tuple[StructType, int]:
    """The schema with ids above those that were `given` out before, in the order of its fields,
    outer ones before their inner ones, and the highest id.

    Physical names are the names that the columns have: the files that are there keep them.
    """
    numbers = [given]
    found = _struct(schema, _counted(numbers))
    return found, numbers[-1]


def _counted(numbers: list[int]) -> Iterator[int]:
    while True:
        numbers.append(numbers[-1] + 1)
        yield numbers[-1]


def _struct(schema: StructType, numbers: Iterator[int]) -> StructType:
    return StructType(fields=tuple(_field(field, numbers) for field in schema.fields))


def _field(field: StructField, numbers: Iterator[int]) -> StructField:
    named = {FIELD_ID_KEY: next(numbers), PHYSICAL_NAME_KEY: field.name}
    return replace(
        field,
        metadata={**field.metadata, **named},
        data_type=_type(field.data_type, numbers),
    )


def _type(data_type: DataType, numbers: Iterator[int]) -> DataType:
    match data_type:
        case StructType():
            return _struct(data_type, numbers)
        case ArrayType(element_type=element):
            return replace(data_type, element_type=_type(element, numbers))
        case MapType(key_type=key, value_type=value):
            inner_key = _type(key, numbers)
            return replace(data_type, key_type=inner_key, value_type=_type(value, numbers))
        case _:
            return data_type
