"""Tables whose logs hold more files than one driver should: their state lives on Spark.

Such a snapshot answers what it is in numbers, and hands its files on to `pipeline.read` and
`pipeline.profile`. What needs all files in this process gets them as long as they fit, and
is refused else.
"""

from __future__ import annotations

import pickle
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.log.actions.columns import COLUMNS, empty_table, schema_of
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint.parquet_part import ParquetPart, open_part
from explorer.log.checkpoint.read import Checkpoint
from explorer.log.folder.listing import LogListing, info_of
from explorer.log.folder.segment import LogSegment, build_segment
from explorer.log.load import LoadedVersion, load_version
from explorer.log.reconcile.key_columns import KEY_COLUMNS, decided_keys, keys_of
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import EMPTY_TAIL, Tail
from explorer.log.state.file_columns import FileColumns, ReducibleFiles
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.log.state.statistics_columns import StatisticsStruct, all_statistics
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.large._large_commits import Spread, reconcile_commits
from explorer.pipeline.large._large_state import SparkState
from explorer.pipeline.large.large_tasks import build_pieces
from explorer.pipeline.session import choose_session
from explorer.pipeline.tasks.task_groups import pack_files
from explorer.progress import Watch
from explorer.protocol.actions import FieldPath
from explorer.protocol.filenames import LOG_FOLDER, render_commit_name
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import ReadStore
from explorer.table.row_counts import impossible_problem
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = TypeVar("Answer")

MOST_DRIVER_ACTIONS: Final = 2_000_000
"""File actions up to which the driver reads a log itself: the list of so many files and a scan
of them took half a GiB, 0.2 more for each further million."""

MOST_DRIVER_BYTES: Final = 512 * 2**20
"""Of columns of files that the driver takes in at once."""

_MOST_COMMIT_BYTES: Final = 128 * 2**20
"""Of commits after the checkpoint that the driver replays itself."""

_BYTES_OF_AN_ACTION: Final = 400
"""In JSON, with a few statistics: what is not counted yet is guessed by it."""

_BYTES_OF_A_RUN: Final = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the driver does itself: `actions` of a whole log, `commit_bytes` of the commits
    after its checkpoint, and `bytes` of files that it takes in at once."""

    actions: int = MOST_DRIVER_ACTIONS
    commit_bytes: int = _MOST_COMMIT_BYTES
    bytes: int = MOST_DRIVER_BYTES

    def __post_init__(self) -> None:
        """Raises `InvalidArgumentError` for what is not a number of them."""
        for item in fields(self):
            number = getattr(self, item.name)
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise InvalidArgumentError(
                    f"{str(number)[:40]!r} is not a valid limit of {item.name}.",
                    reason="Limits are whole numbers from 0 on.",
                    remedy="Leave it out for the usual one.",
                )


def with_spark_state(table: Table, spark: Any = None, limits: Limits | None = None) -> Table:
    """The same table, whose snapshots leave their files on Spark where the log holds more
    file actions than `limits` let the driver have; others are as `Table.snapshot` makes them.

    Such a snapshot is taken by `read` and `profile`, knows its totals, and hands out its
    files as a `FileState` by `file_state`. Whatever else asks for all files gets them as
    long as they fit into `limits.bytes`, and else raises `UnsupportedError`
    (`limit_exceeded`). Raises what `choose_session` raises, once a session is needed.
    """
    return LargeTable(table.store, spark, limits or Limits())


class LargeTable(Table):
    """See `with_spark_state`."""

    def __init__(self, store: ReadStore, spark: Any, limits: Limits) -> None:
        super().__init__(store)
        self._spark = spark
        self._limits = limits

    def _load(self, listing: LogListing, version: int | None, watch: Watch) -> LoadedVersion:
        log = _log_of(self.store, listing, version, self._cache)
        if log.num_actions <= self._limits.actions:
            return super()._load(listing, version, watch)
        spark = choose_session(self._spark)
        check_visible(spark, self.store)
        with watched(spark, watch, f"Reading the log of {self.uri}"):
            most = self._limits.bytes
            if sum(log.commits.values()) > self._limits.commit_bytes:
                return _reconciled_there(spark, log, most)
            loaded = super()._load(log.listing, version, watch)
            return _replayed_here(spark, log, loaded, most)

    def _snapshot(self, loaded: LoadedVersion, **others: Any) -> Snapshot:
        if not isinstance(loaded, LargeVersion):
            return super()._snapshot(loaded, **others)
        return LargeSnapshot(loaded=loaded, **others)


@dataclass(frozen=True, kw_only=True)
class LargeVersion(LoadedVersion):
    """A loaded version whose files are on Spark; its tail has none. The driver takes in
    `most_bytes` of files at once."""

    files: SparkState
    most_bytes: int

    def commits_since(self, version: int, watch: Watch) -> Tail | None:
        """As that of a `LoadedVersion`; None too where they are more bytes than the driver
        takes in at once."""
        wanted = range(version + 1, self.segment.version + 1)
        if sum(_sizes(self.store, self.listing, wanted).values()) > self.most_bytes:
            return None
        return self.replayed(wanted, watch)  # its own tail has no files

    @property
    def nbytes(self) -> int:
        """What keeping it costs here."""
        return 0


class LargeSnapshot(Snapshot):
    """A version whose files are on Spark."""

    def __init__(self, *, loaded: LoadedVersion, **others: Any) -> None:
        super().__init__(loaded=loaded, **others)
        assert isinstance(loaded, LargeVersion)
        self._files = replace(loaded.files, shown=self.with_logical_names)
        self._most_bytes = loaded.most_bytes

    @property
    def file_state(self) -> SparkState:
        """The files."""
        return self._files

    def among(self, keys: pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
        """As that of a `Snapshot`, of all files as long as they fit into the limit."""
        files = self.physical_files("add", [*dict.fromkeys([*columns, *KEY_COLUMNS])])
        return files.filter(pc.is_in(keys_of(files), value_set=keys)).select(list(columns))

    def over_files(self, question: Callable[[ReducibleFiles], Answer]) -> Answer:
        """As that of a `Snapshot`, with the looking in tasks; answers of more bytes than the
        driver takes in raise `UnsupportedError` (`limit_exceeded`)."""
        return question(_Reducible(snapshot=self, most_bytes=self._most_bytes))

    def consult(self, question: Callable[[LoadedVersion], Answer]) -> Answer:  # noqa: ARG002  # never asked
        """What asks so wants every file in this process."""
        raise _too_many(self.uri, self.version, "the whole state")

    def _raw(self, action: FileAction, columns: Sequence[str]) -> pa.Table:
        tables, held = list[pa.Table](), 0
        for table in self._files.tables(action, columns):
            held += table.nbytes
            if held > self._most_bytes:
                what = f"the columns {', '.join(columns)} of all files"
                raise _too_many(self.uri, self.version, f"{what} above {self._most_bytes:,} bytes")
            tables.append(table)
        return pa.concat_tables([self._files.nothing(action, columns), *tables])

    def _count(self, action: FileAction) -> int:
        return self._files.count if action == "add" else self._files.num_tombstones

    def _sum(self, column: str) -> int:  # noqa: ARG002  # there is one that is summed
        return self._files.totals.size

    def _count_vectors(self) -> int:
        return self._files.totals.vectors

    def _count_deleted(self) -> int | None:
        totals = self._files.totals
        if totals.impossible:
            self.tell(impossible_problem(totals.impossible))
        return None if totals.impossible else totals.deleted

    def _count_rows(self) -> int | None:
        totals, deleted = self._files.totals, self.num_deleted_rows
        return None if totals.unknown or deleted is None else totals.rows - deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reducible:
    """The files of a large version as `Snapshot.over_files` hands them to a question."""

    snapshot: LargeSnapshot
    most_bytes: int

    def reduce_files(
        self,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        reduce: Callable[[FileColumns], Answer],
    ) -> Iterator[Answer]:
        held = 0
        for cell in self.snapshot.file_state.reduced(columns, leaves, reduce):
            held += len(cell)
            if held > self.most_bytes:
                what = f"answers about files above {self.most_bytes:,} bytes"
                raise _too_many(self.snapshot.uri, self.snapshot.version, what)
            yield pickle.loads(cell)  # of our own tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    """A log as far as it is read to know how large it is: its newest checkpoint that can be
    used, as a version of its own, and the sizes of the commits after it in bytes."""

    store: ReadStore
    base: LoadedVersion | None
    listing: LogListing
    segment: LogSegment
    parts: tuple[ParquetPart, ...]
    commits: Mapping[int, int]

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None if self.base is None else self.base.checkpoint

    @property
    def num_actions(self) -> int:
        stored = sum(int(part.metadata.num_rows) for part in self.parts)
        return stored + sum(self.commits.values()) // _BYTES_OF_AN_ACTION


def _log_of(store: ReadStore, listing: LogListing, version: int | None, cache: KeyCache) -> _Log:
    segment = build_segment(listing, version)
    base: LoadedVersion | None = None
    if segment.checkpoint is not None:
        base = load_version(store, listing, segment.checkpoint.version, cache)
        listing = base.listing  # without checkpoints that cannot be used
        segment = build_segment(listing, segment.version)
    if base is not None and base.checkpoint is None:
        base = None
    return _Log(
        store=store,
        base=base,
        listing=listing,
        segment=segment,
        parts=_parts(store, None if base is None else base.checkpoint),
        commits=_sizes(store, listing, segment.commits),
    )


def _parts(store: ReadStore, checkpoint: Checkpoint | None) -> tuple[ParquetPart, ...]:
    if checkpoint is None:
        return ()
    sidecars = checkpoint.sidecars
    return (
        *checkpoint.parts,
        *map_concurrently(store, lambda found: open_part(store, found.path, found.size), sidecars),
    )


def _sizes(store: ReadStore, listing: LogListing, versions: range) -> dict[int, int]:
    stored = listing.stored
    if not stored and versions:
        stored = {info.name: info for info in store.list_folder(LOG_FOLDER)}
    names = {version: render_commit_name(version) for version in versions}
    return {version: stored[name].size for version, name in names.items() if name in stored}


def _replayed_here(
    spark: SparkSession, log: _Log, loaded: LoadedVersion, most_bytes: int
) -> LargeVersion:
    """The commits are few: every task is told which files they speak of."""
    # not those of `log`: what is masked must be what these commits follow
    parts = _parts(log.store, loaded.checkpoint)
    keys: bytes | None = None
    inline: Checkpoint | None = None
    if loaded.checkpoint is not None:
        inline = replace(loaded.checkpoint, parts=(), sidecars=())
        if loaded.tail.decides_files:
            keys = pack_files(pa.table({"key": decided_keys(loaded.tail)}))
    here = LogState(log.store, inline, loaded.tail, loaded.cache)
    newer: dict[FileAction, bytes] = {}
    for action in COLUMNS:
        names = list(COLUMNS[action])
        nothing = empty_table(schema_of(COLUMNS[action]))
        newer[action] = pack_files(pa.concat_tables([nothing, *here.tables(action, names)]))
    files = SparkState(
        spark=spark,
        store=log.store,
        pieces=build_pieces(parts),
        keys=keys,
        newer=newer,
        statistics=_statistics(parts, loaded.small),
    )
    held = {item.name: getattr(loaded, item.name) for item in fields(LoadedVersion)}
    return LargeVersion(**held, files=files, most_bytes=most_bytes)


def _reconciled_there(spark: SparkSession, log: _Log, most_bytes: int) -> LargeVersion:
    """The commits are many: tasks reconcile them, and what they leave stays on Spark."""
    inline = EMPTY_TAIL if log.checkpoint is None else log.checkpoint.inline

    def spread(buckets: int) -> Spread:
        return Spread(
            store=log.store,
            runs=tuple(_runs(log.segment.commits, log.commits)),
            pieces=build_pieces(log.parts),
            inline=(pack_files(inline.adds), pack_files(inline.removes)),
            num_buckets=buckets,
        )

    found = reconcile_commits(spark, spread, log.num_actions)
    small = found.small if log.base is None else found.small.over(log.base.small)
    files = SparkState(
        spark=spark,
        store=log.store,
        pieces=found.pieces,
        decided=found.files,
        statistics=_statistics(log.parts, small),
    )
    weakref.finalize(files, _release, found.release).atexit = False
    return LargeVersion(
        listing=log.listing,
        segment=log.segment,
        checkpoint=log.checkpoint,
        tail=EMPTY_TAIL,
        small=small,
        problems=(*(() if log.base is None else log.base.problems), *found.problems),
        newest_file=info_of(log.store, log.listing, render_commit_name(log.segment.version)),
        store=log.store,
        cache=KeyCache(0),
        files=files,
        most_bytes=most_bytes,
    )


def _release(release: Callable[[], None]) -> None:
    # in a thread of its own: this one may be in the middle of talking to Spark
    threading.Thread(target=release, name="delta-explorer-release", daemon=True).start()


def _statistics(parts: Sequence[ParquetPart], small: SmallActions) -> StatisticsStruct | None:
    """How statistics become JSON, where a file of the checkpoint has them as columns alone."""
    if all(part.has("add", "stats") for part in parts if part.has("add")):
        return None
    return all_statistics(*small.required(None))


def _runs(versions: range, sizes: Mapping[int, int]) -> Iterator[range]:
    """Neighbouring commits of about as many bytes each."""
    first, held = versions.start, 0
    for version in versions:
        held += sizes.get(version, 0)
        if held >= _BYTES_OF_A_RUN or version == versions[-1]:
            yield range(first, version + 1)
            first, held = version + 1, 0


def _too_many(uri: str, version: int, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"Version {version} of {uri} has more files than this process takes in.",
        reason=f"It was opened with pipeline.with_spark_state, and this asks for {what}.",
        remedy="Use what works on Spark (pipeline.read, pipeline.profile, the batches of "
        "snapshot.file_state), or give it larger limits on a machine with more memory.",
        kind="limit_exceeded",
    )
