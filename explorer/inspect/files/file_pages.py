"""The live files of a version, a page at a time.

A sort of a million paths takes a second; the first thousand files are found without it.
The order is kept, so that every other page of it takes milliseconds. What is kept is bounded by
`_MAX_SNAPSHOTS` and `_MAX_ORDERS`, and goes away with its snapshot.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.inspect.answer import LIMIT, MOMENT, Answer, Parameter
from explorer.inspect.frame_rows import plain_rows
from explorer.log.plain_arrays import FALSE, build_array, in_one_piece, read_numbers
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.scan.live_file_reads import read_live_files
from explorer.scan.statistics.partitions import check_partition, is_in_partition
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

COLUMNS = (
    "path",
    "size",
    "modification_time",
    "partition_values",
    "num_records",
    "deletion_vector",
)
_SORTABLE = ("path", "size", "modification_time", "num_records", "deleted_rows")
_Order = tuple[str, str, str, tuple[tuple[str, str | None], ...] | None]
"""What files are sorted by and in which direction, the text that they have, and the values of the
partition that they are of."""
_PARTITION = "partition_values."
_PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))

_FIRST: Final = 1_000
"""Files from the beginning that are found without sorting all."""
_FIRST_OF: Final = 4
"""Of at least so many times as many."""
_FEW_ROWS = 200
"""Rows of a page that are cut out one by one."""
_MAX_SNAPSHOTS = 2
"""Two, so that a comparison of versions does not sort again and again."""
_MAX_ORDERS = 6
"""Eight bytes a file each."""
_WAIT_SECONDS = 0.1
_KEPT = ("num_records", "stats")
"""What has a way of its own in `Snapshot.files`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPage:
    """Rows of one page, and how many files the filter leaves in all."""

    rows: pa.Table
    total: int


def files_page(  # noqa: PLR0913  # a page is offset, limit, order and filter
    snapshot: Snapshot,
    *,
    offset: int,
    limit: int | None,
    sort_by: str = "path",
    descending: bool = False,
    contains: str | None = None,
    partition: Mapping[str, str | None] | None = None,
    columns: Sequence[str] = COLUMNS,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> FilesPage:
    """`limit` files (all where None) from `offset` on, in the order of `sort_by`.

    `columns` are names of `Snapshot.files`; each is read when it is first asked
    for, and `num_records` and `stats` of a million files take seconds. `sort_by`
    is `path`, `size`, `modification_time`, `num_records`, `deleted_rows` or
    `partition_values.NAME`; nulls come last. `contains` leaves only files with
    that text in their path or in a partition value, whatever the case; `partition`,
    values by logical names, only those of that partition, and raises `InvalidArgumentError`
    where these are not all of the partition columns.
    """
    if partition is not None:
        check_partition(snapshot.metadata.partition_columns, partition)
    wanted_values = None if partition is None else tuple(sorted(partition.items()))
    files, watch = _FILES.of(snapshot), Watch(progress=progress, cancel=cancel)
    direction = "descending" if descending else "ascending"
    start, wanted = max(offset, 0), None if limit is None else max(limit, 0)
    found = None
    if not contains and partition is None and wanted is not None:
        found = files.first(sort_by, direction, start + wanted, watch)
    if found is None:
        order = files.order((sort_by, direction, contains or "", wanted_values), watch)
        found = _Ordered(positions=order, total=len(order))
    stop = found.total if wanted is None else min(start + wanted, found.total)
    positions = found.positions.slice(start, max(stop - start, 0))
    rows = _rows_at(files.table(columns, watch), positions)
    return FilesPage(rows=rows, total=found.total)


def _rows_at(table: pa.Table, positions: pa.Array) -> pa.Table:
    """The rows at these positions, in their order. To take them puts the chunks of whole columns
    together first: half a second for a million files, whatever the number of rows."""
    if not 0 < len(positions) <= _FEW_ROWS:
        return table.take(positions)
    singly = [table.slice(at, 1) for at in positions.to_pylist()]
    return pa.concat_tables(singly).combine_chunks()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ordered:
    """The positions of files in an order, those of the first at least, and of how many."""

    positions: pa.Array
    total: int


def _first_of(table: pa.Table, direction: str) -> _Ordered | None:
    """The first files in the order of the column `key`; None where they are a large part of all,
    or some of them have none."""
    keys, total = table.column("key"), table.num_rows
    if total < _FIRST_OF * _FIRST or total - keys.null_count < _FIRST:
        return None
    by = [("key", direction)]
    best = pc.select_k_unstable(table, k=_FIRST, sort_keys=by)
    last = keys[best[_FIRST - 1].as_py()]
    reaches = pc.less_equal if direction == "ascending" else pc.greater_equal
    near = pc.fill_null(reaches(keys, last), FALSE)
    places = pc.indices_nonzero(near)
    if _FIRST_OF * len(places) > total:  # too many of them are the same
        return None
    # those that are the same stay in the order of the log, as where all are sorted
    order = pc.sort_indices(table.filter(near), sort_keys=by)
    return _Ordered(positions=places.take(order), total=total)


class _SortedFiles:
    """The files of one snapshot and the orders in which they were asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        # weakly, or what is kept here would keep its snapshot
        self._snapshot = weakref.ref(snapshot)
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._orders: OrderedDict[_Order, pa.Array] = OrderedDict()
        self._firsts: dict[tuple[str, str], _Ordered | None] = {}
        self._lock = threading.RLock()

    def table(self, columns: Sequence[str], watch: Watch) -> pa.Table:
        """These columns of all files, in the order of the log."""
        with self._turn(watch):
            missing = [name for name in columns if name not in self._columns]
            snapshot = self._snapshot()
            if missing and snapshot is not None:
                found = _read(snapshot, missing, watch)
                self._columns.update(zip(found.column_names, found.columns, strict=True))
            return pa.Table.from_arrays([self._columns[name] for name in columns], list(columns))

    @contextmanager
    def _turn(self, watch: Watch) -> Iterator[None]:
        """One reads at a time; who waits for another can be cancelled."""
        while not self._lock.acquire(timeout=_WAIT_SECONDS):
            watch.step(0, None, "Waiting for what is being read already")
        try:
            yield
        finally:
            self._lock.release()

    def order(self, wanted: _Order, watch: Watch) -> pa.Array:
        """Positions of the files that the filter leaves, in order."""
        with self._turn(watch):
            if wanted not in self._orders:
                self._orders[wanted] = self._build_order(wanted, watch)
            self._orders.move_to_end(wanted)
            while len(self._orders) > _MAX_ORDERS:
                self._orders.popitem(last=False)
            return self._orders[wanted]

    def first(self, sort_by: str, direction: str, count: int, watch: Watch) -> _Ordered | None:
        """At least the first `count` files in an order: to find them takes a fraction of the time
        of sorting all. None where they are many, or all may as well be sorted."""
        wanted = (sort_by, direction)
        with self._turn(watch):
            if count > _FIRST or (*wanted, "", None) in self._orders:
                return None
            if wanted not in self._firsts:
                keys = pa.Table.from_arrays([self._sort_key(sort_by, watch)], ["key"])
                watch.step(0, None, "Sorting files")
                self._firsts[wanted] = _first_of(keys, direction)
            return self._firsts[wanted]

    def _build_order(self, wanted: _Order, watch: Watch) -> pa.Array:
        sort_by, direction, contains, partition = wanted
        if partition is not None:
            # its files are few: they are sorted, and not all
            maps = in_one_piece(self.table(["partition_values"], watch).column(0))
            places = pc.indices_nonzero(is_in_partition(maps, dict(partition)))
            watch.step(0, None, "Searching the partition")
            if contains:
                found = _matches(self.table(["path", "partition_values"], watch), contains)
                places = places.filter(found.take(places).combine_chunks())
            keys = pa.Table.from_arrays([self._sort_key(sort_by, watch).take(places)], ["key"])
            return places.take(pc.sort_indices(keys, sort_keys=[("key", direction)]))
        if contains:
            everything = self.order((sort_by, direction, "", None), watch)
            searched = self.table(["path", "partition_values"], watch)
            watch.step(0, None, "Searching paths")
            return everything.filter(_matches(searched, contains).take(everything))
        keys = pa.Table.from_arrays([self._sort_key(sort_by, watch)], ["key"])
        watch.step(0, None, "Sorting files")
        return pc.sort_indices(keys, sort_keys=[("key", direction)])

    def _sort_key(self, sort_by: str, watch: Watch) -> pa.ChunkedArray:
        if sort_by.startswith(_PARTITION):
            values = self.table(["partition_values"], watch).column(0)
            return pc.map_lookup(values, sort_by.removeprefix(_PARTITION), "first")
        if sort_by not in _SORTABLE:
            raise InvalidArgumentError(
                f"Files cannot be sorted by {sort_by[:60]!r}.",
                reason="Files are sorted by a fact that the log has for every file.",
                remedy=f"Choose from {', '.join(_SORTABLE)} or {_PARTITION}NAME.",
            )
        if sort_by == "deleted_rows":
            vectors = self.table(["deletion_vector"], watch).column(0)
            return pc.struct_field(vectors, "cardinality")
        return self.table([sort_by], watch).column(0)


def _read(snapshot: Snapshot, columns: Sequence[str], watch: Watch) -> pa.Table:
    """Some columns of all files; what counts rows is kept by the snapshot, and read apart."""
    segment = snapshot.segment
    kept = [name for name in columns if name in _KEPT]
    stored = [name for name in columns if name not in _KEPT]
    found = read_live_files(snapshot, stored, watch, "Reading files") if stored else None
    if not kept:
        return found
    watch.step(0, None, "Reading statistics")
    counted = snapshot.files(kept)
    if found is None:
        return counted
    if snapshot.segment is not segment:  # read another way since, and in another order
        return snapshot.files(columns)
    for name in kept:
        found = found.append_column(name, counted.column(name))
    return found


class _RecentFiles:
    """The files of the snapshots that were looked at last."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, tuple[weakref.ref[Snapshot], _SortedFiles]] = OrderedDict()
        self._lock = threading.RLock()  # a snapshot may be collected while it is held

    def of(self, snapshot: Snapshot) -> _SortedFiles:
        """The files of `snapshot`; they are read when they are asked for."""
        at = id(snapshot)
        with self._lock:
            held = self._held.get(at)
            # an id may be used again once its snapshot is gone
            if held is not None and held[0]() is snapshot:
                self._held.move_to_end(at)
                return held[1]
            files = _SortedFiles(snapshot)
            self._held[at] = (weakref.ref(snapshot, lambda _: self._forget(at)), files)
            self._held.move_to_end(at)
            while len(self._held) > _MAX_SNAPSHOTS:
                self._held.popitem(last=False)
            return files

    def _forget(self, at: int) -> None:
        with self._lock:
            held = self._held.get(at)
            if held is not None and held[0]() is None:
                del self._held[at]


_FILES = _RecentFiles()


def _matches(table: pa.Table, text: str) -> pa.ChunkedArray:
    """Which files have `text` in their path or in a partition value."""
    found = pc.match_substring(table.column("path"), text, ignore_case=True)
    in_values = [_matches_values(chunk, text) for chunk in table.column("partition_values").chunks]
    return pc.or_(found, pa.chunked_array(in_values, pa.bool_()))


def _matches_values(maps: pa.MapArray, text: str) -> pa.Array:
    """Which of `maps` have `text` in a value."""
    lists = maps.cast(_PAIRS)
    in_value = pc.match_substring(
        pc.struct_field(pc.list_flatten(lists), "value"), text, ignore_case=True
    )
    found = np.zeros(len(maps), np.bool_)
    found[read_numbers(pc.list_parent_indices(lists).filter(in_value))] = True
    return build_array(found)


def _ask(  # noqa: PLR0913  # the parameters of an answer
    table: Table,
    progress: ProgressCallback | None,
    *,
    version: int | None = None,
    timestamp: str | None = None,
    sort: str = "path",
    descending: bool = False,
    contains: str | None = None,
    limit: int | None = None,
) -> FilesPage:
    snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
    return files_page(
        snapshot,
        offset=0,
        limit=limit,
        sort_by=sort,
        descending=descending,
        contains=contains,
        progress=progress,
    )


FILES: Final = Answer(
    name="files",
    parameters=(
        *MOMENT,
        Parameter(name="sort", kind="text"),
        Parameter(name="descending", kind="flag"),
        Parameter(name="contains", kind="text"),
        LIMIT,
    ),
    ask=_ask,
    documents=lambda page, limit: plain_rows(page.rows, limit),
    is_list=True,
    asks_limit=True,
)
