"""What data files and columns have where a table is kept convertible to Iceberg (spec: Iceberg
Compatibility V1 and V2, and Materialize Partition Columns).

What its commits have to keep is in `explorer.transaction.rules.iceberg_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_mapping import NESTED_IDS_KEY, physical_name
from explorer.protocol.features.registry import is_active, is_supported
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.schema_walk import map_fields, walk_fields
from explorer.protocol.table_properties.known_properties import WRITE_PARTITION_COLUMNS

ICEBERG_V1: Final = "icebergCompatV1"
ICEBERG_V2: Final = "icebergCompatV2"
NESTED_ID_KEYS: Final = ("parquet.field.nested.ids", NESTED_IDS_KEY)
"""Where a field keeps the ids of what lies in its arrays and maps: by the specification, and
where the reference looks for them. Both are written."""

_IN_FILES: Final = "materializePartitionColumns"
_ICEBERG_V3: Final = "icebergCompatV3"
_RULE_SETS: Final = (ICEBERG_V1, ICEBERG_V2, _ICEBERG_V3)
_TAG: Final = "ICEBERG_COMPAT_VERSION"
_TAGGED: Final = {ICEBERG_V2: "2", _ICEBERG_V3: "3"}


def active_for_iceberg(protocol: Protocol, metadata: Metadata) -> tuple[str, ...]:
    """The sets of rules for Iceberg that are active; more than one is a contradiction."""
    return tuple(name for name in _RULE_SETS if is_active(name, protocol, metadata, None))


def holds_partition_columns(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether new data files hold the partition columns too, behind the others."""
    if is_supported(protocol, _IN_FILES) or active_for_iceberg(protocol, metadata):
        return True
    return bool(WRITE_PARTITION_COLUMNS.value_of(metadata.configuration))


def iceberg_tags(protocol: Protocol, metadata: Metadata) -> dict[str, str]:
    """What the reference tags adds with that were written by the second set of rules or the
    third: such a file is not written again when a table begins to be converted."""
    numbers = [_TAGGED[name] for name in active_for_iceberg(protocol, metadata) if name in _TAGGED]
    return {_TAG: numbers[-1]} if numbers else {}


def nested_ids(field: StructField) -> Mapping[str, object]:
    """The ids that a field keeps of elements, keys and values, by name and way."""
    held = (field.metadata.get(key) for key in NESTED_ID_KEYS)
    return next((ids for ids in held if isinstance(ids, dict)), {})


def ids_by_way(field: StructField) -> dict[str, object]:
    """The same by the way from the field alone, as `.value.element`; those that are missing
    are left out."""
    ids = nested_ids(field)
    # the specification says the name, the reference takes the one in files; a renamed column
    # keeps its keys
    names = dict.fromkeys((physical_name(field, "name"), field.name))
    found: dict[str, object] = {}
    for way in ways_into(field.data_type):
        for name in names:
            if f"{name}{way}" in ids:
                found.setdefault(way, ids[f"{name}{way}"])
    return found


def ways_into(kind: DataType) -> Iterator[str]:
    """`.element`, `.key` and `.value`, down to the next field."""
    if isinstance(kind, ArrayType):
        parts = {".element": kind.element_type}
    elif isinstance(kind, MapType):
        parts = {".key": kind.key_type, ".value": kind.value_type}
    else:
        return
    for way, below in parts.items():
        yield way
        yield from (f"{way}{further}" for further in ways_into(below))


def assign_nested_ids(schema: StructType, given: int) -> tuple[StructType, int]:
    """The mapped schema in which every element, key and value has an id, and the highest id.

    What has one keeps it. New ids are above `given`, which is at least the highest id of a
    column, and above those that are there.
    """
    held = [number for place in walk_fields(schema) for number in nested_ids(place.field).values()]
    highest = max([given, *(number for number in held if isinstance(number, int))])
    numbers = count(highest + 1)

    def assigned(field: StructField) -> StructField:
        nonlocal highest
        known = ids_by_way(field)
        ids: dict[str, object] = {}
        for way in ways_into(field.data_type):
            if way not in known:
                known[way] = highest = next(numbers)
            ids[f"{physical_name(field, 'name')}{way}"] = known[way]
        if not ids:
            return field
        return replace(field, metadata={**field.metadata, **dict.fromkeys(NESTED_ID_KEYS, ids)})

    return map_fields(schema, assigned), highest
