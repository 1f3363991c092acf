"""How metadata may change (spec: Change Metadata, Column Mapping, Type Widening)."""

from __future__ import annotations

from typing import Final

from explorer.comparison.matched_fields import MatchedField, match_schemas
from explorer.errors import DeltaError, Problem
from explorer.protocol.features.column_mapping import (
    FIELD_ID_KEY,
    field_id,
    physical_name,
    validate_mapping,
)
from explorer.protocol.features.column_rules import DEFAULT_KEY, identity_column
from explorer.protocol.features.type_widening import validate_type_changes
from explorer.protocol.file_format import validate_format
from explorer.protocol.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    COLUMN_MAPPING_MAX_ID,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
)
from explorer.protocol.properties import PROPERTIES
from explorer.protocol.schema import (
    DecimalType,
    PrimitiveType,
    StructField,
    parse_schema,
)
from explorer.protocol.schema_walk import render_path, validate_schema, walk_fields
from explorer.transaction.rules.change import REPORT, Change, Described, Problems, problem, shown
from explorer.transaction.rules.type_rules import type_rule

_UNPARTITIONABLE: Final = frozenset({"variant", "void"})


def validate_metadata_change(change: Change) -> Problems:
    """Everything that is wrong with the metadata of a commit, where it has any."""
    if not change.changes_metadata:
        return
    yield from _unreadable(change)
    yield from validate_schema(change.after.schema)
    yield from validate_format(change.after.metadata)
    yield from validate_type_changes(change.after.schema)
    yield from _new_properties(change)
    yield from _partitioning(change)
    yield from _mapping(change)
    yield from _steps(change)
    yield from _row_tracking(change.after)
    yield from _row_tracking_begins(change)
    if change.before is not None:
        yield from _identity_of_table(change, change.before)
        yield from _fields(change, change.before)
        yield from _marks(change, change.before)


def _unreadable(change: Change) -> Problems:
    try:
        parse_schema(change.after.metadata.schema_string or "")
    except DeltaError as error:
        yield Problem.of(error)


def _new_properties(change: Change) -> Problems:
    """Properties that this commit sets to what cannot be read."""
    before = {} if change.before is None else change.before.metadata.configuration
    after = change.after.metadata.configuration
    for item in PROPERTIES.values():
        if item.text_in(after) != item.text_in(before):
            found = item.validate(after)
            if found is not None:
                yield found


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
    if before is None or columns == before.metadata.partition_columns:
        return
    if not change.staged.reads.whole_table:
        yield problem(
            "The commit changes the partition columns.",
            "Every live file was laid out by the old ones, and this commit did not replace them.",
            spec="Change Metadata",
            remedy="Write the table anew instead.",
        )


def _may_partition(field: StructField) -> bool:
    kind = field.data_type
    if isinstance(kind, PrimitiveType):
        return kind.name not in _UNPARTITIONABLE
    return isinstance(kind, DecimalType)


def _mapping(change: Change) -> Problems:
    """Modes, names and ids of columns (spec: Writer Requirements for Column Mapping)."""
    after, before = change.after, change.before
    yield from validate_mapping(after.schema, after.mode)
    mode_before = "none" if before is None else before.mode
    allowed = (
        change.creates
        or after.mode == mode_before
        or (mode_before, after.mode) == ("none", "name")
        or change.staged.reads.whole_table
    )
    if not allowed:
        yield problem(
            f"Column mapping cannot go from {mode_before} to {after.mode}.",
            "The data files name their columns by the old mode, or have no ids.",
            spec="Writer Requirements for Column Mapping",
            remedy="Only from none to name can a table change without being rewritten.",
        )
    if after.mode == "none":
        return
    ids = [number for place in walk_fields(after.schema) if (number := field_id(place.field))]
    highest = COLUMN_MAPPING_MAX_ID.value_of(after.metadata.configuration)
    least = 0
    if before is not None:
        least = COLUMN_MAPPING_MAX_ID.value_of(before.metadata.configuration)
    if highest < max([least, *ids]):
        yield problem(
            f"`{COLUMN_MAPPING_MAX_ID.name}` is {highest}, below an id that was given out.",
            f"It must be {max([least, *ids])} or more, so that no id is given out twice.",
            spec="Writer Requirements for Column Mapping",
            remedy=REPORT,
        )


def _steps(change: Change) -> Problems:
    """Numbers of identity columns go on (spec: Identity Columns)."""
    before = set() if change.before is None else _still(change.before)
    if still := sorted(_still(change.after) - before):
        yield problem(
            f"{shown(still)} would have a step of 0.",
            "Every row would get the same number.",
            spec="Identity Columns",
            remedy="Count in another step, upwards or downwards.",
        )


def _still(table: Described) -> set[str]:
    places = walk_fields(table.schema)
    return {place.path for place in places if identity_column(place.field).step == 0}


def _row_tracking(after: Described) -> Problems:
    """What has to be there before row ids may be relied on."""
    configuration = after.metadata.configuration
    if not after.has_active("rowTracking"):
        return
    if ROW_TRACKING_SUSPENDED.value_of(configuration):
        yield problem(
            f"`{ROW_TRACKING.name}` and `{ROW_TRACKING_SUSPENDED.name}` are both true.",
            "Rows cannot be told by ids that nobody gives out.",
            spec="Row Tracking",
            remedy=f"Set `{ROW_TRACKING_SUSPENDED.name}` to false.",
        )
    places = list(walk_fields(after.schema))
    taken = {place.field.name.lower() for place in places}
    taken |= {physical_name(place.field, after.mode).lower() for place in places}
    names = [item.value_of(configuration) for item in (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN)]
    known = [name.lower() for name in names if name]
    if len(known) < len(names) or len(set(known)) < len(known) or taken & set(known):
        yield problem(
            "Row tracking is enabled without names of its own for the two hidden columns.",
            "Ids of rows that move are kept in these; they may not be called like any column.",
            spec="Writer Requirements for Row Tracking",
            remedy=f"Set `{ROW_ID_COLUMN.name}` and `{ROW_COMMIT_VERSION_COLUMN.name}`.",
        )


def _row_tracking_begins(change: Change) -> Problems:
    """Ids may be relied on from the version on in which every file has them."""
    known = change.before is not None and not change.before.has_active("rowTracking")
    validated = {rule.key for rule in change.staged.promises.validated}
    if known and change.after.has_active("rowTracking") and ROW_TRACKING.name not in validated:
        yield problem(
            "Row tracking is enabled, and nobody looked whether every file has row ids.",
            "From this version on every row has an id that may be relied on.",
            spec="Writer Requirements for Row Tracking",
            remedy="Add the files that have none again first, so that they get them.",
        )


def _fields(change: Change, before: Described) -> Problems:
    """Columns that were there before: their types, nulls and names in files."""
    if change.staged.reads.whole_table:
        return  # what every file holds was looked at, or is replaced
    validated = {rule.key for rule in change.staged.promises.validated}
    validate_type = type_rule(before, change.after)
    for match in match_schemas(before, change.after):
        if isinstance(match, MatchedField):
            yield from _matched_field(match, change.after, validated)
            continue
        yield from validate_type(match)
        if match.null_before and match.null_after is False:
            yield _null_problem(render_path(match.path_after))


def _matched_field(match: MatchedField, after: Described, validated: set[str]) -> Problems:
    old, new = match.before, match.after
    if new is None:
        return
    path = render_path(match.path_after)
    if old is None and DEFAULT_KEY in new.metadata:
        yield problem(
            f"The commit adds `{path[:120]}` and gives it a default at once.",
            "Rows that were written before would have to be told whether they get it.",
            spec="Default Columns",
            remedy="Add the column first, and set its default in a later commit.",
        )
    if not new.nullable and (old is None or old.nullable) and f"{path} nullable" not in validated:
        yield _null_problem(path)
    if old is None:
        return
    if after.mode != "none" and FIELD_ID_KEY in old.metadata:
        names = {physical_name(field, "name") for field in (old, new)}
        if len(names) > 1:
            yield problem(
                f"The commit changes the physical name of `{path}`.",
                "Files that were written before would lose the column.",
                spec="Writer Requirements for Column Mapping",
                remedy=REPORT,
            )


def _null_problem(path: str) -> Problem:
    return problem(
        f"`{path[:120]}` may no longer be null.",
        "Rows that were written before may have no value there, and nobody looked.",
        spec="Schema Serialization Format",
        remedy="Validate the column over all rows first.",
    )


def _marks(change: Change, before: Described) -> Problems:
    """What only ever grows: numbers of identity columns, protected checkpoints."""
    protected = [
        CHECKPOINT_PROTECTION_VERSION.value_of(item.metadata.configuration)
        for item in (before, change.after)
    ]
    if before.supports("checkpointProtection") and protected[1] < protected[0]:
        yield problem(
            f"`{CHECKPOINT_PROTECTION_VERSION.name}` goes from {protected[0]} to {protected[1]}.",
            "Checkpoints that old versions need would no longer be protected.",
            spec="Checkpoint Protection (proposed)",
            remedy="Leave it as it is; cleaning the history up to that version lifts it.",
        )
    for match in match_schemas(before, change.after):
        if isinstance(match, MatchedField) and match.before and match.after:
            yield from _identity(match.before, match.after, render_path(match.path_after))


def _identity(old: StructField, new: StructField, path: str) -> Problems:
    before, after = identity_column(old), identity_column(new)
    if before.step is None:
        return
    step, mark = before.step, before.high_water_mark
    fixed = (before.start, step, before.allow_explicit_insert)
    if after.step is not None and fixed != (after.start, after.step, after.allow_explicit_insert):
        yield problem(
            f"The commit changes how the numbers of `{path[:120]}` are made.",
            "Start, step and whether values may be given stay as the column was created.",
            spec="Identity Columns",
            remedy="Add another identity column instead.",
        )
    went = after.high_water_mark
    back = mark is not None and (went is None or (went - mark) * step < 0)
    if back and after.step is not None:
        yield problem(
            f"The last number given out for `{path[:120]}` goes back from {mark} to {went}.",
            "Numbers would be given out twice.",
            spec="Identity Columns",
            remedy=REPORT,
        )
