"""Properties that files and other versions rest on (spec: Row Tracking, In-Commit Timestamps,
Checkpoint Protection)."""

from __future__ import annotations

from typing import Final

from explorer.protocol.features.column_mapping import physical_name
from explorer.protocol.schema_walk import walk_fields
from explorer.protocol.table_properties.known_properties import (
    CHECKPOINT_PROTECTION_VERSION,
    DELETION_VECTORS,
    IN_COMMIT_TIMESTAMP_TIME,
    IN_COMMIT_TIMESTAMP_VERSION,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    SYMLINK_MANIFEST,
)
from explorer.protocol.table_properties.properties import PROPERTIES
from explorer.table.times import has_in_commit_timestamps
from explorer.transaction.rules.change import Change, Described, Problems, problem, shown

_ROW_COLUMNS: Final = (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN)
_SINCE_WHEN: Final = (IN_COMMIT_TIMESTAMP_VERSION, IN_COMMIT_TIMESTAMP_TIME)


def validate_property_changes(change: Change) -> Problems:
    """Properties that this commit sets to what cannot be read, or to what files and other
    versions contradict."""
    yield from _new_properties(change)
    yield from _listed_in_manifests(change)
    yield from _row_tracking(change.after)
    yield from _row_tracking_begins(change)
    yield from _enablement(change)
    if change.before is not None:
        yield from _row_columns(change, change.before)
        yield from _protected_checkpoints(change, change.before)


def validate_properties_that_wake(change: Change) -> Problems:
    """The same of properties that stand in the metadata already and have an effect from this
    commit's protocol on."""
    if change.before is not None and not change.before.has_active("rowTracking"):
        yield from _row_tracking(change.after)
        yield from _row_tracking_begins(change)


def _new_properties(change: Change) -> Problems:
    before = {} if change.before is None else change.before.metadata.configuration
    after = change.after.metadata.configuration
    for item in PROPERTIES.values():
        if item.text_in(after) != item.text_in(before):
            found = item.validate(after)
            if found is not None:
                yield found


def _listed_in_manifests(change: Change) -> Problems:
    """Whoever reads by manifests knows no deletion vectors."""
    before = change.before
    if _hides_rows_in_manifests(change.after) and not (before and _hides_rows_in_manifests(before)):
        yield problem(
            f"`{DELETION_VECTORS.name}` and `{SYMLINK_MANIFEST.name}` are both true: readers of "
            "the manifests would see deleted rows.",
            "Manifests list files alone, and say nothing of deletion vectors.",
            spec="Deletion Vectors",
            remedy=f"Set `{SYMLINK_MANIFEST.name}` to false first.",
        )


def _hides_rows_in_manifests(table: Described) -> bool:
    configuration = table.metadata.configuration
    hides = DELETION_VECTORS.value_of(configuration)
    return hides and SYMLINK_MANIFEST.value_of(configuration)


def _row_tracking(after: Described) -> Problems:
    """What has to be there before row ids may be relied on."""
    configuration = after.metadata.configuration
    if not after.has_active("rowTracking"):
        return
    if ROW_TRACKING_SUSPENDED.value_of(configuration):
        yield problem(
            f"`{ROW_TRACKING.name}` and `{ROW_TRACKING_SUSPENDED.name}` are both true.",
            "Rows cannot be identified by ids that are not assigned.",
            spec="Row Tracking",
            remedy=f"Set `{ROW_TRACKING_SUSPENDED.name}` to false.",
        )
    places = list(walk_fields(after.schema))
    taken = {place.field.name.lower() for place in places}
    taken |= {physical_name(place.field, after.mode).lower() for place in places}
    names = [item.value_of(configuration) for item in _ROW_COLUMNS]
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
    # a promise speaks of the files that were seen, and only who read them all hears of others
    seen = ROW_TRACKING.name in validated and change.has_read_every_row
    seen = seen or change.removes_every_live_file  # the others get theirs
    if known and change.after.has_active("rowTracking") and not seen:
        yield problem(
            "Row tracking is enabled, but nobody checked that every file has row ids.",
            "From this version on every row has an id that may be relied on.",
            spec="Writer Requirements for Row Tracking",
            remedy="Add the files that have none again first, so that they get them.",
        )


def _row_columns(change: Change, before: Described) -> Problems:
    """Ids that were kept stand in the files under these names."""
    if not (before.has_active("rowTracking") and change.after.has_active("rowTracking")):
        return
    held, wanted = before.metadata.configuration, change.after.metadata.configuration
    changed = [
        item.name
        for item in _ROW_COLUMNS
        if item.value_of(held) and item.value_of(held) != item.value_of(wanted)
    ]
    if changed:
        yield problem(
            f"The commit changes {shown(changed)} while row tracking is enabled.",
            "Files that were written before keep ids of rows under the former name, and these "
            "rows would get others.",
            spec="Row Tracking",
            remedy="Leave the names as they are.",
        )


def _enablement(change: Change) -> Problems:
    """Since when commits carry their own time is told by the commit that began with it; no
    later one may say otherwise. A table that has them from its first version says nothing."""
    after, before = change.after, change.before
    if not has_in_commit_timestamps(after.protocol, after.metadata):
        return
    wanted = [item.text_in(after.metadata.configuration) for item in _SINCE_WHEN]
    if before is not None and has_in_commit_timestamps(before.protocol, before.metadata):
        wrong = wanted != [item.text_in(before.metadata.configuration) for item in _SINCE_WHEN]
    else:  # a commit that begins with them upon a table fills both in itself
        wrong = change.creates and wanted.count(None) == 1
    if wrong:
        yield problem(
            f"The commit sets {shown([item.name for item in _SINCE_WHEN])} by hand.",
            "Readers go by them to know which clock a version's time is of, and would find other "
            "versions by time.",
            spec="In-Commit Timestamps",
            remedy="Leave both as they are: the commit that enables the feature fills them in.",
        )


def _protected_checkpoints(change: Change, before: Described) -> Problems:
    """The version up to which checkpoints are protected only ever grows."""
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
