"""Names and ids of columns in files and log (spec: Column Mapping)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from explorer.errors import Problem
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import binds_readers
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.schema_walk import FieldPlace, render_path, walk_fields
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE, MappingMode

PHYSICAL_NAME_KEY: Final = "delta.columnMapping.physicalName"
FIELD_ID_KEY: Final = "delta.columnMapping.id"
NESTED_IDS_KEY: Final = "delta.columnMapping.nested.ids"


def column_mapping_mode(protocol: Protocol, configuration: Mapping[str, str]) -> MappingMode:
    """The mode that a reader must honour: `none` unless the protocol supports mapping.

    Reader version 2 supports it, with writer version 7 only if it is listed there; reader
    version 3 supports it if it is listed. Where one of the two lists has it, it counts: see
    `explorer.protocol.features.registry`.
    """
    if not binds_readers(protocol, "columnMapping"):
        return "none"
    return COLUMN_MAPPING_MODE.value_of(configuration)


def physical_name(field: StructField, mode: MappingMode) -> str:
    """The name of a field in partition values, statistics and, in name mode, data files."""
    name = field.metadata.get(PHYSICAL_NAME_KEY)
    return name if mode != "none" and isinstance(name, str) else field.name


def field_id(field: StructField) -> int | None:
    """The id of a field's column in data files, or None where the schema has none."""
    value = field.metadata.get(FIELD_ID_KEY)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def physical_path(place: FieldPlace, mode: MappingMode) -> tuple[str, ...]:
    """The physical field path: physical names, with `element`, `key` and `value` between."""
    return tuple(
        step if isinstance(step, str) else physical_name(step, mode)
        for step in (*place.parents, place.field)
    )


def logical_path(path: tuple[str, ...], schema: StructType, mode: MappingMode) -> str | None:
    """A physical field path as the text of the logical one; None where the schema has no
    such field."""
    names: list[str] = []
    fields = schema.fields
    for step in path:
        found = next((item for item in fields if physical_name(item, mode) == step), None)
        if found is None:
            return None
        names.append(found.name)
        inner = found.data_type
        fields = inner.fields if isinstance(inner, StructType) else ()
    return render_path(tuple(names))


def physical_schema(schema: StructType, mode: MappingMode) -> StructType:
    """The schema with physical names on every level, as data files and statistics have it."""
    if mode == "none":
        return schema
    fields = []
    for item in schema.fields:
        inner = _physical_type(item.data_type, mode)
        fields.append(replace(item, name=physical_name(item, mode), data_type=inner))
    return StructType(fields=tuple(fields))


def validate_mapping(schema: StructType, mode: MappingMode) -> list[Problem]:
    """Fields without the physical name or id that their mode needs, those used twice, and
    ids that no file can hold.

    A name is another one in another parent: what is called alike in two structs keeps its
    name in files when mapping is switched on.
    """
    if mode == "none":
        return []
    problems: list[Problem] = []
    numbers: dict[int, str] = {}
    names: dict[tuple[str, ...], str] = {}
    for place in walk_fields(schema):
        problems += [
            _problem(f"`{place.path}` {text}", mode)
            for text in (*_wrong_names(place, mode, names), *_wrong_ids(place, numbers))
        ]
    return problems


def _wrong_names(
    place: FieldPlace, mode: MappingMode, seen: dict[tuple[str, ...], str]
) -> Iterator[str]:
    if not isinstance(place.field.metadata.get(PHYSICAL_NAME_KEY), str):
        yield "has no physical name."
        return
    path = physical_path(place, mode)
    if path in seen:
        yield f"and `{seen[path]}` share the physical name {path[-1][:120]}."
    seen.setdefault(path, place.path)


def _wrong_ids(place: FieldPlace, seen: dict[int, str]) -> Iterator[str]:
    number = field_id(place.field)
    if number is None:
        yield "has no column id."
        return
    if not -(2**31) <= number < 2**31:
        yield f"has the column id {number}, which is not an integer of 32 bits."
    if number in seen:
        yield f"and `{seen[number]}` share the column id {number}."
    seen.setdefault(number, place.path)


def _physical_type(data_type: DataType, mode: MappingMode) -> DataType:
    match data_type:
        case StructType():
            return physical_schema(data_type, mode)
        case ArrayType(element_type=element):
            return replace(data_type, element_type=_physical_type(element, mode))
        case MapType(key_type=key, value_type=value):
            inner_key, inner_value = _physical_type(key, mode), _physical_type(value, mode)
            return replace(data_type, key_type=inner_key, value_type=inner_value)
        case _:
            return data_type


def _problem(text: str, mode: MappingMode) -> Problem:
    return Problem(
        kind="schema_invalid",
        problem=f"The column {text}",
        reason=f"With column mapping in {mode} mode every column needs both, and ids differ.",
        remedy="Restore the commit that changed the schema, or set the mode again.",
        spec="Column Mapping",
    )
