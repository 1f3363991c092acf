"""What follows a commit: the version's checksum, and a checkpoint where the table's interval asks
for one (spec: Version Checksum File, Checkpoints)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID, uuid4

from explorer.errors import DeltaError, Problem
from explorer.log.checkpoint_writing.checkpoint_writer import WrittenCheckpoint, write_checkpoint
from explorer.log.checkpoint_writing.checksum_writer import build_checksum, write_checksum
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.table_properties.known_properties import CHECKPOINT_INTERVAL
from explorer.storage.ports import WriteStore
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table


def ensure_checksum(store: WriteStore, snapshot: Snapshot) -> bool:
    """Write the checksum of a version, and say whether: one that is there stays."""
    return write_checksum(store, snapshot.version, snapshot.consult(build_checksum))


def ensure_checkpoint(
    store: WriteStore,
    snapshot: Snapshot,
    *,
    now: datetime,
    new_uuid: Callable[[], UUID] = uuid4,
    watch: Watch = UNWATCHED,
) -> WrittenCheckpoint | None:
    """Write a checkpoint of a version; None where one that can be used is there."""
    held = snapshot.segment.checkpoint
    if held is not None and held.version == snapshot.version:
        return None
    return snapshot.consult(
        lambda loaded: write_checkpoint(store, loaded, now=now, new_uuid=new_uuid, watch=watch)
    )


def follow_commit(
    store: WriteStore,
    table: Table,
    version: int,
    now: datetime,
    watch: Watch = UNWATCHED,
    *,
    new_uuid: Callable[[], UUID] = uuid4,
) -> tuple[Problem, ...]:
    """What belongs to a commit that was made; problems say what of it could not be done. Nothing
    of it makes a committed write look failed, not even that somebody cancels it."""
    try:
        snapshot = table.snapshot(version=version)
    except DeltaError as error:
        return (_not_done(version, "checksum", error),)
    found: list[Problem] = []
    try:
        ensure_checksum(store, snapshot)
    except DeltaError as error:
        found.append(_not_done(version, "checksum", error))
    interval = CHECKPOINT_INTERVAL.value_of(snapshot.metadata.configuration)
    if not version or version % interval:
        return tuple(found)
    try:
        ensure_checkpoint(store, snapshot, now=now, new_uuid=new_uuid, watch=watch)
    except DeltaError as error:
        found.append(_not_done(version, "checkpoint", error))
    return tuple(found)


def _not_done(version: int, what: str, error: DeltaError) -> Problem:
    return Problem(
        kind=error.kind,
        problem=f"Version {version} is committed, and has no {what}.",
        reason=f"{error.problem} {error.reason}",
        remedy=f"The rows are written. `delta-explorer checkpoint` writes what is missing; "
        f"readers do without a {what}.",
    )
