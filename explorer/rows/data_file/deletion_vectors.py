"""Deletion vectors from where they are stored (spec: Deletion Vectors).

A commit packs its vectors into one file: those asked for together are read
together. Memory is asked for only after the file's own size has been looked at.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyroaring import BitMap64

from explorer.errors import CorruptDataError, DeltaError, NotFoundError, StorageError
from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    check_file_version,
    parse_file_path,
    parse_framed_vector,
    parse_inline_vector,
    stored_range,
)
from explorer.rows.data_file.data_file import store_path
from explorer.storage.concurrent_reads import map_concurrently
from explorer.storage.ports import RangeStore, ReadStore, offers

_ONE_READ = 8 * 2**20
"""Bytes from the start of a file that are fetched in one request rather than in parts:
writers pack vectors into files of about 2 MiB."""

_HELD = 64 * 2**20
"""Bytes of such files that are held for vectors which will be asked for."""


def read_deletion_vector(store: ReadStore, descriptor: DeletionVectorDescriptor) -> BitMap64:
    """The positions that a vector hides, wherever it is stored.

    Raises `CorruptDataError` where file, size, CRC or cardinality do not fit the
    descriptor, `UnsupportedError` for an unknown storage type or a size beyond the
    limit, `NotFoundError` (`data_missing`) and `StorageError` of the store.
    """
    (vector,) = read_deletion_vectors(store, [descriptor])
    return vector


def read_deletion_vectors(
    store: ReadStore, descriptors: Sequence[DeletionVectorDescriptor]
) -> list[BitMap64]:
    """`read_deletion_vector` of each, in this order; one request for the vectors of a file."""
    found: dict[int, BitMap64] = {}
    stored: defaultdict[str, list[int]] = defaultdict(list)
    for at, descriptor in enumerate(descriptors):
        path = _place(store, descriptor)
        if path is None:
            found[at] = parse_inline_vector(descriptor)
        else:
            stored[path].append(at)
    read = map_concurrently(
        store,
        lambda path: _read_stored(store, path, [descriptors[at] for at in stored[path]]),
        stored,
    )
    for places, vectors in zip(stored.values(), read, strict=True):
        found.update(zip(places, vectors, strict=True))
    return [found[at] for at in range(len(descriptors))]


class VectorFiles:
    """The vectors of some data files, for reading these one after the other: a file of
    vectors is read once for all of them. Safe to share between threads."""

    def __init__(self, store: ReadStore, descriptors: Iterable[DeletionVectorDescriptor]) -> None:
        self._store = store
        self._uses: dict[str, _Uses] = {}
        self._held_bytes = 0
        self._lock = threading.Lock()
        for descriptor in descriptors:
            # a place that cannot be understood is told when its vector is read
            with contextlib.suppress(DeltaError):
                if (path := _place(store, descriptor)) is not None:
                    uses = self._uses.setdefault(path, _Uses())
                    uses.left += 1
                    uses.end = max(uses.end, stored_range(descriptor)[1])

    def read(self, descriptor: DeletionVectorDescriptor) -> BitMap64:
        """One of the vectors, each to be asked for once; raises as `read_deletion_vector`."""
        path = _place(self._store, descriptor)
        uses = None if path is None else self._uses.get(path)
        if path is None or uses is None:
            return read_deletion_vector(self._store, descriptor)
        with uses.lock:
            uses.left -= 1
            data = uses.data
            if data is None and uses.left and self._has_room(uses.end):
                with _speaking_of_vectors():
                    data = self._store.read(path, limit=uses.end)
            # held as long as there is another to come
            self._hold(uses, data if uses.left else None)
        if data is None:
            return read_deletion_vector(self._store, descriptor)
        return _from_start(data, [descriptor])[0]

    def _has_room(self, size: int) -> bool:
        with self._lock:
            return size <= _ONE_READ and self._held_bytes + size <= _HELD

    def _hold(self, uses: _Uses, data: bytes | None) -> None:
        with self._lock:
            self._held_bytes += len(data or b"") - len(uses.data or b"")
            uses.data = data


class _Uses:
    """How many vectors of a file are still to be read, and where the last of them ends."""

    def __init__(self) -> None:
        self.left = 0
        self.end = 0
        self.data: bytes | None = None
        self.lock = threading.Lock()


def _place(store: ReadStore, descriptor: DeletionVectorDescriptor) -> str | None:
    """The name by which the store knows a vector's file; None for an inline vector."""
    path = parse_file_path(descriptor)
    if descriptor.storage_type == "p":
        return store_path(store, descriptor.path_or_inline_dv)
    return path


def _read_stored(
    store: ReadStore, path: str, descriptors: Sequence[DeletionVectorDescriptor]
) -> list[BitMap64]:
    end = max(stored_range(descriptor)[1] for descriptor in descriptors)
    with _speaking_of_vectors():
        if end <= _ONE_READ:
            return _from_start(store.read(path, limit=end), descriptors)
        if offers(store, RangeStore):
            return _from_requests(store, path, descriptors)
        return _from_ranges(store, path, descriptors)


@contextlib.contextmanager
def _speaking_of_vectors() -> Iterator[None]:
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(
            "A deletion vector's file does not exist.",
            reason=error.problem,
            remedy="Check whether a vacuum removed it; restore it from a backup, or restore the "
            "table to an earlier version.",
            kind="data_missing",
            spec="Deletion Vectors",
        ) from error


def _from_start(data: bytes, descriptors: Sequence[DeletionVectorDescriptor]) -> list[BitMap64]:
    check_file_version(data)
    view = memoryview(data)
    return [
        parse_framed_vector(view[slice(*stored_range(descriptor))], descriptor)
        for descriptor in descriptors
    ]


def _from_requests(
    store: RangeStore, path: str, descriptors: Sequence[DeletionVectorDescriptor]
) -> list[BitMap64]:
    # a store answers a range with what there is of it: no memory for more is asked for
    ranges = [(0, 1), *(stored_range(descriptor) for descriptor in descriptors)]
    version, *framed = store.read_ranges(path, ranges)
    check_file_version(version)
    return [
        parse_framed_vector(memoryview(data), descriptor)
        for data, descriptor in zip(framed, descriptors, strict=True)
    ]


def _from_ranges(
    store: ReadStore, path: str, descriptors: Sequence[DeletionVectorDescriptor]
) -> list[BitMap64]:
    try:
        with store.open_input(path) as opened:
            check_file_version(opened.read(1))
            size = opened.size()
            return [_from_range(opened, size, descriptor) for descriptor in descriptors]
    except (OSError, pa.ArrowException) as error:
        raise StorageError(
            "A deletion vector's file could not be read.",
            reason=f"The store failed with {type(error).__name__}.",
            remedy="Try again; if it stays so, check the store.",
        ) from error


def _from_range(opened: pa.NativeFile, size: int, descriptor: DeletionVectorDescriptor) -> BitMap64:
    start, end = stored_range(descriptor)
    if end > size:
        raise CorruptDataError(
            "A deletion vector file is too short.",
            reason=f"Bytes {start} to {end} are meant, and it has {size}.",
            remedy="Restore the file from a backup, or restore the table to an earlier version.",
            spec="Deletion Vector Format",
        )
    opened.seek(start)
    return parse_framed_vector(opened.read(end - start), descriptor)
