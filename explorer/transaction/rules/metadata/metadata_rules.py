"""How metadata may change as a whole (spec: Change Metadata); what concerns one property or one
column has a module of its own beside this one."""

from __future__ import annotations

from collections import Counter
from typing import Final

from explorer.errors import DeltaError, Problem
from explorer.protocol.features.type_widening import validate_type_changes
from explorer.protocol.file_format import validate_format
from explorer.protocol.schema import (
    DecimalType,
    PrimitiveType,
    StructField,
    parse_schema,
)
from explorer.protocol.schema_walk import missing_schema, validate_schema
from explorer.transaction.rules.change import REPORT, Change, Described, Problems, problem, shown
from explorer.transaction.rules.metadata.field_rules import validate_fields, validate_new_types
from explorer.transaction.rules.metadata.identity_rules import validate_identity
from explorer.transaction.rules.metadata.mapping_rules import (
    validate_mapping_change,
    validate_mapping_that_wakes,
)
from explorer.transaction.rules.metadata.property_rules import (
    validate_properties_that_wake,
    validate_property_changes,
)

_UNPARTITIONABLE: Final = frozenset({"variant", "void"})


def validate_metadata_change(change: Change) -> Problems:
    """Everything that is wrong with the metadata of a commit, where it has any; of one that
    brings a protocol alone, with what has an effect in them from then on."""
    if not change.changes_metadata:
        if change.changes_protocol and change.before is not None:
            yield from _that_wakes(change, change.before)
        return
    unreadable = list(_unreadable(change))
    yield from unreadable
    yield from validate_schema(change.after.schema)
    yield from validate_format(change.after.metadata)
    yield from validate_type_changes(change.after.schema)
    yield from validate_property_changes(change)
    yield from _partitioning(change)
    yield from validate_mapping_change(change)
    yield from validate_identity(change)
    yield from validate_new_types(change)
    if change.before is not None:
        yield from _identity_of_table(change, change.before)
        if not unreadable:  # else every column would be gone
            yield from validate_fields(change, change.before)


def _that_wakes(change: Change, before: Described) -> Problems:
    yield from validate_mapping_that_wakes(change, before)
    yield from validate_properties_that_wake(change)
    if change.after.has_active("typeWidening") and not before.has_active("typeWidening"):
        yield from validate_type_changes(change.after.schema)


def _unreadable(change: Change) -> Problems:
    if change.after.metadata.schema_string is None:
        yield missing_schema()
    try:
        parse_schema(change.after.metadata.schema_string)
    except DeltaError as error:
        yield Problem.of(error)


def _identity_of_table(change: Change, before: Described) -> Problems:
    if change.after.metadata.id != before.metadata.id:
        yield problem(
            "The commit gives the table another id.",
            "Its id is what streams and checksums know the table by.",
            spec="Change Metadata",
            remedy=REPORT,
        )


def _partitioning(change: Change) -> Problems:
    after = change.after
    columns = after.metadata.partition_columns
    by_name = {field.name: field for field in after.schema.fields}
    if missing := [name for name in columns if name not in by_name]:
        yield problem(
            f"Partition columns are not in the schema: {shown(missing)}.",
            "A partition value belongs to a column of the table.",
            spec="Change Metadata",
            remedy="Name columns of the schema, in its spelling.",
        )
    wrong = [name for name in columns if name in by_name and not _may_partition(by_name[name])]
    if wrong:
        yield problem(
            f"No table can be partitioned by {shown(wrong)}.",
            "There is no rule to write values of that type as text.",
            spec="Partition Value Serialization",
            remedy="Partition by columns of simple types.",
        )
    before = change.before
    if not change.staged.promises.recommits:
        yield from _layout(after, before)
    if before is None or _in_files(after) == _in_files(before):
        return  # files name them by what a rename leaves as it is
    if not (change.removes_every_live_file or change.is_restore):
        yield problem(
            "The commit changes the partition columns.",
            "Every live file was laid out by the old ones, and this commit did not replace them.",
            spec="Change Metadata",
            remedy="Rewrite the table instead.",
        )


def _in_files(table: Described) -> list[str]:
    """The partition columns as files name them."""
    physical = {field.name: table.physical_name(field) for field in table.schema.fields}
    return [physical.get(name, name) for name in table.metadata.partition_columns]


def _layout(after: Described, before: Described | None) -> Problems:
    """How rows are divided among columns and folders; one that a table has already stands in
    no one's way."""
    columns = after.metadata.partition_columns
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice and (before is None or columns != before.metadata.partition_columns):
        yield problem(
            f"Partition columns are named twice: {shown(twice)}.",
            "A file has one value of each.",
            spec="Change Metadata",
            remedy="Name each column once.",
        )
    if _leaves_none(after) and (before is None or not _leaves_none(before)):
        yield problem(
            "Every column of the table is a partition column.",
            "Data files hold the other columns, and none would be left for them.",
            spec="Change Metadata",
            remedy="Partition by fewer columns.",
        )


def _leaves_none(table: Described) -> bool:
    columns = table.metadata.partition_columns
    return bool(columns) and set(table.schema.names) <= set(columns)


def _may_partition(field: StructField) -> bool:
    kind = field.data_type
    if isinstance(kind, PrimitiveType):
        return kind.name not in _UNPARTITIONABLE
    return isinstance(kind, DecimalType)
