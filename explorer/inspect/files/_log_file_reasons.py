"""Why a file of the log folder is still there (spec: Metadata Cleanup, V2 Spec)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.errors import DeltaError
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.listing import CheckpointFiles, LogListing
from explorer.progress import Watch
from explorer.protocol.filenames import (
    LOG_FOLDER,
    SIDECAR_FOLDER,
    STAGED_COMMIT_FOLDER,
    LogFileKind,
    LogFileName,
    meant_name,
    parse_log_file_name,
)
from explorer.protocol.table_properties.known_properties import LOG_CLEANUP, LOG_RETENTION
from explorer.storage.ports import ReadStore
from explorer.table.retention import DAY_MS, milliseconds
from explorer.table.times import commit_times

_NEVER_CUT = "the table turns log cleanup off (delta.enableExpiredLogCleanup is false)"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFileReason:
    """What it is, why it stays, and when a log cleanup may delete it, in milliseconds since
    1970; None where no cleanup may."""

    kind: str
    why: str
    deletable_from_ms: int | None = None


def reason_of_log_file(
    store: ReadStore,
    path: str,
    listing: LogListing,
    configuration: Mapping[str, str],
    watch: Watch,
) -> LogFileReason:
    """The reason of a path below the log folder."""
    if path.startswith(f"{SIDECAR_FOLDER}/"):
        return _sidecar(store, path, listing, watch)
    name = path.removeprefix(f"{LOG_FOLDER}/")
    if path.startswith(f"{STAGED_COMMIT_FOLDER}/"):
        return LogFileReason(
            kind="staged commit",
            why="a commit for a catalog to publish; the catalog deletes it",
        )
    parsed = parse_log_file_name(name)
    if parsed is None:
        meant = meant_name(name)
        why = "the log has no files of this name: readers ignore it, and neither vacuum nor a log "
        why += "cleanup touches it"
        if meant is not None:
            why = "its version is not written with twenty digits: readers that follow the "
            why += "specification ignore it, and neither vacuum nor a log cleanup touches it here; "
            why += f"Delta Spark takes it for a {meant.kind.value} of version {meant.version}"
        return LogFileReason(kind="foreign to the log", why=why)
    if parsed.kind is LogFileKind.LAST_CHECKPOINT:
        return LogFileReason(
            kind="hint to the newest checkpoint",
            why="readers look there first",
        )
    return _of_version(store, parsed, listing, configuration)


def _of_version(
    store: ReadStore, parsed: LogFileName, listing: LogListing, configuration: Mapping[str, str]
) -> LogFileReason:
    version = parsed.version or 0
    if any(parsed.name in found.names for found in listing.incomplete_checkpoints):
        return LogFileReason(
            kind="part of an incomplete checkpoint",
            why=f"the other parts of the checkpoint of version {version} are missing; readers "
            "ignore it, and a log cleanup deletes it with its version",
        )
    kind = f"{parsed.kind.value} of version {version}"
    if parsed.last_version is not None:
        kind = f"log compaction of versions {version} to {parsed.last_version}"
    newest = listing.checkpoints[-1].version if listing.checkpoints else -1
    needed = _needed(parsed, newest)
    if (unread := LOG_CLEANUP.unread_in(configuration)) is not None:
        return LogFileReason(
            kind=kind, why=f"{needed}; whether it may be deleted is unknown: {unread}"
        )
    if not LOG_CLEANUP.value_of(configuration):
        return LogFileReason(kind=kind, why=f"{needed}; {_NEVER_CUT}")
    later = _next_checkpoint(listing, parsed, version)
    if later is None:
        why = f"{needed}; a log cleanup may delete it only once a later checkpoint is old enough"
        return LogFileReason(kind=kind, why=why)
    if (unread := LOG_RETENTION.unread_in(configuration)) is not None:
        why = f"{needed}; when a log cleanup may delete it is unknown: {unread}"
        return LogFileReason(kind=kind, why=why)
    retention = LOG_RETENTION.value_of(configuration)
    moment = _committed_ms(store, listing, later.version)
    text = f"{needed}; a log cleanup may delete it once the checkpoint of version {later.version} "
    text += "is older than delta.logRetentionDuration"
    if moment is None:
        return LogFileReason(kind=kind, why=f"{text}; when that was committed is unknown")
    midnight = -(-moment // DAY_MS) * DAY_MS  # a cleanup counts from midnight
    return LogFileReason(kind=kind, why=text, deletable_from_ms=midnight + milliseconds(retention))


def _needed(parsed: LogFileName, newest: int) -> str:
    version = parsed.version or 0
    if parsed.kind is LogFileKind.CHECKSUM:
        return f"it lets readers check version {version}"
    if parsed.kind is LogFileKind.COMPACTION:
        return "it lets readers read one file instead of the commits one by one"
    if parsed.kind is LogFileKind.COMMIT:
        if version > newest:
            return "the latest version cannot be opened without it"
        return f"version {version}, its history and its changes need it"
    if version == newest:
        return "the latest version is read from it"
    return f"version {version} and those after it are read from it"


def _next_checkpoint(
    listing: LogListing, parsed: LogFileName, version: int
) -> CheckpointFiles | None:
    """The first checkpoint at which the log could be cut so that this file goes."""
    least = version if parsed.kind is LogFileKind.COMPACTION else version + 1
    return next((found for found in listing.checkpoints if found.version >= least), None)


def _committed_ms(store: ReadStore, listing: LogListing, version: int) -> int | None:
    if version not in listing.commits:
        return None
    upto = [number for number in listing.commits if number <= version]
    try:
        return commit_times(store, listing, upto, None)[-1]
    except DeltaError:
        return None


def _sidecar(store: ReadStore, path: str, listing: LogListing, watch: Watch) -> LogFileReason:
    named: list[int] = []
    unread = 0
    candidates = [found for found in listing.checkpoints if found.kind != "multi-part"]
    for done, found in enumerate(candidates):
        watch.step(done, len(candidates), "Reading checkpoints")
        try:
            names = read_checkpoint(store, found).sidecar_names
        except DeltaError:
            unread += 1
            continue
        if path.rpartition("/")[2] in names:
            named.append(found.version)
    if named:
        shown = ", ".join(map(str, named[:3])) + (" and others" if len(named) > 3 else "")
        many = "s" if len(named) > 1 else ""
        return LogFileReason(
            kind="sidecar",
            why=f"the checkpoint{many} of version{many} {shown} "
            f"{'list' if many else 'lists'} files in it; a log cleanup deletes it with the last "
            "checkpoint that names it",
        )
    if unread:
        return LogFileReason(
            kind="sidecar",
            why=f"no checkpoint that can be read names it, but {unread} cannot be read: whether "
            "it is needed is unknown",
        )
    stat = store.stat(path)
    midnight = -(-stat.modified_ms // DAY_MS) * DAY_MS
    return LogFileReason(
        kind="sidecar that no checkpoint names",
        why="it may belong to a checkpoint that is being written; a log cleanup deletes it once "
        "it is a day old",
        deletable_from_ms=midnight + DAY_MS,
    )
