"""One open table as the views ask for it: cached by version, one method per fact.

A version of a table never changes, so what is known of one is kept; how much is
bounded, because pages stay open for days.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import pyarrow as pa

import explorer.inspect as look
from explorer.errors import DeltaError, Problem, UnsupportedError
from explorer.inspect.commits.removed_rows import removed_rows
from explorer.log.commits.timed_listing import TimedListing
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import newest_named
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.filenames import LOG_FOLDER
from explorer.scan.statistics.column_statistics import statistics_columns
from explorer.storage.local import LocalStore
from explorer.table.readable import newest_readable
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

SNAPSHOTS_KEPT = 2
"""A snapshot of a million files holds hundreds of megabytes."""

ANSWERS_KEPT = 64
_WAIT_SECONDS = 0.1

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a listing of the log says: known before anything is read."""

    uri: str
    latest: int
    checkpoint: int | None
    commits_since_checkpoint: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What the table is. Protocol and metadata are None where the log lacks them;
    `refusal` says why a reader must not go on, `failure` why it cannot."""

    protocol: Protocol | None
    metadata: Metadata | None
    refusal: Problem | None = None
    failure: Problem | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the state of a version says without reading statistics; `checkpoint` is the version
    of the one that it was read from; of the commits since then, `commits_read` were read one by
    one and `compactions_read` log compactions in the place of the others."""

    timestamp: datetime | None
    num_files: int
    size_in_bytes: int
    checkpoint: int | None
    commits_since_checkpoint: int
    commits_read: int
    compactions_read: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigures:
    """Rows by statistics, None where they do not say."""

    num_rows: int | None
    num_deleted: int | None
    num_vectors: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileQuery:
    """Which page of a version's files, in what order; `partition` are the values of the one that
    they are of."""

    version: int
    offset: int = 0
    limit: int = 25
    sort_by: str = "path"
    descending: bool = False
    contains: str | None = None
    partition: tuple[tuple[str, str | None], ...] | None = None


FieldNames = tuple[str, ...]
"""The names on the way to a field, from the outermost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDetails:
    """What else the log says of one file: its statistics as stored, and its tags.

    `columns` are the logical names of the columns that statistics may speak of, by the physical
    names that these have (spec: Column Mapping).
    """

    stats: str | None = None
    tags: Sequence[tuple[str, str | None]] = ()
    columns: Mapping[FieldNames, FieldNames] = field(default_factory=dict)


class _Kept(Generic[K, V]):
    """The answers used last, each computed once even when two threads ask; while one is being
    computed, the others are given all the same."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[K, V] = OrderedDict()
        self._under_way: dict[K, threading.Event] = {}
        self._lock = threading.Lock()

    def get(self, key: K, build: Callable[[], V], watch: Watch = UNWATCHED) -> V:
        """The answer for `key`. Who waits for another's computing can be cancelled; where that
        other one gives up, who waited computes."""
        while True:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
                theirs = self._under_way.get(key)
                if theirs is None:
                    mine = self._under_way[key] = threading.Event()
                    break
            while not theirs.wait(_WAIT_SECONDS):
                watch.step(0, None, "Waiting for what is being read already")
        try:
            value = build()
            with self._lock:
                self._values[key] = value
                while len(self._values) > self._limit:
                    self._values.popitem(last=False)
            return value
        finally:
            with self._lock:
                del self._under_way[key]
            mine.set()

    def wait(self, cancel: Cancel) -> None:
        """Wait until what is being computed now has been."""
        with self._lock:
            theirs = list(self._under_way.values())
        for one in theirs:
            while not one.wait(_WAIT_SECONDS):
                cancel.check()

    def held(self) -> list[V]:
        """The answers that are there."""
        with self._lock:
            return list(self._values.values())

    def clear(self) -> None:
        """Keep none."""
        with self._lock:
            self._values.clear()


def read_column_names(service: TableService, version: int) -> tuple[str, ...]:
    """The names that a condition on rows of a version may hold: those of fields that are reached
    through structs alone."""
    frame = service.read_schema(version).select(["path", "type", "depth"])
    names, enclosing = [], list[bool]()
    for row in frame.to_pylist():
        del enclosing[row["depth"] :]
        if all(enclosing):
            names.append(row["path"])
        enclosing.append(row["type"].startswith("struct<"))
    return tuple(names)


class TableService:
    """Questions about one table; every method may read and may raise `DeltaError`."""

    def __init__(
        self,
        table: Table,
        *,
        storage_options: Mapping[str, Any] | None = None,
        grown: Callable[[], None] = lambda: None,
    ) -> None:
        self._table = table
        self._storage_options = dict(storage_options or {})
        self._grown = grown
        self._snapshots: _Kept[int, Snapshot] = _Kept(SNAPSHOTS_KEPT)
        self._answers: _Kept[tuple[Any, ...], Any] = _Kept(ANSWERS_KEPT)

    @property
    def uri(self) -> str:
        """The place as it may be shown."""
        return self._table.uri

    @property
    def table(self) -> Table:
        """The table itself, for the questions that other services ask."""
        return self._table

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """What the table was opened with; for opening it again to change it, never shown."""
        return self._storage_options

    @property
    def held_bytes(self) -> int:
        """What is kept of this table takes about so many bytes."""
        snapshots = sum(snapshot.held_bytes for snapshot in self._snapshots.held())
        answers = sum(int(getattr(answer, "nbytes", 0)) for answer in self._answers.held())
        return self._table.held_bytes + snapshots + answers

    def release(self) -> None:
        """Give all of it back; what is asked next is read again."""
        self._snapshots.clear()
        self._answers.clear()
        self._table.release()

    def listing(self) -> LogListing:
        """The log folder now."""
        return self._table.listing()

    def read_overview(self) -> Overview:
        """What is known first; also of a table that a snapshot refuses."""
        listing = self.listing()
        latest = newest_named(listing)
        if listing.latest_version is None:
            latest = self._table.latest_version()  # says what is wrong with the log
        newest = listing.checkpoints[-1].version if listing.checkpoints else None
        return Overview(
            uri=self.uri,
            latest=latest,
            checkpoint=newest,
            commits_since_checkpoint=latest + 1 if newest is None else latest - newest,
        )

    def read_identity(self, version: int) -> Identity:
        """Protocol and metadata; of a refused or broken table too, as far as they go."""
        try:
            snapshot = self.snapshot(version)
        except UnsupportedError as refusal:
            return self._read_parts(version, refusal=Problem.of(refusal))
        except DeltaError as error:
            return self._read_parts(version, failure=Problem.of(error))
        return Identity(protocol=snapshot.protocol, metadata=snapshot.metadata)

    def find_readable(self) -> int | None:
        """The newest version that can be read, where the newest that the log names cannot be."""
        found = newest_readable(self._table)
        return None if found is None else found.version

    def _read_parts(
        self, version: int, *, refusal: Problem | None = None, failure: Problem | None = None
    ) -> Identity:
        return Identity(
            protocol=_read_or_none(lambda: self.read_protocol(version)),
            metadata=_read_or_none(lambda: self.read_metadata(version)),
            refusal=refusal,
            failure=failure,
        )

    def read_figures(self, version: int, watch: Watch = UNWATCHED) -> Figures:
        """The figures of a version that a snapshot can be had of."""
        snapshot = self.snapshot(version, watch)
        num_files, size = snapshot.num_files, snapshot.size_in_bytes
        # by now a checkpoint whose files cannot be read has been passed over
        segment = snapshot.segment
        return Figures(
            timestamp=snapshot.timestamp,
            num_files=num_files,
            size_in_bytes=size,
            checkpoint=None if segment.checkpoint is None else segment.checkpoint.version,
            commits_since_checkpoint=len(segment.commits),
            commits_read=snapshot.loaded.num_read_alone,
            compactions_read=len(snapshot.loaded.tail.compactions),
            problems=tuple(snapshot.problems),
        )

    def read_rows(self, version: int) -> RowFigures:
        """Rows of a version; reads statistics, which takes longer than the rest."""
        snapshot = self.snapshot(version)
        # what the figures beside them need is read first, and kept for both
        _ = snapshot.num_files, snapshot.size_in_bytes
        return RowFigures(
            num_rows=snapshot.num_rows,
            num_deleted=snapshot.num_deleted_rows,
            num_vectors=snapshot.num_deletion_vectors,
        )

    def snapshot(self, version: int, watch: Watch = UNWATCHED) -> Snapshot:
        """The state at a version."""

        def read() -> Snapshot:
            return self._table.snapshot(
                version=version, progress=watch.progress, cancel=watch.cancel
            )

        snapshot = self._snapshots.get(version, read, watch)
        self._grown()
        return snapshot

    def list_times(self) -> TimedListing:
        """The log as it is now, with the times of its commits, for `read_timeline`."""
        return self._table.listed_times.list_log(self._table.store)

    def local_log_bytes(self) -> int | None:
        """What the files of the log hold where they lie on a local disk; None where each would be a
        request that somebody pays."""
        store = self._table.store
        if not isinstance(store, LocalStore):
            return None
        return sum(found.size for found in store.list_folder(LOG_FOLDER))

    def read_timeline(
        self,
        first: int,
        last: int,
        progress: ProgressCallback | None,
        cancel: Cancel | None,
        listed: TimedListing | None = None,
    ) -> pa.Table:
        """The commits from `first` to `last`, newest first; `listed` is for who reads several
        parts."""
        return look.timeline(
            self._table, first=first, last=last, listed=listed, progress=progress, cancel=cancel
        )

    def count_removed_rows(self, versions: Sequence[int], watch: Watch) -> Mapping[int, int]:
        """The rows that these commits removed and do not count, of those where the adds of their
        files do."""
        return removed_rows(self._table, versions, watch)

    def wait_for_states(self, cancel: Cancel) -> None:
        """Wait until the states that are being read now have been: two threads that read the same
        long log take many times as long as one after the other."""
        self._snapshots.wait(cancel)

    def read_commit(self, version: int) -> Mapping[str, Any]:
        """What the commit says of itself."""
        info: Mapping[str, Any] = self._answer(
            "commit", version, lambda: look.commit_info(self._table, version)
        )
        return info

    def read_actions(self, version: int, limit: int | None = None) -> pa.Table:
        """The first lines of a commit, all of them without a limit."""
        key = "actions" if limit is None else f"actions {limit}"
        return self._answer(key, version, lambda: look.commit_actions(self._table, version, limit))

    def read_files(self, query: FileQuery, watch: Watch = UNWATCHED) -> look.FilesPage:
        """One page of a version's files."""
        return look.files_page(
            self.snapshot(query.version, watch),
            offset=query.offset,
            limit=query.limit,
            sort_by=query.sort_by,
            descending=query.descending,
            contains=query.contains,
            partition=None if query.partition is None else dict(query.partition),
            progress=watch.progress,
            cancel=watch.cancel,
        )

    def read_file(self, version: int, path: str) -> FileDetails:
        """What else the log says of one file; nothing of one that is not there."""
        snapshot = self.snapshot(version)
        found = snapshot.file_state.find(path, ["stats", "tags"])
        if not found.num_rows:
            return FileDetails()
        row = found.slice(0, 1).to_pylist()[0]
        return FileDetails(
            stats=row["stats"],
            tags=row["tags"] or (),
            columns={column.physical: column.path for column in statistics_columns(snapshot)},
        )

    def read_metadata(self, version: int) -> Metadata:
        """The metadata at a version."""
        return self._answer("metadata", version, lambda: self._table.metadata(version))

    def read_protocol(self, version: int) -> Protocol:
        """The protocol at a version."""
        return self._answer("protocol", version, lambda: self._table.protocol(version))

    def read_engines_in_use(self) -> list[str]:
        """The ids of the engines that wrote the newest commits, those with most first."""
        latest = self.read_overview().latest

        def read() -> list[str]:
            found = look.engines_in_use(self._table).column("engine").to_pylist()
            return [engine for engine in found if engine is not None]

        return self._answer("engines in use", latest, read)

    def read_features(self, version: int) -> pa.Table:
        """The table features at a version."""
        return self._answer("features", version, lambda: look.features(self._table, version))

    def read_schema(self, version: int) -> pa.Table:
        """The columns at a version."""
        return self._answer("schema", version, lambda: look.schema(self._table, version))

    def read_transactions(self, version: int) -> pa.Table:
        """Application transactions at a version."""
        return look.transactions(self.snapshot(version))

    def read_domains(self, version: int) -> pa.Table:
        """Metadata domains at a version."""
        return look.domains(self.snapshot(version))

    def read_log_files(self) -> pa.Table:
        """The files of the log folder now; not kept, for they come and go."""
        return look.log_files(self._table)

    def _answer(self, fact: str, version: int, build: Callable[[], V]) -> V:
        answer: V = self._answers.get((fact, version), build)
        return answer


def _read_or_none(read: Callable[[], V]) -> V | None:
    try:
        return read()
    except DeltaError:
        return None  # the snapshot has told of it already
