"""Table features with the commit that brought each (spec: Table Features, Protocol Evolution)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from explorer.errors import CorruptLogError, DeltaError
from explorer.inspect.commits.commit_lines import find_lines, read_commits
from explorer.inspect.frames import Column, build_frame
from explorer.inspect.table_features.feature_states import (
    FeatureState,
    feature_states,
    readable_schema,
)
from explorer.log.actions.columns import bool_column, int64_column, string_column
from explorer.log.commits.commit_file import parse_action
from explorer.log.commits.commit_info import parse_commit_info, text_in
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import missing_versions
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Protocol, parse_protocol
from explorer.protocol.features.registry import find_feature, supported_features
from explorer.protocol.filenames import render_commit_name, render_commit_path
from explorer.storage.ports import ObjectInfo
from explorer.table.table import Table

COLUMNS: dict[str, Column] = {
    "name": (string_column, pa.string()),
    "kind": (string_column, pa.string()),
    "known": (bool_column, pa.bool_()),
    "supported": (bool_column, pa.bool_()),
    "active": (bool_column, pa.bool_()),
    "since_version": (int64_column, pa.int64()),
    "since_exact": (bool_column, pa.bool_()),
    "by_operation": (string_column, pa.string()),
    "by_user": (string_column, pa.string()),
    "by_engine": (string_column, pa.string()),
    "log_file": (string_column, pa.string()),
    "line": (int64_column, pa.int64()),
    "description": (string_column, pa.string()),
    "spec": (string_column, pa.string()),
}

_KINDS = {"reader-writer": "reader and writer", "writer": "writer"}
_PROGRESS_EVERY = 256
_PROVENANCE = ("operation", "userName", "engineInfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolCommit:
    """A protocol action: the version that it stands in, its place, and who wrote it.

    Without a line it was not found in a commit but in the oldest checkpoint.
    """

    version: int
    protocol: Protocol
    line: int | None = None
    info: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a feature came from; not `exact` where the log before it is gone."""

    change: ProtocolCommit
    exact: bool


def features(
    table: Table,
    version: int | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per feature that the table supports, then one per other known feature.

    - `kind`: reader and writer, writer, or unknown; `known` to this release,
      `supported` by the protocol, `active` by the metadata
    - `since_version`: the commit that added it, last if it came and went, with
      its operation, user and engine, its `log_file` and `line`. Where
      `since_exact` is false the feature is older than that version and the log
      before it is gone; null where nothing is left that says
    - `description` and the section of the `spec`

    A table whose snapshot is refused answers too.
    """
    listing = table.listing()
    protocol, metadata = table.protocol(version), table.metadata(version)
    watch = Watch(progress=progress, cancel=cancel)
    changes = _protocol_changes(table, listing, version, watch)
    origins = find_origins(changes, listing.commits)
    states = feature_states(protocol, metadata, readable_schema(metadata))
    return build_frame(
        COLUMNS, [_row(name, state, origins.get(name)) for name, state in states.items()]
    )


def find_origins(changes: Sequence[ProtocolCommit], commits: tuple[int, ...]) -> dict[str, Origin]:
    """Where each feature of the last of `changes` came from.

    Both ascend. A protocol action repeats what was there before it, so it tells
    exactly what is new only where no commit is missing since the one before.
    """
    origins: dict[str, Origin] = {}
    known_until = -1
    for change in changes:
        exact = not missing_versions(commits, known_until + 1, change.version)
        origins = {
            name: origins.get(name) or Origin(change=change, exact=exact)
            for name in supported_features(change.protocol)
        }
        known_until = change.version
    return origins


def _protocol_changes(
    table: Table, listing: LogListing, version: int | None, watch: Watch
) -> list[ProtocolCommit]:
    last = listing.latest_version if version is None else version
    versions = [number for number in listing.commits if last is None or number <= last]
    changes: list[ProtocolCommit] = []
    if not versions or versions[0] > 0:
        changes.extend(_oldest_checkpoint(table, listing, last))
    if versions:
        found = _FOUND.upto(table, versions, watch)
        # commits may have been cleaned up since they were read
        present = set(versions)
        changes.extend(change for change in found if change.version in present)
    return sorted(changes, key=lambda change: change.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """The changes in all commits up to one, and what the store says of that one."""

    last: ObjectInfo
    version: int
    changes: tuple[ProtocolCommit, ...]


class _FoundChanges:
    """The protocol actions of tables that were looked at: a commit never changes, so that
    each is read once. Of a table that was made anew the newest commit tells."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[Table, _Read] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def upto(
        self, table: Table, versions: Sequence[int], watch: Watch
    ) -> tuple[ProtocolCommit, ...]:
        """Those in the commits `versions`, which ascend, and in some that may be gone or newer."""
        with self._lock:
            held = self._held.get(table)
        if held is not None and _stat(table, held.version) != held.last:
            held = None
        new = [number for number in versions if held is None or number > held.version]
        if held is not None and not new:
            return held.changes
        last = _stat(table, new[-1])
        changes = () if held is None else held.changes
        found, missed = _read_changes(table, new, watch)
        changes = (*changes, *found)
        if last is not None and not missed:  # what a store kept back may be there next time
            with self._lock:
                self._held[table] = _Read(last=last, version=new[-1], changes=changes)
        return changes


_FOUND = _FoundChanges()


def _stat(table: Table, version: int) -> ObjectInfo | None:
    try:
        return table.store.stat(render_commit_path(version))
    except DeltaError:
        return None


def _read_changes(
    table: Table, versions: Sequence[int], watch: Watch
) -> tuple[list[ProtocolCommit], bool]:
    """The changes in these commits, and whether one of them could not be had."""
    found: list[ProtocolCommit] = []
    missed = False
    commits = zip(versions, read_commits(table.store, versions), strict=True)
    for done, (number, data) in enumerate(commits):
        if done % _PROGRESS_EVERY == 0:
            watch.step(done, len(versions), "Reading protocol changes")
        if isinstance(data, DeltaError):
            missed = True
        else:
            found.extend(_changes_in(data, number))
    return found, missed


def _oldest_checkpoint(
    table: Table, listing: LogListing, last: int | None
) -> Iterator[ProtocolCommit]:
    for checkpoint in listing.checkpoints:
        if last is not None and checkpoint.version > last:
            return
        try:
            protocol = table.protocol(checkpoint.version)
        except DeltaError:
            continue  # a broken checkpoint; a later one says something, if less
        yield ProtocolCommit(version=checkpoint.version, protocol=protocol)
        return


def _changes_in(data: bytes, version: int) -> Iterator[ProtocolCommit]:
    name = render_commit_name(version)
    for number, line in find_lines(data, b'"protocol"'):
        try:
            body = parse_action(line, name, number).get("protocol")
            if body is None:
                continue  # the word stood elsewhere, in a column's name perhaps
            protocol = parse_protocol(body, f"{name}:{number}")
            told = parse_commit_info(data, version).body
            info = {key: told.get(key) for key in _PROVENANCE}
        except CorruptLogError:
            continue  # the timeline tells of broken commits
        yield ProtocolCommit(version=version, protocol=protocol, line=number, info=info)


def _row(name: str, state: FeatureState, origin: Origin | None) -> tuple[Any, ...]:
    entry = find_feature(name)
    change = None if origin is None or not state.supported else origin.change
    info = {} if change is None or change.info is None else change.info
    in_commit = change is not None and change.line is not None
    return (
        name,
        "unknown" if entry is None else _KINDS[entry.kind],
        entry is not None,
        state.supported,
        state.active,
        None if change is None else change.version,
        None if change is None or origin is None else origin.exact,
        text_in(info, "operation"),
        text_in(info, "userName"),
        text_in(info, "engineInfo"),
        render_commit_name(change.version) if change is not None and in_commit else None,
        None if change is None else change.line,
        None if entry is None else entry.description,
        None if entry is None else entry.spec,
    )
