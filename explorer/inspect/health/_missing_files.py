"""Live files, and their deletion vectors, that a listing does not find (spec: Add File and
Remove File)."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.listed import ListedFiles
from explorer.files.store_paths import file_of_each
from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import int64_column, string_column
from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Watch, while_working
from explorer.scan.live_file_reads import reduce_live_files
from explorer.table.row_counts import live_counts
from explorer.table.snapshot import Snapshot

MISSING: Final[dict[str, Column]] = {
    "path": (string_column, pa.string()),
    "file": (string_column, pa.string()),
    "what": (string_column, pa.string()),
    "bytes": (int64_column, pa.int64()),
    "num_rows": (int64_column, pa.int64()),
}

THINGS: Final = ("data file", "deletion vector")
"""What may be missing, in the order of `file_of_each`."""


def find_missing_files(snapshot: Snapshot, listed: ListedFiles, watch: Watch) -> pa.Table:
    """One row per live file that is gone, or whose deletion vector is, with the columns of
    `MISSING`."""
    present = listed.paths
    if not present.num_chunks:
        present = pa.chunked_array([string_column([])], pa.string())
    parts = [build_frame(MISSING, [])]
    for what, keys in _keys_of_missing(snapshot, present, watch).items():
        if len(keys):
            watch.step(0, None, "Looking up what is gone")
            parts.append(_described(snapshot, what, keys))
    return pa.concat_tables(parts)


def _keys_of_missing(
    snapshot: Snapshot, present: pa.ChunkedArray, watch: Watch
) -> dict[str, pa.ChunkedArray]:
    """For each of the `THINGS`, the keys of the live files that lack it. Statistics, from
    which rows are counted, are not read: hardly ever is a file gone."""
    names_of = partial(_names_of, root=snapshot.uri)
    label = "Reading the files of the newest version"
    pieces = reduce_live_files(snapshot, KEY_COLUMNS, (), names_of, watch, label)
    if not pieces:
        return {}
    every = pa.concat_tables(pieces)
    return while_working(
        lambda: {
            what: every.column("key").filter(_are_gone(every.column(what), present))
            for what in THINGS
        },
        watch,
        "Comparing them with the listing",
    )


def _names_of(files: FileColumns, root: str) -> pa.Table:
    """The key of each file, and its `THINGS` as a listing names them."""
    found = file_of_each(files.table, root)
    nothing = pa.chunked_array([pa.nulls(files.table.num_rows, pa.string())])
    names = [nothing if name is None else name for name in found]
    return pa.Table.from_arrays([keys_of(files.table), *names], names=["key", *THINGS])


def _are_gone(names: pa.ChunkedArray, present: pa.ChunkedArray) -> pa.ChunkedArray:
    if names.null_count == len(names):
        return pc.is_valid(names)
    return pc.and_(names.is_valid(), pc.invert(pc.is_in(names, value_set=present)))


def _described(snapshot: Snapshot, what: str, keys: pa.ChunkedArray) -> pa.Table:
    rows = snapshot.among(keys, [*KEY_COLUMNS, "size", "num_records"])
    sizes = rows.column("size")
    if what == "deletion vector":
        sizes = pc.struct_field(rows.column("deletion_vector"), "size_in_bytes").cast(pa.int64())
    arrays = [
        rows.column("path"),
        file_of_each(rows, snapshot.uri)[THINGS.index(what)],
        string_column([what]).take(pa.array(np.zeros(rows.num_rows, np.int64))),
        sizes,
        live_counts(rows),
    ]
    return pa.Table.from_arrays(arrays, names=list(MISSING))
