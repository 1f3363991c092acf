"""A Delta table: its location, its store, and what is cached for the next snapshot."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.errors import (
    CorruptLogError,
    DeltaError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
)
from explorer.log.folder.listing import KeptListing, LogListing, list_newer
from explorer.log.folder.segment import build_segment, missing_versions
from explorer.log.load import (
    KnownActions,
    LoadedVersion,
    load_protocol_and_metadata,
    load_version,
)
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.state.key_cache import KeyCache
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.consistency import (
    validate_protocol,
    validate_unsupported_mapping,
)
from explorer.protocol.features.registry import check_reader
from explorer.protocol.file_format import validate_format
from explorer.protocol.filenames import LAST_CHECKPOINT, LOG_FOLDER, render_commit_path
from explorer.storage.open import open_read_store
from explorer.storage.ports import RangeStore, ReadStore, offers
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa

    from explorer.log.commits.timed_listing import ListedTimes
    from explorer.log.folder.files_read import FilesRead

Answer = TypeVar("Answer")

# each look fails only where one more cleanup ran since the last
_LOOKS = 3

DEFAULT_CACHE_BYTES = 256 * 2**20


class Table:
    """A table at one location; it may be shared between threads.

    It caches what it read of the newest version, and the keys of the checkpoint of that
    version, so that the next `snapshot` reads only newer commits: at most `cache_bytes` bytes
    of keys, and as many of commits. Of a log on an object store it also keeps files as they were
    read, see `explorer.log.folder.files_read`.
    """

    def __init__(self, store: ReadStore, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self.store = store
        self._cache_bytes = cache_bytes
        self._cache = KeyCache(cache_bytes)
        self._listed = KeptListing()
        self._listed_times: ListedTimes | None = None
        self._files_read: FilesRead | None = None
        self._held: LoadedVersion | None = None
        self._known: KnownActions | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """The place, without secrets."""
        return f"Table({self.uri!r})"

    @property
    def uri(self) -> str:
        """The place, as it may be shown."""
        return self.store.uri

    @property
    def held_bytes(self) -> int:
        """The size of the cache, in bytes."""
        with self._lock:
            held, read, times = self._held, self._files_read, self._listed_times
        return (
            self._cache.held_bytes
            + self._listed.held_bytes
            + (0 if times is None else times.held_bytes)
            + (0 if read is None else read.held_bytes)
            + (0 if held is None else held.nbytes)
        )

    def release(self) -> None:
        """Empty the cache; the next snapshot then reads the whole log again."""
        with self._lock:
            self._held = self._known = None
        self._cache.release()
        self._listed.release()
        self._files_read = self._listed_times = None

    @property
    def listed_times(self) -> ListedTimes:
        """The times of its commit files, as the log was listed last."""
        # small tables open without it
        from explorer.log.commits.timed_listing import ListedTimes  # noqa: PLC0415  # see above

        with self._lock:
            if self._listed_times is None:
                self._listed_times = ListedTimes()
            return self._listed_times

    def store_at(self, listing: LogListing) -> ReadStore:
        """The store, to read files of the log as of a listing of it: those that were read before
        and have not changed are not asked for again."""
        if not offers(self.store, RangeStore):
            return self.store
        # local tables open without it
        from explorer.log.folder.files_read import (  # noqa: PLC0415  # see above
            MOST_BYTES,
            FilesRead,
            store_at,
        )

        with self._lock:
            if self._files_read is None:
                self._files_read = FilesRead(min(self._cache_bytes, MOST_BYTES))
            read = self._files_read
        return store_at(self.store, listing, read)

    def listing(self) -> LogListing:
        """List the log folder now."""
        try:
            return self._listed.list_log(self.store)
        except NotFoundError as error:
            raise _no_table(self.store) from error

    def check_there(self) -> None:
        """Raise `NotFoundError` where the table's log no longer exists, with as few requests as
        the store allows."""
        if not _has_log(self.store):
            raise _no_table(self.store)

    def latest_version(self) -> int:
        """The newest version that the log names, listed again."""
        return build_segment(self.listing()).version

    def version_from(self, timestamp: str | datetime) -> int:
        """The oldest version committed at or after a time, of those whose commits are left.

        Raises `InvalidArgumentError` for a time without a zone, `NotFoundError` where every
        version is older.
        """
        from explorer.table.times import (  # noqa: PLC0415  # only where times are asked for
            in_commit_times,
            parse_timestamp,
            version_from,
        )

        wanted_ms = parse_timestamp(timestamp)

        def find(listing: LogListing) -> int:
            run = contiguous_run(listing.commits)
            if not run:
                raise _no_commits(self.uri)
            small = load_protocol_and_metadata(self.store_at(listing), listing, None).small
            active = in_commit_times(*small.required(run[-1]))
            return version_from(self.store_at(listing), listing, run, wanted_ms, active)

        return self._looking(find)

    def snapshot(
        self,
        version: int | None = None,
        timestamp: str | datetime | None = None,
        *,
        progress: ProgressCallback | None = None,
        cancel: Cancel | None = None,
    ) -> Snapshot:
        """The table at `version`, at `timestamp`, or as it is now.

        Raises `NotFoundError` for a version or time out of range,
        `CorruptLogError` where the log leaves no right answer (an older version is never given
        in the place of the newest, see `explorer.table.readable`), and
        `UnsupportedError` where the table needs a reader feature that is not
        known or a catalog.
        """
        if version is not None and timestamp is not None:
            raise InvalidArgumentError(
                "A version and a time were both given.",
                reason="They may name different versions.",
                remedy="Give one of them.",
            )
        if timestamp is not None:
            version = self._looking(lambda listing: self._version_at(listing, timestamp))
        loaded = self.load(version, Watch(progress=progress, cancel=cancel))
        protocol, metadata = loaded.small.required(loaded.segment.version)
        check_reader(protocol, self.uri)
        return self._snapshot(
            loaded,
            store=self.store,
            time_of=lambda: self._looking(
                lambda listing: self._time_of(listing, loaded.segment.version, protocol, metadata)
            ),
            reload=self._load_without,
            problems=(
                *validate_protocol(protocol),
                *validate_unsupported_mapping(protocol, metadata.configuration),
                *validate_format(metadata),
            ),
        )

    def load(self, version: int | None = None, watch: Watch = UNWATCHED) -> LoadedVersion:
        """Read the log for a version, also where its snapshot would be refused."""
        _check_version(version)
        return self._load(self._listing_for(version), version, watch)

    def _snapshot(self, loaded: LoadedVersion, **others: Any) -> Snapshot:
        """The snapshot of a loaded version; one whose files are elsewhere is of its own kind."""
        return Snapshot(loaded=loaded, **others)

    def history(
        self,
        limit: int | None = None,
        *,
        operation: str | Sequence[str] | None = None,
        user: str | None = None,
        since: str | datetime | None = None,
    ) -> pa.Table:
        """The newest `limit` commits (None: all in the log), newest first, also for a table
        whose snapshot is refused.

        `operation` keeps the commits of this operation, or of one of several, by its name or its
        first words; `user` those whose user name contains this text; both ignore case. `since`
        keeps the commits from this time on; raises `InvalidArgumentError` for a text that is not
        a time with a zone.
        """
        from explorer.table.history import CommitFilter, read_history  # noqa: PLC0415  # brings Arrow
        from explorer.table.times import parse_timestamp  # noqa: PLC0415  # only for times

        wanted = CommitFilter(
            operations=(operation,) if isinstance(operation, str) else tuple(operation or ()),
            user=user,
            since_ms=None if since is None else parse_timestamp(since),
        )
        return self._looking(
            lambda listing: read_history(
                self.store_at(listing), listing, limit, self.in_commit_since, wanted
            )
        )

    def in_commit_since(self) -> int | None:
        """The first version whose in-commit timestamp is used, None where none is.

        Where the log does not say since when they are enabled, all of them are used.
        """
        from explorer.table.times import in_commit_times  # noqa: PLC0415  # only for times

        try:
            small = self._small(None)
            active = in_commit_times(*small.required(None))
        except DeltaError:
            return 0
        return None if active is None else active.since_version

    def protocol(self, version: int | None = None) -> Protocol:
        """The protocol at a version, also where a snapshot is refused."""
        found = self._small(version)
        return found.protocol or found.required(version)[0]

    def metadata(self, version: int | None = None) -> Metadata:
        """The metadata at a version, also where a snapshot is refused."""
        found = self._small(version)
        return found.metadata or found.required(version)[1]

    def _small(self, version: int | None) -> SmallActions:
        _check_version(version)
        with self._lock:
            known, held = self._known, self._held
        if held is not None and (known is None or known.version < held.segment.version):
            known = KnownActions(
                version=held.segment.version, small=held.small, newest_file=held.newest_file
            )
        found = self._looking(
            lambda listing: load_protocol_and_metadata(
                self.store_at(listing), listing, version, known
            )
        )
        with self._lock:
            if self._known is None or known is None or self._known.version <= found.version:
                self._known = found
        return found.small

    def _looking(self, work: Callable[[LogListing], Answer]) -> Answer:
        """Work on the log as it is; once more where a cleanup took a listed file away."""
        for _ in range(_LOOKS):
            listing = self.listing()
            try:
                return work(listing)
            except NotFoundError as error:
                if error.kind != "table_not_found":
                    raise
                self._listed.release()
                gone = error
        raise CorruptLogError(
            "The log disappeared while it was being read.",
            reason=gone.problem,
            remedy="Try again when the running log cleanup has ended.",
            kind="log_gap",
            spec="Metadata Cleanup",
        ) from gone

    def _listing_for(self, version: int | None) -> LogListing:
        """The log folder as it is now, as far as that version needs it."""
        with self._lock:
            held = self._held
        newer = None
        if version is None and held is not None:
            newer = list_newer(self.store, held.listing)
        return self.listing() if newer is None else newer

    def _load(self, listing: LogListing, version: int | None, watch: Watch) -> LoadedVersion:
        with self._lock:
            held = self._held
        store = self.store_at(listing)
        loaded = load_version(store, listing, version, self._cache, held, watch)
        newer = held is None or loaded.segment.version >= held.segment.version
        if newer and loaded.nbytes <= self._cache_bytes:
            with self._lock:
                self._held = loaded
        return loaded

    def _load_without(self, failed: LoadedVersion) -> LoadedVersion:
        broken, listing = failed.segment.checkpoint, failed.listing
        if failed.checkpoint is not None and failed.checkpoint.from_hint:
            listing = listing.without_hint()  # the checkpoint itself may be sound
        elif broken is not None:
            listing = listing.without(broken)
        with self._lock:
            if self._held is failed:
                self._held = None
        store = self.store_at(listing)
        return load_version(store, listing, failed.segment.version, self._cache)

    def _time_of(
        self, listing: LogListing, version: int, protocol: Protocol, metadata: Metadata
    ) -> datetime | None:
        run = contiguous_run(listing.commits)
        if version not in run and version not in listing.commits:
            return None
        from explorer.table.times import (  # noqa: PLC0415  # only where times are asked for
            commit_time,
            in_commit_times,
            utc_time,
        )

        active = in_commit_times(protocol, metadata)
        chain = run if version in run else (version,)
        store = self.store_at(listing)

        def read_modified() -> Mapping[int, int]:
            return self.listed_times.up_to(store, version).modified

        return utc_time(commit_time(store, listing, chain, version, active, read_modified))

    def _version_at(self, listing: LogListing, timestamp: str | datetime) -> int:
        from explorer.table.times import (  # noqa: PLC0415  # only where times are asked for
            in_commit_times,
            parse_timestamp,
            version_at,
        )

        wanted_ms = parse_timestamp(timestamp)
        run = contiguous_run(listing.commits)
        first = _first_travellable(listing, run)
        if first is None:
            build_segment(listing)  # says what is missing
            raise _no_commits(self.uri)
        small = load_protocol_and_metadata(self.store_at(listing), listing, None).small
        active = in_commit_times(*small.required(run[-1]))
        return version_at(self.store_at(listing), listing, run, first, wanted_ms, active)


def open_table(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    *,
    spark: Any = None,
    within: Sequence[str] | None = None,
) -> Table:
    """Open the table at a path, a `file:` URL or any fsspec URL; with a Spark session, the table
    of this name in its catalog.

    A log may name files outside the table's folder, as those of shallow clones do. They are
    read wherever they are; with `within`, only below these locations.

    Raises `NotFoundError` where there is no table.
    """
    if spark is not None:
        from explorer.table._catalog_name import location_by_name  # noqa: PLC0415  # rarely needed

        uri = location_by_name(os.fspath(uri), spark)
    store = open_read_store(uri, storage_options, within)
    if not _has_log(store):
        raise _no_table(store)
    return Table(store)


def _has_log(store: ReadStore) -> bool:
    if offers(store, RangeStore):
        from explorer.storage.concurrent_reads import run_concurrently  # noqa: PLC0415  # for these

        # to ask for a folder takes two requests, one after the other; these are asked for at once
        def is_there(path: str) -> bool:
            with contextlib.suppress(NotFoundError, StorageError):
                store.read(path, limit=1)
                return True
            return False

        paths = (f"{LOG_FOLDER}/{LAST_CHECKPOINT}", render_commit_path(0))
        if any(list(run_concurrently(is_there, paths, len(paths)))):
            return True
    return store.has_folder(LOG_FOLDER)


def contiguous_run(commits: tuple[int, ...]) -> tuple[int, ...]:
    """The newest commits without a gap between them."""
    if not commits:
        return ()
    gaps = missing_versions(commits, commits[0], commits[-1])
    first = gaps[-1][-1] + 1 if gaps else commits[0]
    return commits[commits.index(first) :]


def _first_travellable(listing: LogListing, run: tuple[int, ...]) -> int | None:
    """The version of `run` from which on every version can be reconstructed."""
    if not run or run[0] == 0:
        return run[0] if run else None
    starts = (found.version for found in listing.checkpoints if found.version >= run[0] - 1)
    return next((max(start, run[0]) for start in starts if start <= run[-1]), None)


def _check_version(version: int | None) -> None:
    if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
        raise InvalidArgumentError(
            f"{version!r} is not a valid version.",
            reason="Versions are whole numbers.",
            remedy="Give a number such as 12; for a time use timestamp.",
        )


def _no_table(store: ReadStore) -> NotFoundError:
    if not store.has_folder(""):
        return NotFoundError(
            f"There is no table at {store.uri}.",
            reason="No such folder exists.",
            remedy="Check the path; it must name the folder that holds _delta_log.",
        )
    inside = LOG_FOLDER in store.uri.split("/")
    return NotFoundError(
        f"There is no Delta table at {store.uri}.",
        reason="The folder exists but has no _delta_log.",
        remedy="Name the folder above _delta_log."
        if inside
        else "Name the folder that holds _delta_log; plain Parquet files are not a Delta table.",
        spec="File Types",
    )


def _no_commits(uri: str) -> NotFoundError:
    return NotFoundError(
        f"Times are not known for the table at {uri}.",
        reason="Its log has no commit from which a version can be reconstructed.",
        remedy="Ask for a version instead of a time.",
        kind="timestamp_out_of_range",
        spec="Delta Log Entries",
    )
