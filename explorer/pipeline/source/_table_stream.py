"""A table as a stream: which files lie between two offsets, and how far a batch may go.

It begins with the rows of a version, or with a commit; each commit after that brings the files
that it adds, or the changes that it records. Nothing of pyspark is needed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from explorer.errors import CorruptLogError, DeltaError, InvalidArgumentError, NotFoundError
from explorer.log.actions.columns import ADD_COLUMNS
from explorer.log.folder.segment import build_segment
from explorer.pipeline.source._stream_commits import BEGIN_AGAIN, Found, StreamCommits
from explorer.pipeline.source._stream_limits import Budget
from explorer.pipeline.source._stream_offset import StreamOffset, true_start
from explorer.pipeline.source._stream_options import StreamOptions
from explorer.pipeline.tasks.change_tasks import (
    CHANGE_TASKS,
    ReadChanges,
    build_insert_tasks,
    spark_feed_schema,
)
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, ReadFiles, ReadGroup
from explorer.protocol.actions import EPOCH
from explorer.rows.changes.change_range import TableState, check_feed_names
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.request import RowRequest, build_request
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_FILES = pa.schema(
    [
        *(pa.field(name, ADD_COLUMNS[name][2]) for name in FILE_COLUMNS),
        pa.field(NUM_RECORDS, pa.int64()),
    ]
)
_ORDER = [("modification_time", "ascending"), ("path", "ascending")]


@dataclass(kw_only=True)
class TableStream:
    """`known` is the version whose columns the rows have. `until`, if given, is the last version
    that is read. `newest` is the newest version that was seen."""

    table: Table
    known: Snapshot
    options: StreamOptions
    until: int | None = None
    newest: int | None = None
    _snapshot: tuple[int, pa.Table] | None = field(default=None)

    @cached_property
    def request(self) -> RowRequest:
        """How rows are read; raises what `build_request` raises."""
        return build_request(layout_of(self.known))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the stream, as Spark has them."""
        if not self.options.feed:
            return self.request.schema
        check_feed_names(self.known.schema)
        return spark_feed_schema(self.request)

    @cached_property
    def _commits(self) -> StreamCommits:
        return StreamCommits(
            table=self.table, known=self.known, request=self.request, options=self.options
        )

    def look(self) -> int:
        """The newest version that may be read, looked up now."""
        self.newest = self.table.latest_version()
        return self.newest if self.until is None else min(self.newest, self.until)

    def stop_here(self) -> None:
        """Read nothing that is committed from now on."""
        self.until = None
        self.until = self.look()

    @cached_property
    def begin(self) -> StreamOffset:
        """Where a stream begins that has not begun yet; the same however often it is asked for.

        Raises `NotFoundError` for a version or a time that there is not, `CorruptLogError` where
        the first commit is no longer in the log.
        """
        options, newest = self.options, self.look()
        first = newest
        if options.starting_version == "latest":
            first = newest + 1
        elif options.starting_version is not None:
            first = options.starting_version
            self._check_there(first, newest)
        elif options.starting_timestamp is not None:
            first = self.table.version_from(options.starting_timestamp)
        return StreamOffset(
            table=self.known.metadata.id or "",
            feed=options.feed,
            first=first,
            whole=options.starting_version is None and options.starting_timestamp is None,
            version=first,
        )

    def check(self, offset: StreamOffset) -> None:
        """Raise `InvalidArgumentError` for an offset of another table, or of other rows of it."""
        if offset.table != (self.known.metadata.id or ""):
            raise InvalidArgumentError(
                "The checkpoint location belongs to a stream of another table.",
                reason=f"That table has the id {offset.table[:60]}; the one at {self.table.uri} "
                f"has {self.known.metadata.id}.",
                remedy=f"Load the table that the stream began with. {BEGIN_AGAIN}",
            )
        if offset.feed != self.options.feed:
            was, now = ("with", "without") if offset.feed else ("without", "with")
            raise InvalidArgumentError(
                f"The stream began {was} readChangeFeed, and goes on {now} it.",
                reason="The rows would be others from here on.",
                remedy=f"Set the option as it was. {BEGIN_AGAIN}",
            )

    def end_of_batch(self, start: StreamOffset, budget: Budget) -> StreamOffset:
        """How far the batch goes that begins at `start`: `start` itself where there is nothing
        more. A commit that stops the stream is an error once all before it has been read."""
        self.check(start)
        self._commits.forget(start.version)
        last, at = self.look(), start
        if self.newest is not None and start.version > self.newest + 1:
            raise _went_back(start, self.newest)
        if at.in_snapshot:
            files = self._first_files(at)
            at = at.after(budget.take(files.slice(at.files)), files.num_rows)
            if at.in_snapshot:
                return at
        for version, found in self._commits.walk(range(at.version, last + 1)):
            if budget.is_spent:
                break
            if isinstance(found, DeltaError) and at == start:
                raise found
            at = self._take(at, found, budget)
            if at.version == version:
                break
        return at

    def _take(self, at: StreamOffset, found: Found, budget: Budget) -> StreamOffset:
        """How far the batch goes within one commit."""
        if isinstance(found, DeltaError):
            return at
        total = found.num_rows
        if not self.options.feed:
            return at.after(budget.take(_rest(found, at.files, at.version)), total)
        return at.after(total, total) if budget.take_all(found) else at

    def files_between(self, start: StreamOffset, end: StreamOffset) -> pa.Table:
        """The files, or changes, of one batch."""
        for offset in (start, end):
            self.check(offset)
        at = true_start(start, end)
        parts = [(CHANGE_TASKS if self.options.feed else _FILES).empty_table()]
        if at.in_snapshot:
            files = self._first_files(at)
            stop = end.files if end.in_snapshot else files.num_rows
            parts.append(files.slice(at.files, stop - at.files))
            at = at.after(stop - at.files, files.num_rows)
        last = end.version + 1 if end.files and not end.in_snapshot else end.version
        for version, found in self._commits.walk(range(at.version, last)):
            if isinstance(found, DeltaError):
                raise found
            skipped = at.files if version == at.version else 0
            rest = _rest(found, skipped, version)
            parts.append(rest.slice(0, end.files - skipped) if version == end.version else rest)
        return pa.concat_tables(parts)

    def reader(self, start: StreamOffset, end: StreamOffset) -> ReadGroup:
        """What reads the files of one batch, once `files_between` has found them."""
        store = self.table.store
        if not self.options.feed:
            return ReadFiles(store=store, request=self.request)
        former = self._commits.former_layouts(true_start(start, end).version)
        return ReadChanges(store=store, request=self.request, former=former)

    def _first_files(self, offset: StreamOffset) -> pa.Table:
        """The files of the version with which a stream begins, in the order in which they are
        counted."""
        version = offset.first
        if self._snapshot is None or self._snapshot[0] != version:
            self._snapshot = (version, self._read_first(version))
        files = self._snapshot[1]
        _rest(files, offset.files, version)
        return files

    def _read_first(self, version: int) -> pa.Table:
        known = self.known
        try:
            first = known if version == known.version else self.table.snapshot(version=version)
        except (NotFoundError, CorruptLogError) as error:
            raise CorruptLogError(
                f"The stream began with the rows of version {version}, and can no longer read "
                "the rest of them.",
                reason=error.problem,
                remedy=BEGIN_AGAIN,
                kind="log_gap",
                spec="Metadata Cleanup",
            ) from error
        self._commits.check_state(
            TableState(protocol=first.protocol, metadata=first.metadata), version
        )
        columns = [*FILE_COLUMNS, NUM_RECORDS]
        files = first.files([*columns, "modification_time"]).sort_by(_ORDER).select(columns)
        if not self.options.feed:
            return files
        moment = first.timestamp
        time_ms = None if moment is None else int((moment - EPOCH).total_seconds() * 1000)
        return build_insert_tasks(files, version, time_ms)

    def _check_there(self, version: int, newest: int) -> None:
        if version > newest:
            raise NotFoundError(
                f"Version {version}, with which the stream is to begin, is not in the table's log.",
                reason=f"Its newest version is {newest}.",
                remedy="Give an older startingVersion, or latest for what comes from now on.",
                kind="version_not_found",
            )
        listing = self.table.listing()
        if version not in listing.commits:
            oldest = listing.commits[0] if listing.commits else build_segment(listing).version + 1
            raise CorruptLogError(
                f"Version {version}, with which the stream is to begin, is no longer in the log.",
                reason="A log cleanup removed its commit.",
                remedy=f"Begin with version {oldest} or a later one, or without startingVersion.",
                kind="log_gap",
                spec="Metadata Cleanup",
            )


def _rest(files: pa.Table, skipped: int, version: int) -> pa.Table:
    """The files that have not been read yet."""
    if skipped > files.num_rows:
        raise InvalidArgumentError(
            f"The stream has read {skipped} files of version {version}, which has "
            f"{files.num_rows}.",
            reason="Its checkpoint location is not of this table, or the log was written over.",
            remedy=BEGIN_AGAIN,
        )
    return files.slice(skipped)


def _went_back(start: StreamOffset, newest: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The stream has read version {start.version - 1}, and the newest version is {newest}.",
        reason="The table was replaced, or restored from a backup.",
        remedy=BEGIN_AGAIN,
    )
