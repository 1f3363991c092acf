"""What keeps a table convertible to Iceberg (spec: Iceberg Compatibility V1 and V2, and
Materialize Partition Columns)."""

from __future__ import annotations

from typing import Final

import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.protocol.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructType
from explorer.protocol.schema_walk import walk_fields, walk_types
from explorer.transaction.rules.change import Change, Problems, problem, shown
from explorer.transaction.rules.file_rules import counts_of

_V1, _V2 = "icebergCompatV1", "icebergCompatV2"
_NESTED_IDS: Final = "parquet.field.nested.ids"
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
            "The data files of this table hold the partition columns too, and nobody says that "
            "those of the commit do.",
            "Readers of Iceberg look for the values in the files.",
            spec="Materialize Partition Columns (proposed)" if not active else _spec(active[0]),
            remedy="Write the files with their partition columns behind the others.",
        )


def _table(change: Change, name: str) -> Problems:
    after = change.after
    if after.mode == "none":
        yield _problem(name, "Column mapping is off; it must be on, by name or by id.")
    if name == _V1 and after.supports("deletionVectors"):
        yield _problem(name, "The table supports deletion vectors, which rule set 1 forbids.")
    if name == _V2 and after.has_active("deletionVectors"):
        yield _problem(name, "Deletion vectors are on, which rule set 2 forbids.")
    before = change.before
    if before is None or not before.metadata.partition_columns or not change.changes_metadata:
        return
    if before.metadata.partition_columns != after.metadata.partition_columns:
        yield _problem(name, "The commit partitions the table by other columns.")


def _files(change: Change, name: str) -> Problems:
    adds = change.adds
    if not adds.num_rows:
        return
    if missing := counts_of(adds).null_count:
        yield _problem(name, f"{missing:,} files do not say their numRecords.")
    if pc.any(adds.column("deletion_vector").is_valid()).as_py():
        yield _problem(name, "A file has a deletion vector.")


def _schema(change: Change, name: str) -> Problems:
    schema = change.after.schema
    kinds = list(walk_types(schema))
    if name == _V1:
        wrong = [kind for kind in kinds if isinstance(kind, ArrayType | MapType) or _is_void(kind)]
    else:
        wrong = [kind for kind in kinds if not _may_stand_in_v2(kind)]
    if wrong:
        names = sorted({_name(kind) for kind in wrong})
        yield _problem(name, f"The schema has types that Iceberg does not take: {shown(names)}.")
    if name == _V2:
        lacking = [
            place.path
            for place in walk_fields(schema)
            if isinstance(place.field.data_type, ArrayType | MapType)
            and not isinstance(place.field.metadata.get(_NESTED_IDS), dict)
        ]
        if lacking:
            yield _problem(name, f"Elements, keys and values of {shown(lacking)} have no ids.")


def _is_void(kind: object) -> bool:
    return kind == PrimitiveType(name="void")


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
