"""What each commit brings to a stream, or why it stops there (spec: Delta Log Entries).

A stream's rows are read by one schema: that of the version by which Spark was told its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison.schema_changes import SchemaChange, schema_changes
from explorer.errors import (
    CorruptLogError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from explorer.log.actions.record_counts import record_counts
from explorer.log.commits.commit_file import may_name
from explorer.log.plain_arrays import TRUE
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import Tail, replay_commit
from explorer.pipeline.source._stream_options import StreamOptions
from explorer.pipeline.tasks.change_tasks import build_change_tasks
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.features.registry import check_reader
from explorer.protocol.filenames import render_commit_path
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.rows.changes.change_range import (
    ChangeRange,
    TableState,
    breaking_changes,
    render_changes,
)
from explorer.rows.changes.feed import ChangeFeed
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import RowLayout
from explorer.rows.request import RowRequest
from explorer.table.counts import count as counted
from explorer.table.frames import with_logical_names
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

Found: TypeAlias = pa.Table | DeltaError
"""Files that a commit brings, or why the stream cannot read it."""

_SEEN_LATER: Final = frozenset(
    {"added", "dropped", "renamed", "type", "widened", "column mapping", "partitioning"}
)
"""Changes of the schema that a query notices which began before them."""
BEGIN_AGAIN: Final = (
    "To begin again, give the query another checkpoint location: without startingVersion it reads "
    "all rows of the table as it is now."
)


@dataclass(kw_only=True)
class StreamCommits:
    """The commits of a table as a stream with `options` reads them, by the schema of `known`.

    Those of the batch at hand are kept, because they are asked for twice: for its end, and for
    its rows.
    """

    table: Table
    known: Snapshot
    request: RowRequest
    options: StreamOptions
    _states: dict[int, TableState] = field(default_factory=dict)
    """What was in force, by the version from which on it was."""
    _checked: set[int] = field(default_factory=set)
    _found: dict[int, Found] = field(default_factory=dict)

    def walk(self, versions: range) -> Iterator[tuple[int, Found]]:
        """Each of the versions, oldest first, and what its commit brings: files with
        `FILE_COLUMNS` and `NUM_RECORDS`, or changes with `CHANGE_TASKS`. The log has, or had, a
        commit for each of them."""
        missing = [version for version in versions if version not in self._found]
        if missing:
            self._begin(missing[0])
        kept: dict[int, bytes] = {}
        feed = self._feed(missing, kept) if missing and self.options.feed else None
        read = self.table.store.read_many(map(render_commit_path, missing))
        for version in versions:
            if version not in self._found:
                kept.clear()
                try:
                    kept[version] = next(read)
                except NotFoundError:
                    yield version, commits_gone(version)
                    return
                self._found[version] = self._bring(version, kept[version], feed)
            yield version, self._found[version]

    def forget(self, before: int) -> None:
        """Drop what is kept of older commits."""
        for version in [version for version in self._found if version < before]:
            del self._found[version]

    def former_layouts(self, version: int) -> tuple[RowLayout, ...]:
        """By which layouts, beside the request's, files may have been written that the commit of
        this version removes."""
        if version not in self._states:
            return ()
        return self._feed([version], {}).former_layouts

    def check_state(self, state: TableState, version: int) -> None:
        """Raise where rows of a version with this protocol and metadata cannot be read by the
        stream's schema."""
        check_reader(state.protocol, self.table.uri)
        if state.metadata.id != self.known.metadata.id:
            raise InvalidArgumentError(
                f"At version {version} the table is another one.",
                reason=f"Its id is {state.metadata.id} there, and the query began with a table of "
                f"the id {self.known.metadata.id}.",
                remedy=BEGIN_AGAIN,
            )
        if self.options.feed and not state.feeds:
            raise UnsupportedError(
                f"The table records no changes at version {version}.",
                reason=f"{CHANGE_DATA_FEED.name} is not true there, so that updates need not have "
                "left both of their sides.",
                remedy="Enable it, and begin again with another checkpoint location and a "
                "startingVersion from then on.",
                kind="change_feed_unavailable",
                spec="Add CDC File",
            )
        if version > self.known.version:
            self._check_later(state, version)
        elif broken := breaking_changes(state, self.known):
            raise UnsupportedError(
                f"The rows of version {version} cannot be read by the columns of the stream.",
                reason=f"These are the columns of version {self.known.version}, and since then "
                f"the schema changed: {render_changes(broken)}.",
                remedy=BEGIN_AGAIN,
                kind="schema_mismatch",
            )

    def _check_later(self, state: TableState, version: int) -> None:
        changes = [change for change in schema_changes(self.known, state) if _is_seen(change)]
        modes = [
            column_mapping_mode(each.protocol, each.metadata.configuration)
            for each in (self.known, state)
        ]
        if not changes and modes[0] == modes[1]:
            return
        shown = render_changes(changes) or f"column mapping ({modes[0]} to {modes[1]})"
        raise UnsupportedError(
            f"Version {version} changed the columns of the table while the stream ran.",
            reason=f"The query began with those of version {self.known.version}; since then: "
            f"{shown}. All rows before version {version} have been read.",
            remedy="Load the table again and start the query with the same checkpoint location: "
            "it goes on with the new columns.",
            kind="schema_mismatch",
        )

    def _begin(self, version: int) -> None:
        """Know what was in force before the commit of a version."""
        if any(start < version for start in self._states) or not version:
            return
        self._states[version - 1] = self._state_at(version - 1)

    def _state_at(self, version: int) -> TableState:
        known = TableState(protocol=self.known.protocol, metadata=self.known.metadata)
        if version == self.known.version:
            return known
        try:
            return TableState(
                protocol=self.table.protocol(version), metadata=self.table.metadata(version)
            )
        except (CorruptLogError, NotFoundError) as error:
            # A cleanup may leave commits from which no version can be reconstructed. What is in
            # force now was so then, unless one of them says otherwise.
            later = range(version + 1, self.known.version + 1)
            if version > self.known.version or self._may_describe_table(later):
                raise CorruptLogError(
                    f"What the columns of version {version} were is no longer known.",
                    reason=error.problem,
                    remedy=BEGIN_AGAIN,
                    kind="log_gap",
                    spec="Metadata Cleanup",
                ) from error
            return known

    def _may_describe_table(self, versions: range) -> bool:
        """Whether one of these commits says, or may have said, what the table is."""
        read = self.table.store.read_many(map(render_commit_path, versions))
        for version in versions:
            try:
                data = next(read)
            except NotFoundError:
                # who reads the first says that it is gone, and no row is read
                return version != versions.start
            if may_name(data, "metaData", "protocol"):
                return True
        return False

    def _feed(self, versions: Sequence[int], kept: Mapping[int, bytes]) -> ChangeFeed:
        found = ChangeRange(
            table=self.table,
            listing=self.table.listing(),
            versions=range(versions[0], versions[-1] + 1),
            end=self.known,
            states=self._states,
            kept=kept,
        )
        return ChangeFeed(range=found, request=self.request)

    def _bring(self, version: int, data: bytes, feed: ChangeFeed | None) -> Found:
        try:
            tail = replay_commit(data, version)
            self._take_state(version, tail.small)
            if feed is not None:
                return build_change_tasks(iter([feed.commit(version)]))
            return self._files(version, tail)
        except StorageError:
            raise
        except DeltaError as error:
            # rows before it are still sent
            return error

    def _take_state(self, version: int, small: SmallActions) -> None:
        if not version:
            protocol, metadata = small.required(version)
            self._states[version] = TableState(protocol=protocol, metadata=metadata)
        since = max(start for start in self._states if start <= version)
        if small.protocol is not None or small.metadata is not None:
            before, since = self._states[since], version
            self._states[version] = TableState(
                protocol=small.protocol or before.protocol,
                metadata=small.metadata or before.metadata,
            )
        if since not in self._checked:
            self.check_state(self._states[since], version)
            self._checked.add(since)

    def _files(self, version: int, tail: Tail) -> pa.Table:
        adds, removes = (_changing(rows) for rows in (tail.adds, tail.removes))
        if removes.num_rows:
            is_skipped = self.options.skip_change_commits or (
                self.options.ignore_deletes and not adds.num_rows
            )
            if not is_skipped:
                raise _changes_rows(version, adds, removes)
            adds = adds.slice(0, 0)
        counts = record_counts(adds.column("stats"), None)
        files = adds.append_column(NUM_RECORDS, counts).select([*FILE_COLUMNS, NUM_RECORDS])
        return with_logical_names(files, self._names).sort_by("path")

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Logical names of columns by their physical ones."""
        layout = self.request.layout
        return {physical_name(item, layout.mapping): item.name for item in layout.schema.fields}


def commits_gone(version: int) -> CorruptLogError:
    """The error for a commit that the stream has not read yet, and that a cleanup removed."""
    return CorruptLogError(
        f"Version {version} is no longer in the log, and the stream has not read it.",
        reason="A log cleanup removed its commit: the stream stood still for longer than the log "
        "is kept (delta.logRetentionDuration).",
        remedy=BEGIN_AGAIN,
        kind="log_gap",
        spec="Metadata Cleanup",
    )


def _changing(rows: pa.Table) -> pa.Table:
    """Those actions that change data; the others only rearrange it."""
    return rows.filter(pc.coalesce(rows.column("data_change"), TRUE))


def _is_seen(change: SchemaChange) -> bool:
    return change.kind in _SEEN_LATER


def _changes_rows(version: int, adds: pa.Table, removes: pa.Table) -> UnsupportedError:
    more = ", …" if removes.num_rows > 1 else ""
    gone = f"{counted(removes.num_rows, 'file')} ({str(removes['path'][0])[:200]}{more})"
    if adds.num_rows:
        return UnsupportedError(
            f"Version {version} changes rows that were in the table, and the stream has only new "
            "rows.",
            reason=f"It removes {gone} and adds {counted(adds.num_rows, 'file')}, in which "
            "new rows cannot be told from those that were there.",
            remedy="Set skipChangeCommits to pass over such commits, or readChangeFeed to be told "
            f"of the changes. {BEGIN_AGAIN}",
        )
    return UnsupportedError(
        f"Version {version} deletes rows, and the stream has only new rows.",
        reason=f"It removes {gone}.",
        remedy="Set ignoreDeletes to pass over such commits, skipChangeCommits to pass over those "
        f"that change rows as well, or readChangeFeed to be told of them. {BEGIN_AGAIN}",
    )
