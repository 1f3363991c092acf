"""Which rows of a row group of a checkpoint are in force, and what is read of them
(spec: Action Reconciliation)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import DELETION_VECTOR
from explorer.log.actions.fields import FileAction
from explorer.log.actions.record_counts import record_counts
from explorer.log.checkpoint.parquet_part import ParquetPart
from explorer.log.reconcile.key_columns import GroupKeys
from explorer.log.state.file_columns import FileColumns
from explorer.protocol.actions import FieldPath
from explorer.records import record

NUM_RECORDS = "num_records"
"""The column that is made of statistics."""

STATS_PARSED_COUNT: FieldPath = ("stats_parsed", "numRecords")
"""Where a checkpoint may have it as a number."""


@record
class LiveGroup:
    """The rows of one row group that are in force; `mask` is None where all are."""

    action: FileAction
    part: ParquetPart
    group: int
    mask: pa.ChunkedArray | None
    count: int

    @classmethod
    def of(
        cls, action: FileAction, part: ParquetPart, group: int, mask: pa.ChunkedArray | None
    ) -> LiveGroup:
        """The rows that `mask` keeps of all of the row group."""
        rows = count = part.num_rows(group)
        if mask is not None:
            count = sum(flags.true_count for flags in mask.chunks)
        return cls(
            action=action,
            part=part,
            group=group,
            mask=None if count == rows else mask,
            count=count,
        )


@record
class WantedColumns:
    """Columns and leaves of one row group, what must be read for them, and its keys where
    they are part of the answer."""

    columns: Sequence[str]
    leaves: Sequence[FieldPath]
    stored: list[str]
    further: list[FieldPath]
    keys: GroupKeys | None


def find_live(keys: GroupKeys, decided: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
    """Which rows of a checkpoint have a path, and a key of which no later commit speaks;
    None where all do."""
    mask: pa.ChunkedArray | None = None
    if keys.paths.null_count:
        mask = pc.is_valid(keys.paths)
    if decided is not None:
        open_still = pc.invert(keys.among(decided))
        mask = open_still if mask is None else pc.and_(mask, open_still)
    return mask


def assemble(
    wanted: WantedColumns,
    rows: slice,
    table: pa.Table | None,
    inner: Mapping[FieldPath, pa.ChunkedArray],
) -> FileColumns:
    """Some rows of a row group, of which `table` and `inner` were read."""
    held = {} if table is None else dict(zip(table.column_names, table.columns, strict=True))
    arrays: list[pa.ChunkedArray] = []
    for name in wanted.columns:
        if name == NUM_RECORDS:
            # before they are masked: masking numbers is cheaper than masking statistics
            arrays.append(record_counts(held["stats"], inner.get(STATS_PARSED_COUNT)))
        elif name in held:
            arrays.append(held[name])
        elif name == "path" and wanted.keys is not None:
            arrays.append(wanted.keys.paths.slice(rows.start, rows.stop - rows.start))
        else:
            arrays.append(pa.chunked_array([pa.nulls(rows.stop - rows.start, DELETION_VECTOR)]))
    leaves = {path: inner[path] for path in wanted.leaves if path in inner}
    if not arrays:  # how many rows there are is said all the same
        nothing = pa.nulls(rows.stop - rows.start)
        return FileColumns(table=pa.table([nothing], names=[""]).select([]), leaves=leaves)
    return FileColumns(
        table=pa.Table.from_arrays(arrays, names=list(wanted.columns)), leaves=leaves
    )


def only_live(
    found: FileColumns, rows: slice, mask: pa.ChunkedArray | None, later: LaterColumns
) -> Iterator[FileColumns]:
    """Those of some rows that the mask keeps, if there are any."""
    further = cache(partial(later.read, rows, mask))
    if mask is None or pc.all(mask).as_py():
        yield replace(found, further=further)
    elif pc.any(mask).as_py():
        yield replace(found.only(mask), further=further)


def select(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Columns of files of commits, `num_records` among them."""
    if not columns:
        return rows.select([])  # it says how many there are
    arrays = [
        record_counts(rows.column("stats"), None) if name == NUM_RECORDS else rows.column(name)
        for name in columns
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


class LaterColumns:
    """Gives columns by name for ranges of rows, as long as the ranges move forward without
    holding more than one of them; `stream` gives all rows of a column in pieces, in order.
    Threads may share it."""

    def __init__(self, stream: Callable[[str], Iterator[pa.ChunkedArray]]) -> None:
        self._stream = stream
        self._held: dict[str, tuple[Iterator[pa.ChunkedArray], int, pa.ChunkedArray]] = {}
        self._lock = threading.Lock()

    def read(self, rows: slice, mask: pa.ChunkedArray | None, name: str) -> pa.ChunkedArray:
        """Those of `rows` that the mask keeps, all where that is None."""
        with self._lock:
            try:
                start, held = self._reach(name, rows)
            except BaseException:
                self._held.pop(name, None)  # whoever asks next is told the same
                raise
        found = held.slice(rows.start - start, rows.stop - rows.start)
        return found if mask is None else pc.filter(found, mask)

    def _reach(self, name: str, rows: slice) -> tuple[int, pa.ChunkedArray]:
        """A part of a column that has these rows, and its first row."""
        if name not in self._held or self._held[name][1] > rows.start:
            pieces = self._stream(name)
            self._held[name] = pieces, 0, next(pieces)
        pieces, start, held = self._held[name]
        while (end := start + len(held)) < rows.stop:
            more = next(pieces)
            if end <= rows.start:
                start, held = end, more
            else:
                held = pa.chunked_array([*held.chunks, *more.chunks], more.type)
            self._held[name] = pieces, start, held
        return start, held
