"""Commits beyond one driver, reconciled on Spark (spec: Action Reconciliation).

Tasks replay runs of commits, and spread what these decide, and the keys of the checkpoint,
over buckets by the key. In a bucket the newest action of a key wins, and rows of the
checkpoint that a commit speaks of are dead.
"""

from __future__ import annotations

import contextlib
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from explorer.errors import Problem
from explorer.log.actions.columns import int64_column, string_column
from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint.parquet_part import open_part
from explorer.log.reconcile.key_columns import keys_of
from explorer.log.reconcile.small_actions import SmallActions
from explorer.log.reconcile.tail import replay_commits
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.large.large_tasks import CELL, Batches, Piece, PieceState
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.task_failures import ErrorMark
from explorer.pipeline.tasks.task_groups import pack_files, unpack_files
from explorer.storage.ports import ReadStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ACTIONS: Final[tuple[FileAction, FileAction]] = ("add", "remove")
_KEYS: Final = {"add": "add keys", "remove": "remove keys"}
_DEAD: Final = {"add": "dead adds", "remove": "dead removes"}
_SMALL: Final = "small"
_SCHEMA: Final = f"bucket int, at bigint, `group` int, action string, {CELL} binary"
_NAMES: Final = ("bucket", "at", "group", "action", CELL)
_ACTIONS_OF_A_BUCKET: Final = 200_000
_ROWS_OF_A_CELL: Final = 2**16
_OLDEST: Final = -1
"""Where file actions stand that a checkpoint has in its JSON: before every commit."""


class Row(NamedTuple):
    """What tasks hand on: `at` is the place of a run of commits among the others, or of a
    piece among the pieces."""

    bucket: int
    at: int
    group: int
    action: str
    cell: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What commits leave: `files` has the columns `action` and `cell`; `pieces` know their
    dead rows; `small` and `problems` are those of the commits."""

    files: DataFrame
    release: Callable[[], None]
    """Frees the room that the files take on the disks of workers."""
    pieces: tuple[Piece, ...]
    small: SmallActions
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Replays run `at` of the commits, or reads the keys of the piece after the runs; the
    number after both means the file actions in a checkpoint's JSON, in `inline`."""

    store: ReadStore
    runs: tuple[range, ...]
    pieces: tuple[Piece, ...]
    inline: tuple[bytes, bytes]
    num_buckets: int
    mark: ErrorMark = field(default_factory=ErrorMark)

    def __call__(self, batches: Batches) -> Batches:
        """Rows for batches with one column of numbers."""
        for batch in batches:
            for at in batch.column(0).to_pylist():
                with self.mark.marked():
                    yield from map(_as_batch, self._rows(at))

    def _rows(self, at: int) -> Iterator[Row]:
        if at < len(self.runs):
            tail = replay_commits(self.store, self.runs[at])
            told = pickle.dumps((tail.small, tail.problems))
            yield Row(0, at, -1, _SMALL, told)
            yield from self._decided(at, (tail.adds, tail.removes))
        elif at < len(self.runs) + len(self.pieces):
            yield from self._keys(at - len(self.runs))
        else:
            adds, removes = map(unpack_files, self.inline)
            yield from self._decided(_OLDEST, (adds, removes))

    def _decided(self, at: int, tables: Sequence[pa.Table]) -> Iterator[Row]:
        for action, table in zip(_ACTIONS, tables, strict=True):
            for bucket, rows in self._by_bucket(keys_of(table)):
                yield Row(bucket, at, -1, action, pack_files(table.take(int64_column(rows))))

    def _keys(self, at: int) -> Iterator[Row]:
        piece = self.pieces[at]
        part = open_part(self.store, piece.path, piece.size)
        state = PieceState(self.store, part=part, groups=piece.groups)
        for action in _ACTIONS:
            for group, keys in state.keys(action):
                for bucket, rows in self._by_bucket(keys):
                    positions = int64_column(rows)
                    table = pa.table({"key": keys.take(positions), "row": positions})
                    yield Row(bucket, at, group, _KEYS[action], pack_files(table))

    def _by_bucket(self, keys: pa.ChunkedArray) -> Iterator[tuple[int, list[int]]]:
        """The rows of each bucket; those without a key are in none."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        row = 0
        for chunk in keys.chunks:
            for key in chunk.to_pylist():
                if key is not None:
                    found[crc32(key.encode()) % self.num_buckets].append(row)
                row += 1
        yield from found.items()


def reconcile_buckets(batches: Batches) -> Batches:
    """Rows of `Spread`, all of some buckets, to files in force, dead rows and small actions."""
    buckets: defaultdict[int, list[Row]] = defaultdict(list)
    for batch in batches:
        for row in map(Row._make, zip(*(item.to_pylist() for item in batch.columns), strict=True)):
            if row.action == _SMALL:
                yield _as_batch(row)
            else:
                buckets[row.bucket].append(row)
    while buckets:
        yield from map(_as_batch, _reconciled(*buckets.popitem()))


def _reconciled(bucket: int, rows: list[Row]) -> Iterator[Row]:
    decided = [row for row in rows if row.action in _ACTIONS]
    tables = [unpack_files(row.cell) for row in decided]
    keys = pa.chunked_array(
        [chunk for table in tables for chunk in keys_of(table).chunks], pa.string()
    )
    lengths = [table.num_rows for table in tables]
    newest = np.split(_newest(keys, decided, lengths), np.cumsum(lengths)[:-1]) if tables else []
    for row, table, mask in zip(decided, tables, newest, strict=True):
        for start in range(0, table.num_rows, _ROWS_OF_A_CELL):
            some = slice(start, start + _ROWS_OF_A_CELL)
            kept = table.slice(start, _ROWS_OF_A_CELL).filter(pa.array(mask[some]))
            if kept.num_rows:
                yield Row(bucket, row.at, -1, row.action, pack_files(kept))
    for action in _ACTIONS:
        for row in rows:
            if row.action == _KEYS[action] and len(keys):
                held = unpack_files(row.cell)
                dead = held.column("row").filter(pc.is_in(held.column("key"), value_set=keys))
                if len(dead):
                    cell = BitMap(dead.to_pylist()).serialize()
                    yield Row(bucket, row.at, row.group, _DEAD[action], cell)


def _newest(keys: pa.ChunkedArray, rows: list[Row], lengths: list[int]) -> Any:
    """Which of the actions are the newest of their key; runs of commits have one a key."""
    places = np.repeat(np.array([row.at for row in rows], np.int64), lengths)
    listed = pa.table({"key": keys.combine_chunks(), "at": pa.array(places)})
    order = pc.sort_indices(listed, [("key", "ascending"), ("at", "descending")])
    ordered = keys.take(order).combine_chunks()
    first = np.ones(len(ordered), np.bool_)
    if len(ordered) > 1:
        same = pc.equal(ordered.slice(1), ordered.slice(0, len(ordered) - 1))
        first[1:] = ~same.to_numpy(zero_copy_only=False)
    found = np.zeros(len(ordered), np.bool_)
    found[order.to_numpy()[first]] = True
    return found


def reconcile_commits(
    spark: SparkSession, spread: Callable[[int], Spread], num_actions: int
) -> Reconciled:
    """Reconcile on Spark; `spread` is given the number of buckets. The files stay there,
    on the disks of the workers, until nobody holds them any more."""
    from pyspark import StorageLevel

    buckets = max(parallelism(spark), -(-num_actions // _ACTIONS_OF_A_BUCKET))
    first = spread(buckets)
    count = len(first.runs) + len(first.pieces) + 1
    rows = spark.range(0, count, 1, count).mapInArrow(first.__call__, _SCHEMA)
    found = rows.repartition(buckets, "bucket").mapInArrow(reconcile_buckets, _SCHEMA)
    found = found.persist(StorageLevel.DISK_ONLY)
    with clear_errors(f"Reading the commits of {first.store.uri}"):
        told = found.filter(~found["action"].isin(*_ACTIONS)).toArrow().to_pylist()
    rows_told = [Row._make(item[name] for name in _NAMES) for item in told]
    small, problems = _small([row for row in rows_told if row.action == _SMALL])
    return Reconciled(
        files=found.filter(found["action"].isin(*_ACTIONS)).select("action", CELL),
        release=partial(_release, found),
        pieces=dead_rows(first.pieces, [row for row in rows_told if row.action != _SMALL]),
        small=small,
        problems=problems,
    )


def _release(frame: DataFrame) -> None:
    with contextlib.suppress(Exception):  # the session may be gone by then
        frame.unpersist()


def _small(rows: list[Row]) -> tuple[SmallActions, tuple[Problem, ...]]:
    newer, problems = SmallActions(), list[Problem]()
    for row in sorted(rows, key=lambda row: -row.at):
        small, found = pickle.loads(row.cell)  # of our own tasks
        newer = newer.over(small)
        problems.extend(found)
    return newer, tuple(problems)


def dead_rows(pieces: tuple[Piece, ...], rows: list[Row]) -> tuple[Piece, ...]:
    """The pieces with what the rows of all buckets say of theirs."""
    dead: list[dict[FileAction, dict[int, BitMap]]] = [{"add": {}, "remove": {}} for _ in pieces]
    for row in rows:
        action: FileAction = "add" if row.action == _DEAD["add"] else "remove"
        held = dead[row.at][action]
        held[row.group] = held.get(row.group, BitMap()) | BitMap.deserialize(row.cell)
    return tuple(
        replace(
            piece,
            dead={
                action: {group: rows.serialize() for group, rows in groups.items()}
                for action, groups in found.items()
            },
        )
        for piece, found in zip(pieces, dead, strict=True)
    )


def _as_batch(row: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([row.bucket], pa.int32()),
            pa.array([row.at], pa.int64()),
            pa.array([row.group], pa.int32()),
            string_column([row.action]),
            pa.array([row.cell], pa.binary()),
        ],
        names=list(_NAMES),
    )
