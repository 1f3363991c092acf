"""What lies below a table's root, and which of it the table does not know (spec: Data
Files, Deletion Vector File Storage Format, Change Data Files).

Stray is what looks like a file of a table and no version references: `*.parquet`,
`deletion_vector_*.bin`, and everything under `_change_data`. All else that the log does
not know is foreign, and so is whatever lies under a folder with `_` or `.` at its
beginning, `_change_data` and the folders of partition columns left out, and below a folder
with a log of its own: the files of another table.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import UnsupportedError
from explorer.log.actions.columns import bool_column, int64_column
from explorer.log.plain_arrays import ZERO, Flags, build_array, read_values
from explorer.progress import UNWATCHED, Watch
from explorer.protocol.filenames import LOG_FOLDER
from explorer.storage.ports import ReadStore, offers
from explorer.storage.tree import TreeStore, walk

CHANGE_FOLDER = "_change_data"

_STRAY = r"(?:\.parquet|(?:^|/)deletion_vector_[^/]*\.bin)$"
_LIKE_A_URL = r"^[A-Za-z][A-Za-z0-9+.-]*:"
_STAT_AT_ONCE = 65_536
_NAMES_AT_ONCE = 65_536
_ZERO = np.zeros(1, np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedFiles:
    """Everything below the root but the log: `paths` of plain files; `sizes` and
    `modified_ms` of the same, None where the store tells them only when asked. `others` are
    paths of links and the like, `folders` counts what was looked into; `tables` are those of
    them, the root left out, in which a log lies, or a link to one."""

    paths: pa.ChunkedArray
    sizes: pa.ChunkedArray | None
    modified_ms: pa.ChunkedArray | None
    others: tuple[str, ...]
    folders: int
    tables: tuple[str, ...] = ()

    def select(self, mask: pa.ChunkedArray, store: ReadStore) -> pa.Table:
        """The files that `mask` names, with path, bytes and modified (milliseconds); both
        null for one that has gone since."""
        paths = self.paths.filter(mask)
        if self.sizes is not None and self.modified_ms is not None:
            sizes, times = self.sizes.filter(mask), self.modified_ms.filter(mask)
            return pa.Table.from_arrays([paths, sizes, times], names=["path", "bytes", "modified"])
        return stat_files(store, paths)

    def filter(self, mask: Flags) -> ListedFiles:
        """Those files that `mask` names."""
        chosen = build_array(mask)
        return replace(
            self,
            paths=self.paths.filter(chosen),
            sizes=None if self.sizes is None else self.sizes.filter(chosen),
            modified_ms=None if self.modified_ms is None else self.modified_ms.filter(chosen),
        )


def list_files(store: ReadStore, watch: Watch = UNWATCHED) -> ListedFiles:
    """List all of it; raises `UnsupportedError` for a store that cannot."""
    paths = _PathBuilder()
    sizes: list[pa.Array] = []
    times: list[pa.Array] = []
    others: list[str] = []
    folders, count = set(), 0
    tables: set[str] = set()
    for piece in walk(_tree(store), without=(LOG_FOLDER,)):
        folders.add(piece.folder)
        if piece.folder and LOG_FOLDER in (*piece.folders, *piece.others):
            tables.add(piece.folder)
        count += len(piece.files)
        watch.step(count, None, "Listing files")
        start = f"{piece.folder}/" if piece.folder else ""
        others += [start + name for name in piece.others]
        paths.add(start, piece.files)
        if piece.sizes is not None and piece.modified_ms is not None:
            sizes.append(int64_column(piece.sizes))
            times.append(int64_column(piece.modified_ms))
    known = bool(sizes)
    return ListedFiles(
        paths=paths.build(),
        sizes=pa.chunked_array(sizes, pa.int64()) if known else None,
        modified_ms=pa.chunked_array(times, pa.int64()) if known else None,
        others=tuple(others),
        folders=len(folders),
        tables=tuple(sorted(tables)),
    )


class _PathBuilder:
    """A column of paths, put together folder by folder without a text for each path."""

    def __init__(self) -> None:
        self._chunks: list[pa.Array] = []
        self._texts: list[str] = []
        self._lengths = array("i")

    def add(self, start: str, names: Sequence[str]) -> None:
        """Add the files `names` of the folder that every path begins with."""
        for begin in range(0, len(names), _NAMES_AT_ONCE):
            some = names[begin : begin + _NAMES_AT_ONCE]
            text = start + start.join(some)
            more = len(start) if text.isascii() else len(start.encode())
            parts = some if text.isascii() else map(str.encode, some)
            self._texts.append(text)
            self._lengths.extend([more + length for length in map(len, parts)])
            if len(self._lengths) >= _NAMES_AT_ONCE:
                self._finish()

    def build(self) -> pa.ChunkedArray:
        """All that was added, in this order."""
        if self._lengths:
            self._finish()
        return pa.chunked_array(self._chunks, pa.string())

    def _finish(self) -> None:
        text = "".join(self._texts).encode()
        ends = np.cumsum(np.frombuffer(self._lengths, np.int32), dtype=np.int32)
        offsets = np.concatenate([_ZERO, ends])
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        self._chunks.append(pa.Array.from_buffers(pa.string(), len(ends), buffers))
        self._texts, self._lengths = [], array("i")


def stat_files(store: ReadStore, paths: pa.ChunkedArray) -> pa.Table:
    """Size and modification time of files; null for what does not exist."""
    tree = _tree(store)
    sizes: list[pa.Array] = []
    times: list[pa.Array] = []
    for start in range(0, len(paths), _STAT_AT_ONCE):
        found = tree.stat_many(paths.slice(start, _STAT_AT_ONCE).to_pylist())
        sizes.append(int64_column([None if info is None else info[0] for info in found]))
        times.append(int64_column([None if info is None else info[1] for info in found]))
    return pa.Table.from_arrays(
        [paths, pa.chunked_array(sizes, pa.int64()), pa.chunked_array(times, pa.int64())],
        names=["path", "bytes", "modified"],
    )


def is_hidden(paths: pa.ChunkedArray, partition_columns: Sequence[str]) -> pa.ChunkedArray:
    """Which files lie under a hidden folder, or are hidden by their own name: no planner
    touches them. `partition_columns` are those of the table, physical names too."""
    shown = pc.replace_substring_regex(paths, rf"^{CHANGE_FOLDER}/", "")
    for name in partition_columns:
        if name.startswith(("_", ".")):
            # a folder of that column: only its beginning hides it
            shown = pc.replace_substring_regex(shown, rf"(^|/)(?:{_escaped(name)}=)", r"\1p=")
    hidden = pc.match_substring_regex(shown, r"(?:^|/)[_.]")
    # the store would take such a path for another place
    return pc.or_(hidden, pc.match_substring_regex(paths, _LIKE_A_URL))


def is_stray_by_name(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Which names are those of files of a table."""
    return pc.or_(
        pc.match_substring_regex(paths, _STRAY), pc.starts_with(paths, f"{CHANGE_FOLDER}/")
    )


def lie_below(paths: pa.ChunkedArray, folders: Collection[str]) -> pa.ChunkedArray:
    """Which files lie below one of these folders, however deep."""
    if not folders:
        return pa.chunked_array([build_array(np.zeros(len(paths), np.bool_))])
    wanted = set(folders)
    whole = pc.replace_substring_regex(paths, r"/?[^/]*$", "").combine_chunks()
    each = pc.dictionary_encode(whole)
    inside = [not wanted.isdisjoint(with_parents(text)) for text in each.dictionary.to_pylist()]
    return pa.chunked_array([bool_column(inside).take(each.indices)])


def is_in_other_table(store: ReadStore, path: str) -> bool:
    """Whether a folder above the file `path`, the root left out, has a log of its own."""
    folders = with_parents(path.rpartition("/")[0])
    return any(folder and store.has_folder(f"{folder}/{LOG_FOLDER}") for folder in folders)


def with_parents(path: str) -> Iterator[str]:
    """A path and the folders above it, the root, whose name is empty, last."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path


def is_older(times_ms: pa.ChunkedArray, cutoff_ms: int) -> pa.ChunkedArray:
    """Which times are known and not after `cutoff_ms`."""
    # one that is unknown is null, or 0
    numbers = read_values(pc.fill_null(times_ms, ZERO))
    return pa.chunked_array([build_array((numbers <= cutoff_ms) & (numbers != 0))])


def _escaped(name: str) -> str:
    import re  # noqa: PLC0415  # few tables have such columns

    return re.escape(name)


def _tree(store: ReadStore) -> TreeStore:
    if offers(store, TreeStore):
        return store
    raise UnsupportedError(
        f"The folder {store.uri} cannot be listed.",
        reason="Its store lists the log alone.",
        remedy="Open the table at its own place.",
        kind="store_unsupported",
    )
