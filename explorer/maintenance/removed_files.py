"""The files that the log says were removed, for a vacuum that lists no folder.

Tombstones that a checkpoint has dropped are found in the commits, as long as these are
there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import int64_column
from explorer.storage.ports import ReadStore
from explorer.table.file_events import CHANGE, REMOVE, FileEvents
from explorer.table.kept_files import KeptFiles, is_kept
from explorer.table.listed_files import stat_files
from explorer.table.store_paths import Places, file_of_each


def removed_files(
    store: ReadStore,
    kept: KeptFiles,
    events: FileEvents | None,
    places: Places,
    cutoff_ms: int,
) -> pa.Table:
    """Files of tombstones that are expired at `cutoff_ms`, and change files, none of which is
    among the kept `places`: path, bytes and modified (both null for one that is gone),
    removed_at (milliseconds, null where unknown) and is_change."""
    root = store.uri
    names: list[pa.Array] = []
    times: list[pa.Array] = []
    kinds: list[np.ndarray[tuple[int], np.dtype[np.bool_]]] = []

    def take(rows: pa.Table, stamps: pa.ChunkedArray, *, is_change: bool) -> None:
        for each in file_of_each(rows, root):
            if each is not None:
                names.extend(each.chunks)
                times.append(stamps.cast(pa.int64()).combine_chunks())
                kinds.append(np.full(len(each), is_change))

    take(kept.expired, kept.expired.column("deletion_timestamp"), is_change=False)
    if events is not None:
        last = events.newest
        removed = last.filter(pa.array(last.column("kind").to_numpy() == REMOVE))
        cutoff = int64_column([cutoff_ms])[0]
        old = pc.fill_null(pc.less_equal(removed.column("time"), cutoff), _YES)
        removed = removed.filter(old)
        take(removed, removed.column("time"), is_change=False)
        changes = events.table.filter(pa.array(events.table.column("kind").to_numpy() == CHANGE))
        take(changes, changes.column("time"), is_change=True)
    found = pa.table(
        {
            "path": pa.chunked_array(names, pa.string()),
            "removed_at": pa.chunked_array(times, pa.int64()),
            "is_change": pa.array(np.concatenate(kinds)),
        }
    )
    return _with_sizes(store, _once(found, places))


def _once(found: pa.Table, places: Places) -> pa.Table:
    """Each file once, those left out that are kept or lie elsewhere, or to which a way round
    leads, for it may be a kept one by another of its names."""
    found = found.filter(found.column("path").is_valid())
    if len(found.column("path")):
        found = found.filter(pc.invert(pc.match_substring_regex(found.column("path"), _NOT_PLAIN)))
    paths = found.column("path")
    found = found.filter(pc.invert(is_kept(paths, places))) if len(paths) else found
    codes = pc.dictionary_encode(found.column("path").combine_chunks())
    first = np.unique(codes.indices.to_numpy(), return_index=True)[1]
    return found.take(pa.array(first))


def _with_sizes(store: ReadStore, found: pa.Table) -> pa.Table:
    known = stat_files(store, found.column("path"))
    for name in ("bytes", "modified"):
        found = found.append_column(name, known.column(name))
    return found


# an empty part, `.` or `..`
_NOT_PLAIN = r"(?:^|/)\.{0,2}(?:/|$)"

_YES = pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\x01")])[0]
