"""Files of a log that were read from an object store, kept for the next question.

A file is answered from memory only where a listing made since gives it the tag, size and time
that it had when it was read. Nothing is kept where the store's listings have no tags.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from explorer.log.folder.listing import LogListing
from explorer.protocol.filenames import LOG_FOLDER
from explorer.storage.ports import ByteRange, ObjectInfo, RangeStore, ReadStore, offers

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 32 * 2**20
"""What is kept of one log: thousands of usual commits, the newest ones."""

_LARGEST = 4 * 2**20
_LARGEST_RANGE = 2**18
"""Of a range: the end of a Parquet file, which all who read it begin with, is half of that."""
_AT_A_TIME = 1024
_START = f"{LOG_FOLDER}/"
_WHOLE: ByteRange = (0, -1)

_Key: TypeAlias = tuple[str, ByteRange]
"""The name of a file in the log folder, and which of its bytes."""


class FilesRead:
    """The bytes of files of one log, whole or a range of them, at most `most_bytes`: those with
    the greatest names stay, which are the newest commits. Safe to share between threads."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._kept: dict[_Key, tuple[ObjectInfo, bytes]] = {}
        self._keys: list[_Key] = []
        self._bytes = 0

    @property
    def held_bytes(self) -> int:
        """What is kept takes so many bytes."""
        return self._bytes

    def find(self, info: ObjectInfo, part: ByteRange | None = None) -> bytes | None:
        """The content of the file that a listing describes so, or a part of it; None where that
        is not kept."""
        kept = self._kept.get((info.name, part or _WHOLE))
        return kept[1] if kept is not None and kept[0] == info else None

    def keep(self, info: ObjectInfo, data: bytes, part: ByteRange | None = None) -> None:
        """Keep what was read of a file that a listing described so."""
        key, size = (info.name, part or _WHOLE), len(data)
        wanted = info.size if part is None else part[1] - part[0]
        largest = _LARGEST if part is None else _LARGEST_RANGE
        if not info.tag or size != wanted or size > min(largest, self._most):
            return
        with self._lock:
            is_new = key not in self._kept
            self._drop(key)
            while self._bytes + size > self._most and self._keys[0] < key:
                self._drop(heapq.heappop(self._keys))
            if self._bytes + size <= self._most:
                self._kept[key] = info, data
                self._bytes += size
                if is_new:
                    heapq.heappush(self._keys, key)

    def release(self) -> None:
        """Give all of it back."""
        with self._lock:
            self._kept, self._keys, self._bytes = {}, [], 0

    def _drop(self, key: _Key) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= 0 if kept is None else len(kept[1])


def store_at(store: ReadStore, listing: LogListing, read: FilesRead) -> ReadStore:
    """The store as of a listing of its log: files of the log that were read before are answered
    from `read`, and those that are read now are kept there. The store itself where requests to
    it are cheap."""
    if not offers(store, RangeStore) or not listing.stored:
        return store
    return _StoreAt(store, listing.stored, read)


class _StoreAt:
    """A `RangeStore` for files of a log."""

    def __init__(
        self, store: RangeStore, stored: Mapping[str, ObjectInfo], read: FilesRead
    ) -> None:
        self._store = store
        self._stored = stored
        self._read = read

    @property
    def uri(self) -> str:
        """The root as it may be shown."""
        return self._store.uri

    def has_folder(self, folder: str) -> bool:
        """Whether `folder` is there."""
        return self._store.has_folder(folder)

    def list_names(self, folder: str) -> list[str]:
        """Names of the objects directly inside `folder`."""
        return self._store.list_names(folder)

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        """The objects directly inside `folder`."""
        return self._store.list_folder(folder)

    def list_prefix(self, folder: str, prefix: str) -> list[ObjectInfo] | None:
        """Those whose names begin with `prefix`."""
        return self._store.list_prefix(folder, prefix)

    def stat(self, path: str) -> ObjectInfo:
        """Size and modification time of one object."""
        return self._store.stat(path)

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The whole object, or its first `limit` bytes."""
        found = self._find(path, limit)
        return self._kept(path, limit, self._store.read(path, limit)) if found is None else found

    def read_many(self, paths: Iterable[str], limit: int | None = None) -> Iterator[bytes]:
        """`read` of each; only those that are not kept are asked for."""
        rest = iter(paths)
        while some := list(islice(rest, _AT_A_TIME)):
            known = [self._find(path, limit) for path in some]
            lacking = [path for path, data in zip(some, known, strict=True) if data is None]
            asked = iter(self._store.read_many(lacking, limit) if lacking else ())
            for path, data in zip(some, known, strict=True):
                yield self._kept(path, limit, next(asked)) if data is None else data

    def read_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[bytes]:
        """Ranges of one object; its end is asked for once."""
        info = self._info(path)
        if info is None:
            return self._store.read_ranges(path, ranges)
        known = {part: self._read.find(info, part) for part in ranges}
        lacking = [part for part, data in known.items() if data is None]
        for part, asked in zip(lacking, self._store.read_ranges(path, lacking), strict=True):
            if part[1] == info.size:
                self._read.keep(info, asked, part)
            known[part] = asked
        return [data for part in ranges if (data := known[part]) is not None]

    def open_input(self, path: str) -> pa.NativeFile:
        """The object for random access."""
        return self._store.open_input(path)

    def _info(self, path: str) -> ObjectInfo | None:
        return self._stored.get(path[len(_START) :]) if path.startswith(_START) else None

    def _find(self, path: str, limit: int | None) -> bytes | None:
        info = self._info(path)
        found = None if info is None else self._read.find(info)
        return found if found is None or limit is None else found[:limit]

    def _kept(self, path: str, limit: int | None, data: bytes) -> bytes:
        info = self._info(path)
        # the first bytes of a file that end before they had to are all of it
        if info is not None and (limit is None or len(data) < limit):
            self._read.keep(info, data)
        return data
