"""Deletion vectors from where they are stored (spec: Deletion Vectors).

A commit packs its vectors into one file: those asked for together are read
together. Memory is asked for only after the file's own size has been looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
from pyroaring import BitMap64

from explorer.errors import CorruptDataError, NotFoundError, StorageError
from explorer.protocol.deletion_vectors import (
    DeletionVectorDescriptor,
    check_file_version,
    parse_file_path,
    parse_framed_vector,
    parse_inline_vector,
    stored_range,
)
from explorer.rows.data_file import store_path
from explorer.storage.ports import ReadStore

_ONE_READ = 8 * 2**20
"""Bytes from the start of a file that are fetched in one request rather than in parts:
writers pack vectors into files of about 2 MiB."""


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
    for path, places in stored.items():
        vectors = _read_stored(store, path, [descriptors[at] for at in places])
        found.update(zip(places, vectors, strict=True))
    return [found[at] for at in range(len(descriptors))]


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
    try:
        if end <= _ONE_READ:
            return _from_start(store.read(path, limit=end), descriptors)
        return _from_ranges(store, path, descriptors)
    except NotFoundError as error:
        raise NotFoundError(
            "A deletion vector's file is not there.",
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
