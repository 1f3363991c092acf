"""Everything below a table's root, as columns: folder after folder, many at a time where
requests take long.

Local listings bring names alone: of a million files nearly all are known by the log, and
only what is left has to be asked for its size and time.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from stat import S_ISREG
from typing import Protocol, runtime_checkable

from explorer.errors import NotFoundError
from explorer.protocol.filenames import LOG_FOLDER
from explorer.protocol.paths import is_absolute
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import RangeStore, ReadStore, offers

_PIECE = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPiece:
    """Some of what lies directly in `folder` ("" for the root), as names.

    `files` are plain files whose names are text; `others` is everything else that is no
    folder: links, pipes, names that are not UTF-8, shown as well as they can be. `sizes` (bytes)
    and `modified_ms` (milliseconds since the epoch) belong to `files`, and are None where
    asking would cost a request each.
    """

    folder: str
    folders: Sequence[str]
    files: Sequence[str]
    others: Sequence[str]
    sizes: Sequence[int] | None = None
    modified_ms: Sequence[int] | None = None


@runtime_checkable
class TreeStore(ReadStore, Protocol):
    """A `ReadStore` that can also list what lies in folders beside the log."""

    def list_pieces(self, folder: str) -> Iterator[FolderPiece]:
        """What lies directly in `folder`, in pieces of bounded size."""
        ...

    def stat_many(self, paths: Sequence[str]) -> list[tuple[int, int] | None]:
        """Size in bytes and modification time in milliseconds of each plain file; None for
        what is not there, or no plain file."""
        ...


@runtime_checkable
class LinkStore(ReadStore, Protocol):
    """A `ReadStore` in which one file may have several names."""

    def real_path(self, path: str) -> str:
        """Where a path leads, links followed; nothing is read, and nothing need be there."""
        ...


def leads_through_link(store: ReadStore, path: str) -> bool:
    """Whether a folder of `path`, the root and the log's folder apart, is a link: what lies
    behind one may be another table's."""
    if not offers(store, LinkStore):
        return False
    folder = path.rpartition("/")[0]
    in_log = folder == LOG_FOLDER or folder.startswith(f"{LOG_FOLDER}/")
    start = LOG_FOLDER if in_log else ""
    below = folder[len(start) :].strip("/")
    return store.real_path(folder) != f"{store.real_path(start)}/{below}".rstrip("/")


def walk(store: TreeStore, without: Sequence[str] = ()) -> Iterator[FolderPiece]:
    """All folders below the root, those named in `without` left out; links to folders are not
    followed. A folder that goes away meanwhile is one without files."""
    is_remote = offers(store, RangeStore)

    def list_one(folder: str) -> Iterable[FolderPiece]:
        pieces = _pieces(store, folder)
        # what takes long is done by the thread that is asked, not by who looks at it
        return list(pieces) if is_remote else pieces

    level: list[str] = [""]
    while level:
        deeper: list[str] = []
        for pieces in map_concurrently(store, list_one, level):
            for listed in pieces:
                piece = listed if listed.folder else _without_urls(listed)
                start = f"{piece.folder}/" if piece.folder else ""
                found = (start + name for name in piece.folders)
                deeper += [folder for folder in found if folder not in without]
                yield piece
        level = deeper


def _without_urls(piece: FolderPiece) -> FolderPiece:
    """The piece with the names that a store would take for another place, such as the folder
    `file:`, among the `others`."""
    odd = [name for name in (*piece.folders, *piece.files) if is_absolute(name)]
    if not odd:
        return piece
    kept = [at for at, name in enumerate(piece.files) if not is_absolute(name)]

    def of(values: Sequence[int] | None) -> Sequence[int] | None:
        return None if values is None else [values[at] for at in kept]

    return FolderPiece(
        folder=piece.folder,
        folders=[name for name in piece.folders if not is_absolute(name)],
        files=[piece.files[at] for at in kept],
        others=[*piece.others, *odd],
        sizes=of(piece.sizes),
        modified_ms=of(piece.modified_ms),
    )


def _pieces(store: TreeStore, folder: str) -> Iterator[FolderPiece]:
    try:
        yield from store.list_pieces(folder)
    except NotFoundError:
        if not folder:
            raise


def scan_local(place: str, folder: str) -> Iterator[FolderPiece]:
    """`list_pieces` of the local folder `place`, called `folder` by the store."""
    with os.scandir(place) as entries:
        while True:
            piece = list(islice(entries, _PIECE))
            files = [entry.name for entry in piece if entry.is_file(follow_symlinks=False)]
            folders: list[str] = []
            others: list[str] = []
            if len(files) < len(piece):
                for entry in piece:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif not entry.is_file(follow_symlinks=False):
                        others.append(entry.name)
            yield _local_piece(folder, folders, files, others)
            if len(piece) < _PIECE:
                return


def _local_piece(
    folder: str, folders: list[str], files: list[str], others: list[str]
) -> FolderPiece:
    """The piece with those names among the `others` that are not text."""
    if not "".join(files).isascii() or not all(map(str.isascii, [*folders, *others])):
        odd = [name for name in (*folders, *files) if not _is_text(name)]
        others = [_shown(name) for name in (*others, *odd)]
        folders, files = list(filter(_is_text, folders)), list(filter(_is_text, files))
    return FolderPiece(folder=folder, folders=folders, files=files, others=others)


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def stat_local(place: str) -> tuple[int, int] | None:
    """Size and time of one local file, as `TreeStore.stat_many` has them."""
    try:
        found = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a NUL character is in no name
        return None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None
        raise
    return (found.st_size, found.st_mtime_ns // 1_000_000) if S_ISREG(found.st_mode) else None


def _is_text(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8: this text leads to no file
        return False
    return True
