"""Which fields of a table one data file holds, by the schema of its footer
(spec: Column Mapping, Data Files)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from explorer.protocol.actions import FieldPath
from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.table_properties.known_properties import MappingMode
from explorer.rows.conversion.field_matching import has_ids, match_fields, parquet_id


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterFields:
    """What a file holds of a table's fields.

    `absent` maps the logical path of each field that the file lacks to the reason; a field
    inside one that is absent is left out. `unused` are the columns of the file that no field
    of the table reads, each with its field id or None; those of the root alone. `is_unrelated`
    says that the file has rows and no column in common with the table.
    """

    absent: dict[FieldPath, str]
    unused: tuple[tuple[str, int | None], ...]
    is_unrelated: bool = False


def match_file(found: pa.Schema, wanted: Sequence[StructField], mode: MappingMode) -> FooterFields:
    """Compare a file's own schema with the fields that it should hold, partition columns left
    out; raises `CorruptDataError` where two columns of the file answer to one field."""
    absent: dict[FieldPath, str] = {}
    used = set(_match(list(found), wanted, (), _Asked(mode=mode, ids=has_ids(list(found))), absent))
    unused = ((item.name, parquet_id(item)) for at, item in enumerate(found) if at not in used)
    return FooterFields(absent=absent, unused=tuple(unused))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """By what columns are looked for, and whether the file has ids at all."""

    mode: MappingMode
    ids: bool


def _match(
    found: Sequence[pa.Field],
    wanted: Sequence[StructField],
    above: FieldPath,
    asked: _Asked,
    absent: dict[FieldPath, str],
) -> list[int]:
    """The positions of the columns that are read; what is not there goes into `absent`."""
    places = match_fields(found, wanted, asked.mode)
    used = []
    for item, at in zip(wanted, places, strict=True):
        path = (*above, item.name)
        if at is None:
            absent[path] = _reason(found, item, asked)
            continue
        used.append(at)
        for steps, struct, held in _structs(item.data_type, found[at].type):
            _match(held, struct.fields, (*path, *steps), asked, absent)
    return used


def _structs(
    wanted: DataType, held: pa.DataType
) -> Iterator[tuple[FieldPath, StructType, list[pa.Field]]]:
    """The structs that both types hold at the same place, with the way to each."""
    stack: list[tuple[FieldPath, DataType, pa.DataType]] = [((), wanted, held)]
    while stack:
        steps, kind, found = stack.pop()
        match kind:
            case StructType() if pa.types.is_struct(found):
                yield steps, kind, [found.field(at) for at in range(found.num_fields)]
            case ArrayType(element_type=element) if hasattr(found, "value_type"):
                stack.append(((*steps, "element"), element, found.value_type))
            case MapType(key_type=key, value_type=value) if pa.types.is_map(found):
                stack.append(((*steps, "value"), value, found.item_type))
                stack.append(((*steps, "key"), key, found.key_type))


def _reason(found: Sequence[pa.Field], item: StructField, asked: _Asked) -> str:
    names = {column.name for column in found}
    if asked.mode == "none":
        return NO_COLUMN
    if asked.mode == "id" and not asked.ids:
        return NO_IDS
    if physical_name(item, asked.mode) != item.name and item.name in names:
        return LOGICAL_NAME
    return NO_COLUMN


NO_COLUMN = "the file has no such column: it was written before the column was added, or without it"
NO_IDS = "the file has no field ids: it was written without column mapping"
LOGICAL_NAME = "the file names it by its logical name: it was written without column mapping"
