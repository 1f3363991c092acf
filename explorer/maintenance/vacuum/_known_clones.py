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
from explorer.files.decoded_paths import decode_as_text, decode_in_pieces
from explorer.files.store_paths import data_places, last_parts
from explorer.log.actions.columns import string_column, string_scalar
from explorer.maintenance.plan.plan import Verdict
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER, render_commit_path
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.location import canonical_place, is_below, parse_location
from explorer.storage.ports import NeighbourStore, ReadStore, offers
from explorer.table.counts import are, count
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.rules.files.place_rules import are_absolute

MOST_NEIGHBOURS: Final = 1000
"""Folders beside a table that are looked into."""

_HEAD: Final = 2**16
_SHOWN: Final = 5


_LABEL: Final = "Looking for clones"
_NONE: Final = string_column([])
_SILENT: Final = "storage_failed"
"""The kind of an error after which nobody knows what is there; a place that is missing, refused or
no table is no clone that anybody here could know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClone:
    """A table beside this one that is a clone of it, and how many of the files that are to go its
    newest version needs; None where it could not be read, and only may be one."""

    uri: str
    num_needed: int | None

    @property
    def document(self) -> dict[str, Any]:
        """As plans have it."""
        return {"uri": self.uri, "num_needed": self.num_needed}


def known_clones(
    store: ReadStore, paths: pa.ChunkedArray, watch: Watch = UNWATCHED
) -> tuple[KnownClone, ...]:
    """The clones of the table in `store` that lie beside it, by their names; `paths` are the files
    that are to be deleted, as a listing names them below the table's root.

    Raises `StorageError` where the store failed to say what lies beside the table.
    """
    if not len(paths) or not offers(store, NeighbourStore):
        return ()
    neighbours: NeighbourStore = store
    try:
        names = sorted(neighbours.list_neighbours())[:MOST_NEIGHBOURS]
    except DeltaError as error:
        if error.kind == _SILENT:
            raise
        return ()  # nobody may look there

    def open_candidate(name: str) -> ReadStore | None:
        try:
            place = neighbours.open_neighbour(name)
        except DeltaError:  # behind a fence
            return None
        try:
            return place if _may_be_clone(place) else None
        except DeltaError as error:
            return place if error.kind == _SILENT else None

    # many are asked at once how they began; what one of them holds may be large
    candidates = [one for one in map_concurrently(store, open_candidate, names) if one is not None]
    found = []
    for done, place in enumerate(candidates):
        watch.step(done, len(candidates), _LABEL)
        clone = _clone_at(place, store.uri, paths, watch)
        if clone is not None:
            found.append(clone)
    return tuple(found)


def judge_clones(clones: tuple[KnownClone, ...]) -> tuple[Verdict, ...]:
    """What is said where clones are known."""
    if not clones:
        return ()
    beyond = "Clones elsewhere are not known: no log tells of them."
    read = [item for item in clones if item.num_needed is not None]
    unread = [item for item in clones if item.num_needed is None]
    needed = sum(item.num_needed or 0 for item in read)
    those = f"{count(len(read), 'shallow clone')} of the table, {_places(read)}"
    told = []
    if needed:
        told.append(f"{are(needed, 'file')} needed by {those}.")
    elif read:
        told.append(f"No file is needed by {those}.")
    if unread:
        told.append(
            f"{count(len(unread), 'table')} beside it could not be read, and may be a clone that "
            f"needs files: {_places(unread)}."
        )
    if not needed and not unread:
        return (Verdict(guard="clones", outcome="allow", message=" ".join([*told, beyond])),)
    text = " ".join(told)
    return (
        Verdict(
            guard="clones",
            outcome="warn",
            message=f"{text} Clones whose files are gone cannot be read any more. {beyond}",
            remedy="Write the rows of the clones to tables of their own first, or approve it with "
            "the table's name and a reason.",
            asks_for_name=True,
            asks_for_reason=True,
        ),
    )


def _places(clones: list[KnownClone]) -> str:
    more = f" and {len(clones) - _SHOWN} more" if len(clones) > _SHOWN else ""
    return ", ".join(item.uri[:300] for item in clones[:_SHOWN]) + more


def _clone_at(
    store: ReadStore, root: str, paths: pa.ChunkedArray, watch: Watch
) -> KnownClone | None:
    try:
        inside, unsure = _named_elsewhere(Table(store).snapshot(cancel=watch.cancel), root)
    except NotFoundError:
        return None
    except DeltaError as error:
        if error.kind == "cancelled":
            raise
        return KnownClone(uri=store.uri, num_needed=None)
    needed = pc.or_(
        pc.is_in(paths, value_set=inside), pc.is_in(last_parts(paths), value_set=unsure)
    )
    number = pc.sum(needed).as_py() or 0
    if not number and not len(inside):
        return None
    return KnownClone(uri=store.uri, num_needed=number)


def _may_be_clone(store: ReadStore) -> bool:
    """Whether the log of a table began as a clone, or does not say how it began."""
    try:
        head = store.read(render_commit_path(0), limit=_HEAD)
    except NotFoundError:
        return store.has_folder(LOG_FOLDER)
    lines = head.splitlines()
    for number, line in enumerate(lines, 1):
        try:
            info = orjson.loads(line).get("commitInfo")
        except (orjson.JSONDecodeError, AttributeError):
            # the last line may go on after what was read
            return number == len(lines) and len(head) == _HEAD
        if isinstance(info, dict):
            return info.get("operation") == "CLONE"
    return bool(lines)


def _named_elsewhere(snapshot: Snapshot, root: str) -> tuple[pa.Array, pa.Array]:
    """Of the files that a version names by their whole paths: those below another table's root,
    and the names alone of those of which nobody can say whether they are there."""
    files = snapshot.physical_files("add", ["path", "deletion_vector"])
    paths = files.column("path")
    vectors = files.column("deletion_vector").combine_chunks()
    by_path = pc.equal(pc.struct_field(vectors, "storage_type"), string_scalar("p"))
    places = pc.struct_field(vectors, "path_or_inline_dv").filter(by_path)
    absolute = [*paths.filter(are_absolute(paths)).chunks, pc.unique(places)]
    named = pa.chunked_array(absolute, pa.string()).drop_null().combine_chunks()
    inside = data_places(named, root).inside.combine_chunks()
    linked, unsure = _by_folders(named, root)
    return pc.unique(pa.concat_arrays([inside, linked])), unsure


def _by_folders(paths: pa.Array, root: str) -> tuple[pa.Array, pa.Array]:
    """As `_named_elsewhere`, by where the folders of files are once links are followed: another
    address of an object store may be the same one or not."""
    own = canonical_place(parse_location(root))
    names = last_parts(paths)
    folders = pc.replace_substring_regex(paths, r"[^/]*$", "").dictionary_encode()
    inside, unsure = [_NONE], [_NONE]
    for at, folder in enumerate(folders.dictionary.to_pylist()):
        for form in {folder, decode_as_text(folder)}:
            place = _place_of(form)
            if place is None:
                continue
            some = names.filter(pc.equal(folders.indices, at))
            spelled = [some, *decode_in_pieces(pa.chunked_array([some])).chunks]
            if is_below(place, own):
                below = place[len(own) :].strip("/")
                start = f"{below}/" if below else ""
                inside += [pc.binary_join_element_wise(start, each, "") for each in spelled]
            elif _store_of(place) != _store_of(own):
                unsure += spelled
    return pa.concat_arrays(inside), pc.unique(pa.concat_arrays(unsure))


def _place_of(folder: str) -> str | None:
    try:
        return canonical_place(parse_location(folder))
    except DeltaError:
        return None


def _store_of(place: str) -> str:
    """The file system or bucket of a canonical place."""
    scheme, separator, rest = place.partition("://")
    return f"{scheme}{separator}{rest.partition('/')[0]}" if separator else ""
