"""Which files of a table must stay (spec: Add File and Remove File, Data Files).

Kept are the files of the latest version and those of every tombstone within retention, and
what they reference: data files and deletion vectors. That keeps every version which was
current within retention. (Change files are in commits alone: `explorer.files.events`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.listed import lie_below, with_parents
from explorer.files.store_paths import NOWHERE, Places, last_parts, places_of
from explorer.log.actions.columns import string_column
from explorer.log.checkpoint_content.expiry import is_unexpired
from explorer.log.text_bytes import holds_byte
from explorer.storage.ports import ReadStore, offers
from explorer.storage.tree import LinkStore
from explorer.table.snapshot import Snapshot

_TOMBSTONE_COLUMNS = ("path", "deletion_vector", "size", "deletion_timestamp")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFiles:
    """What the latest version (`live`) and tombstones within retention (`removed`) keep.

    `tombstones` are the latter's rows, `expired` those of the others; both have path,
    deletion_vector, size and deletion_timestamp as in the log.
    """

    live: Places
    removed: Places
    tombstones: pa.Table
    expired: pa.Table

    @property
    def places(self) -> Places:
        """All of them."""
        return self.live.joined(self.removed)


def kept_files(snapshot: Snapshot, cutoff_ms: int) -> KeptFiles:
    """What is kept where files removed at or before `cutoff_ms` (milliseconds since the
    epoch) may go; raises `CorruptLogError` for a deletion vector that names no file."""
    live = snapshot.physical_files("add", ["path", "deletion_vector"])
    every = snapshot.physical_files("remove", _TOMBSTONE_COLUMNS)
    young = is_unexpired(every.column("deletion_timestamp"), cutoff_ms)
    tombstones = every.filter(young)
    return KeptFiles(
        live=places_of(live, snapshot.uri),
        removed=places_of(tombstones, snapshot.uri),
        tombstones=tombstones,
        expired=every.filter(pc.invert(young)),
    )


def is_kept(paths: pa.ChunkedArray, places: Places) -> pa.ChunkedArray:
    """Which of `paths` (below the root, as listed) are kept.

    A file whose name is that of a file named by another place is kept too: it may be the
    same one, because a place can have several names.
    """
    kept = pc.is_in(paths, value_set=_whole(places.inside))
    if len(places.written):
        # only a name with a `%` in it can be one that was not encoded: hardly ever are any left
        rest = paths.filter(pc.invert(kept))
        if any(holds_byte(chunk, "%") for chunk in rest.chunks):
            odd = pc.and_not(pc.match_substring(paths, "%"), kept)
            kept = pc.or_(kept, pc.and_(odd, pc.is_in(paths, value_set=places.written)))
    outside = _whole(places.outside)
    if not len(outside):
        return kept
    return pc.or_(kept, pc.is_in(last_parts(paths), value_set=outside))


def names_through_links(store: ReadStore, links: Sequence[str], names: pa.ChunkedArray) -> Places:
    """For those of the kept `names` that are one of these links or lie below one: the names of
    the files to which they lead, wherever these are."""
    found = _leading_through(links, names)
    if offers(store, LinkStore):
        found |= {store.real_path(name) for name in found}
    last = string_column([name.rpartition("/")[2] for name in sorted(found)])
    return replace(NOWHERE, outside=pa.chunked_array([last]))


def links_in_use(links: Sequence[str], names: pa.ChunkedArray) -> set[str]:
    """Those of the links that are one of the kept `names`, or that one of them lies below."""
    found = _leading_through(links, names)
    return {folder for name in found for folder in with_parents(name)}.intersection(links)


def _leading_through(links: Sequence[str], names: pa.ChunkedArray) -> set[str]:
    if not links or not len(names):
        return set()
    are_links = pc.is_in(names, value_set=string_column(list(links)))
    return set(names.filter(pc.or_(are_links, lie_below(names, links))).to_pylist())


def _whole(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    # an empty one has no chunk to look values up in
    return texts if texts.num_chunks else pa.chunked_array([string_column([])], pa.string())
