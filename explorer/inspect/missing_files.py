"""Live files, and their deletion vectors, that a listing does not find (spec: Add File and
Remove File)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.frames import Column, build_frame
from explorer.log.columns import int64_column, string_column
from explorer.log.key_columns import keys_of
from explorer.log.load import LoadedVersion
from explorer.progress import Watch, while_working
from explorer.table.listed_files import list_files
from explorer.table.snapshot import Snapshot
from explorer.table.store_paths import file_of_each

MISSING: Final[dict[str, Column]] = {
    "path": (string_column, pa.string()),
    "file": (string_column, pa.string()),
    "what": (string_column, pa.string()),
    "bytes": (int64_column, pa.int64()),
    "num_records": (int64_column, pa.int64()),
}

THINGS: Final = ("data file", "deletion vector")
"""What may be missing, in the order of `file_of_each`."""

_KEYS: Final = ("path", "deletion_vector")


def missing_files(snapshot: Snapshot, watch: Watch) -> pa.Table:
    """One row per live file that is gone, or whose deletion vector is, with the columns of
    `MISSING`."""
    present = list_files(snapshot.store, watch).paths
    if not present.num_chunks:
        present = pa.chunked_array([string_column([])], pa.string())
    parts = [build_frame(MISSING, [])]
    for at, keys in enumerate(_keys_of_missing(snapshot, present, watch)):
        if len(keys):
            watch.step(0, None, "Looking up what is gone")
            parts.append(_described(snapshot, at, keys))
    return pa.concat_tables(parts)


def _keys_of_missing(
    snapshot: Snapshot, present: pa.ChunkedArray, watch: Watch
) -> Iterator[pa.ChunkedArray]:
    """For each of the `THINGS`, the keys of the live files that lack it. Statistics, from
    which rows are counted, are not read: hardly ever is a file gone."""
    if not snapshot.is_at_hand:
        files = snapshot.physical_files("add", _KEYS)
        for found in file_of_each(files, snapshot.uri):
            if found is not None:
                yield keys_of(files).filter(_are_gone(found.chunks, present))
        return

    def ask(loaded: LoadedVersion) -> list[pa.ChunkedArray]:
        label, seen = "Reading the files of the newest version", 0
        keys: list[pa.Array] = []
        named: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        watch.step(0, None, label)
        for files in loaded.state.stream("add", _KEYS, ()):
            count = files.table.num_rows
            keys += keys_of(files.table).chunks
            for held, found in zip(named, file_of_each(files.table, snapshot.uri), strict=True):
                held.extend([pa.nulls(count, pa.string())] if found is None else found.chunks)
            seen += count
            watch.step(seen, None, label)
        every = pa.chunked_array(keys, pa.string())
        return while_working(
            lambda: [every.filter(_are_gone(names, present)) for names in named],
            watch,
            "Comparing them with the listing",
        )

    yield from snapshot.consult(ask)


def _are_gone(names: list[pa.Array], present: pa.ChunkedArray) -> pa.ChunkedArray:
    column = pa.chunked_array(names, pa.string())
    if column.null_count == len(column):
        return pc.is_valid(column)
    return pc.and_(column.is_valid(), pc.invert(pc.is_in(column, value_set=present)))


def _described(snapshot: Snapshot, at: int, keys: pa.ChunkedArray) -> pa.Table:
    columns = [*_KEYS, "size", "num_records"]
    if snapshot.is_at_hand:
        rows = snapshot.consult(
            lambda loaded: pa.concat_tables([*loaded.state.among("add", keys, columns)])
        )
    else:
        every = snapshot.physical_files("add", columns)
        rows = every.filter(pc.is_in(keys_of(every), value_set=keys))
    arrays = [
        rows.column("path"),
        file_of_each(rows, snapshot.uri)[at],
        string_column([THINGS[at]]).take(pa.array(np.zeros(rows.num_rows, np.int64))),
        rows.column("size"),
        rows.column("num_records"),
    ]
    return pa.Table.from_arrays(arrays, names=list(MISSING))
