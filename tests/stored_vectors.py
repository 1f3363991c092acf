"""Deletion vectors from the bytes of a whole file."""

from __future__ import annotations

from pyroaring import BitMap64

from explorer.protocol.vectors.deletion_vectors import (
    DeletionVectorDescriptor,
    check_file_version,
    parse_framed_vector,
    stored_range,
)


def read_stored(data: bytes, descriptor: DeletionVectorDescriptor) -> BitMap64:
    """The vector of `descriptor`; raises as `parse_framed_vector`."""
    check_file_version(data)
    start, end = stored_range(descriptor)
    return parse_framed_vector(data[start:end], descriptor)
