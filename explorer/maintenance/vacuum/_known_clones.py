"""Shallow clones of a table, which read its files (spec: Add File and Remove File).

Nothing in a table's log tells of its clones. Those are known that lie beside it, in the folder
that the table's own is in, and whose log began as a clone or no longer says how it began. Clones
elsewhere are not known to anybody here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError, NotFoundError
from explorer.files.store_paths import data_places
from explorer.log.actions.columns import string_scalar
from explorer.maintenance.plan.plan import Verdict
from explorer.protocol.filenames import LOG_FOLDER, render_commit_path
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import NeighbourStore, ReadStore, offers
from explorer.table.counts import are, count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.rules.place_rules import are_absolute

MOST_NEIGHBOURS: Final = 1000
"""Folders beside a table that are looked into."""

_HEAD: Final = 2**16
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClone:
    """A clone beside the table, and how many of the files that are to go its newest version
    needs; None where that version cannot be read."""

    uri: str
    num_needed: int | None

    @property
    def document(self) -> dict[str, Any]:
        """As plans have it."""
        return {"uri": self.uri, "num_needed": self.num_needed}


def known_clones(store: ReadStore, paths: pa.ChunkedArray) -> tuple[KnownClone, ...]:
    """The clones of the table in `store` that lie beside it, by their names; `paths` are the files
    that are to be deleted, as a listing names them below the table's root."""
    if not len(paths) or not offers(store, NeighbourStore):
        return ()
    neighbours: NeighbourStore = store
    try:
        names = sorted(neighbours.list_neighbours())[:MOST_NEIGHBOURS]
    except DeltaError:  # nobody may look there
        return ()

    def ask(name: str) -> KnownClone | None:
        try:
            return _clone_at(neighbours.open_neighbour(name), store.uri, paths)
        except DeltaError:  # no table, or none that may be read
            return None

    return tuple(found for found in map_concurrently(store, ask, names) if found is not None)


def judge_clones(clones: tuple[KnownClone, ...]) -> tuple[Verdict, ...]:
    """What is said where clones are known."""
    if not clones:
        return ()
    beyond = "Clones elsewhere are not known: no log tells of them."
    places = ", ".join(item.uri[:300] for item in clones[:_SHOWN])
    more = f" and {len(clones) - _SHOWN} more" if len(clones) > _SHOWN else ""
    those = f"{count(len(clones), 'shallow clone')} of the table, {places}{more}"
    needed = sum(item.num_needed or 0 for item in clones)
    unread = sum(item.num_needed is None for item in clones)
    if not needed and not unread:
        message = f"No file is needed by {those}. {beyond}"
        return (Verdict(guard="clones", outcome="allow", message=message),)
    told = [f"{are(needed, 'file')} needed by {those}." if needed else f"There is {those}."]
    if unread:
        told.append(f"{count(unread, 'clone')} could not be read: what is needed is unknown.")
    text = " ".join(told)
    return (
        Verdict(
            guard="clones",
            outcome="warn",
            message=f"{text} Clones whose files are gone cannot be read any more. {beyond}",
            remedy="Type the table's name and give a reason, or write the rows of the clones to "
            "tables of their own first.",
            asks_for_name=True,
        ),
    )


def _clone_at(store: ReadStore, root: str, paths: pa.ChunkedArray) -> KnownClone | None:
    if not _may_be_clone(store):
        return None
    try:
        mine = _named_below(Table(store).snapshot(), root)
    except NotFoundError:
        return None
    except DeltaError:
        return KnownClone(uri=store.uri, num_needed=None)
    if not len(mine):
        return None
    needed = pc.sum(pc.is_in(paths, value_set=mine)).as_py() or 0
    return KnownClone(uri=store.uri, num_needed=needed)


def _may_be_clone(store: ReadStore) -> bool:
    """Whether the log of a table began as a clone, or its beginning is gone."""
    try:
        head = store.read(render_commit_path(0), limit=_HEAD)
    except NotFoundError:
        return store.has_folder(LOG_FOLDER)
    for line in head.splitlines():
        try:
            info = orjson.loads(line).get("commitInfo")
        except (orjson.JSONDecodeError, AttributeError):
            return False
        if isinstance(info, dict):
            return info.get("operation") == "CLONE"
    return False


def _named_below(snapshot: Snapshot, root: str) -> pa.Array:
    """The files below another table's root that a version names by their whole paths."""
    files = snapshot.physical_files("add", ["path", "deletion_vector"])
    paths = files.column("path")
    vectors = files.column("deletion_vector").combine_chunks()
    by_path = pc.equal(pc.struct_field(vectors, "storage_type"), string_scalar("p"))
    places = pc.struct_field(vectors, "path_or_inline_dv").filter(by_path)
    absolute = [*paths.filter(are_absolute(paths)).chunks, pc.unique(places)]
    inside = data_places(pa.chunked_array(absolute, pa.string()).combine_chunks(), root).inside
    return pc.unique(inside.combine_chunks())
