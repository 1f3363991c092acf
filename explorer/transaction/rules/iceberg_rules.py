"""What keeps a table convertible to Iceberg (spec: Iceberg Compatibility V1 and V2, and
Materialize Partition Columns)."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.protocol.features.column_mapping import field_id, physical_name
from explorer.protocol.features.iceberg import (
    ICEBERG_V1,
    ICEBERG_V2,
    nested_ids,
    ways_into,
)
from explorer.protocol.schema import (
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path, walk_fields, walk_types
from explorer.protocol.table_properties.known_properties import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2
from explorer.table.counts import have
from explorer.transaction.rules.change import Change, Problems, problem, shown
from explorer.transaction.rules.files.file_rules import counts_of
from explorer.transaction.rules.metadata.type_rules import newly_recorded_changes
from explorer.transaction.staged import ValidatedRule

_V1, _V2 = ICEBERG_V1, ICEBERG_V2
_PROPERTIES: Final = {_V1: ICEBERG_COMPAT_V1, _V2: ICEBERG_COMPAT_V2}
_MOST_IDS: Final = 2**31
_V2_TYPES: Final = frozenset(
    {
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "string",
        "binary",
        "boolean",
        "timestamp",
        "timestamp_ntz",
        "date",
    }
)


def validate_iceberg(change: Change) -> Problems:
    """The rules of whichever version is active; both at once is one of them."""
    after = change.after
    active = [name for name in (_V1, _V2) if after.has_active(name)]
    if len(active) > 1:
        yield _problem(_V2, "Both sets of rules for Iceberg are active.")
    for name in active:
        yield from _table(change, name)
        yield from _files(change, name)
        if change.changes_metadata:
            yield from _schema(change, name)
    holds = after.supports("materializePartitionColumns") or active
    promised = change.staged.promises.holds_partition_columns
    if holds and after.partition_fields and change.files_written.num_rows and not promised:
        yield problem(
            "The data files of this table hold the partition columns too, and it is unknown "
            "whether those of the commit do.",
            "Readers of Iceberg look for the values in the files.",
            spec="Materialize Partition Columns (proposed)" if not active else _spec(active[0]),
            remedy="Write the files with their partition columns behind the others.",
        )
    if change.changes_metadata or change.changes_protocol:
        yield from _widened_types(change, active)


def _widened_types(change: Change, active: list[str]) -> Problems:
    """Type changes that Iceberg does not know are not made once a set of rules is supported;
    none may be left of those made before when it becomes active (spec: Writer Requirements for
    Type Widening)."""
    after, before = change.after, change.before
    if not any(after.supports(name) for name in (_V1, _V2)):
        return
    if change.staged.promises.recommits and not active:
        return  # they come back
    begins = any(before is None or not before.has_active(name) for name in active)
    judged = newly_recorded_changes(None if begins else before, after)
    wrong = [item for item in judged if not _is_known_to_iceberg(item.from_type, item.to_type)]
    if wrong:
        names = [
            f"{render_path(item.path)[:60]} from {_text(item.from_type)} to {_text(item.to_type)}"
            for item in wrong
        ]
        yield problem(
            f"Iceberg does not know such a change of a type: {shown(names)}.",
            "The table is to be convertible to Iceberg, where older files are read by other rules "
            "of widening.",
            spec="Writer Requirements for Type Widening",
            remedy="Add a column of the new type instead.",
        )


def _is_known_to_iceberg(before: DataType | None, after: DataType | None) -> bool:
    match before, after:
        case PrimitiveType(name="byte" | "short" | "integer"), PrimitiveType(name="double"):
            return False
        case PrimitiveType(name="date"), PrimitiveType(name="timestamp_ntz"):
            return False
        case PrimitiveType(name="byte" | "short" | "integer" | "long"), DecimalType():
            return False
        case DecimalType(), DecimalType():
            return before.scale == after.scale
        case _:
            return True  # no reader follows the others at all, which is told elsewhere


def _text(kind: DataType | None) -> str:
    return "an unknown type" if kind is None else render_type(kind)[:40]


def _table(change: Change, name: str) -> Problems:
    after = change.after
    if after.mode == "none":
        yield _problem(name, "Column mapping is off; it must be on, by name or by id.")
    if name == _V1 and after.supports("deletionVectors"):
        yield _problem(name, "The table supports deletion vectors, which rule set 1 forbids.")
    if name == _V2 and after.has_active("deletionVectors"):
        yield _problem(name, "Deletion vectors are on, which rule set 2 forbids.")
    before = change.before
    if before is None:
        return
    if not (before.has_active(name) or _is_convertible(change, name)):
        yield _problem(
            name,
            "The commit begins to keep the table convertible, but nobody checked that its files "
            "can be converted.",
        )
    if not before.metadata.partition_columns or not change.changes_metadata:
        return
    if before.metadata.partition_columns != after.metadata.partition_columns:
        yield _problem(name, "The commit partitions the table by other columns.")


def _is_convertible(change: Change, name: str) -> bool:
    """Whether every file that there will be is known to be one that Iceberg takes: each was
    looked at and none comes unseen, or was one already, or is judged now."""
    promised = ValidatedRule(key=_PROPERTIES[name].name, expression="")
    found = promised in change.staged.promises.validated and change.has_read_every_row
    return found or change.is_restore or change.removes_every_live_file


def _files(change: Change, name: str) -> Problems:
    adds = change.adds
    if not adds.num_rows:
        return
    if missing := counts_of(adds).null_count:
        yield _problem(name, f"{have(missing, 'file')} no numRecords.")
    if pc.any(adds.column("deletion_vector").is_valid()).as_py():
        yield _problem(name, "A file has a deletion vector.")


def _schema(change: Change, name: str) -> Problems:
    schema = change.after.schema
    kinds = list(walk_types(schema))
    wrong: list[DataType]
    if name == _V1:
        wrong = [kind for kind in kinds if isinstance(kind, ArrayType | MapType) or kind == VOID]
    else:
        wrong = [kind for kind in kinds if not _may_stand_in_v2(kind)]
    if wrong:
        names = sorted({_name(kind) for kind in wrong})
        yield _problem(name, f"The schema has types that Iceberg does not take: {shown(names)}.")
    if name == _V2:
        yield from _nested(schema, name)


def _nested(schema: StructType, name: str) -> Problems:
    """Elements of arrays, keys and values of maps have ids, kept by the field around them and
    named by the way to them, as `col.value.element`."""
    fields = [place.field for place in walk_fields(schema)]
    lacking = [field.name for field in fields if not _has_nested_ids(field)]
    if lacking:
        yield _problem(name, f"Elements, keys and values of {shown(lacking)} have no ids.")
    nested = [number for field in fields for number in nested_ids(field).values()]
    if wrong := [number for number in nested if not _is_id(number)]:
        yield _problem(name, f"{shown([str(number) for number in wrong])} is not an id of 32 bits.")
    known = [number for field in fields if (number := field_id(field)) is not None]
    counts = Counter(number for number in (*nested, *known) if _is_id(number))
    if twice := [str(number) for number, count in counts.items() if count > 1]:
        yield _problem(name, f"Ids are given out twice: {shown(twice)}.")


def _has_nested_ids(field: StructField) -> bool:
    """Whether all of them are under one name: a reader looks by one."""
    ways, ids = list(ways_into(field.data_type)), nested_ids(field)
    # the specification says the name, and a renamed column keeps its keys
    names = {field.name, physical_name(field, "name")}
    return any(all(f"{name}{way}" in ids for way in ways) for name in names)


def _is_id(number: object) -> bool:
    return type(number) is int and 0 < number < _MOST_IDS


def _may_stand_in_v2(kind: object) -> bool:
    if isinstance(kind, PrimitiveType):
        return kind.name in _V2_TYPES
    return isinstance(kind, ArrayType | MapType | StructType | DecimalType)


def _name(kind: object) -> str:
    return str(getattr(kind, "name", type(kind).__name__.removesuffix("Type").lower()))


def _spec(name: str) -> str:
    return f"Iceberg Compatibility {name[-2:]}"


def _problem(name: str, text: str) -> Problem:
    return problem(
        text,
        f"`{name}` is active: after each commit the table must be convertible to Iceberg.",
        spec=_spec(name),
        remedy="Keep to the rules, or set its property to false.",
    )
