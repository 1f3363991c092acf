"""The files that the log says were removed, for a vacuum that lists no folder.

Tombstones that a checkpoint has dropped are found in the commits, as long as these are
there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import CHANGE, REMOVE, FileEvents
from explorer.files.kept import KeptFiles, is_kept
from explorer.files.listed import stat_files
from explorer.files.store_paths import LEADS_ROUND, Places, file_of_each
from explorer.log.actions.columns import bool_column, int64_scalar
from explorer.log.plain_arrays import TRUE
from explorer.storage.ports import ReadStore
from explorer.storage.tree import leads_through_link


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
        cutoff = int64_scalar(cutoff_ms)
        old = pc.fill_null(pc.less_equal(removed.column("time"), cutoff), TRUE)
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
    return _with_sizes(store, _once(store, found, places))


def _once(store: ReadStore, found: pa.Table, places: Places) -> pa.Table:
    """Each file once, those left out that are kept or lie elsewhere, or to which a way round or
    a link leads, for it may be a kept one by another of its names."""
    found = found.filter(found.column("path").is_valid())
    if not found.num_rows:
        return found
    paths = found.column("path")
    round_about = pc.match_substring_regex(paths, LEADS_ROUND)
    found = found.filter(pc.invert(pc.or_(round_about, is_kept(paths, places))))
    codes = pc.dictionary_encode(found.column("path").combine_chunks())
    first = np.unique(codes.indices.to_numpy(), return_index=True)[1]
    return _not_through_links(store, found.take(pa.array(first)))


def _not_through_links(store: ReadStore, found: pa.Table) -> pa.Table:
    # the folders are few
    names = pc.replace_substring_regex(found.column("path"), r"[^/]*$", "").combine_chunks()
    folders = pc.dictionary_encode(names)
    plain = [not leads_through_link(store, folder) for folder in folders.dictionary.to_pylist()]
    return found.filter(bool_column(plain).take(folders.indices))


def _with_sizes(store: ReadStore, found: pa.Table) -> pa.Table:
    known = stat_files(store, found.column("path"))
    for name in ("bytes", "modified"):
        found = found.append_column(name, known.column(name))
    return found
