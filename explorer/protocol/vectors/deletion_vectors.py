"""Deletion vectors (spec: Deletion Vectors, Deletion Vector Format, ... File Storage Format).

A vector is the set of row positions, from 0, that are no longer in the table::

    content   magic 1681511377, then a 64-bit roaring bitmap in the portable
              format; all of it little-endian. With the magic 1681511376, of an
              older format, 32-bit bitmaps follow, each behind its size
    file      version byte 1, then per vector: size of the content, content,
              CRC-32 of the content; size and CRC big-endian

A descriptor's `offset` points at the size, and its `sizeInBytes` is the size
of the content alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard
from uuid import UUID

from pyroaring import BitMap64

from explorer.errors import CorruptDataError, CorruptLogError, UnsupportedError
from explorer.protocol.paths import decode_path, is_absolute
from explorer.protocol.vectors.roaring import (
    CONTAINER_BITS,
    MalformedRoaringError,
    OversizedRoaringError,
    check_portable,
    join_bitmaps,
    render_bits,
    runs_of,
    walk_portable,
)
from explorer.protocol.vectors.z85 import parse_z85, render_z85

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_SPEC = "Deletion Vector Format"
_MAGIC = 1681511377
_OLD_MAGIC = 1681511376
_FILE_VERSION = 1
# version byte of the file, and the size and the CRC around each vector
_HEADER, _SIZE, _CRC = 1, 4, 4
_UUID_CHARACTERS = 20
_RESTORE = "Restore the file from a backup, or restore the table to an earlier version."

MAX_SIZE = 256 * 2**20
"""Bytes of one vector: enough for two thousand million rows, each second one hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVectorDescriptor:
    """Where a vector is, and how many rows it hides (spec: ... Descriptor Schema).

    `storage_type` is "u" (file named by a UUID, relative to the table), "p"
    (absolute path) or "i" (inline, in Z85); `offset` is None for inline vectors.
    """

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None

    @property
    def unique_id(self) -> str:
        """Tells the vectors of one data file apart (spec: Derived Fields)."""
        place = f"{self.storage_type}{self.path_or_inline_dv}"
        return place if self.offset is None else f"{place}@{self.offset}"


def render_descriptor(descriptor: DeletionVectorDescriptor) -> dict[str, Any]:
    """The JSON object of a descriptor."""
    body: dict[str, Any] = {
        "storageType": descriptor.storage_type,
        "pathOrInlineDv": descriptor.path_or_inline_dv,
    }
    if descriptor.offset is not None:
        body["offset"] = descriptor.offset
    body["sizeInBytes"] = descriptor.size_in_bytes
    body["cardinality"] = descriptor.cardinality
    return body


def parse_descriptor(body: Mapping[str, Any], place: str) -> DeletionVectorDescriptor:
    """The descriptor that stands at `place` of the log; raises `CorruptLogError`."""
    storage, where = body.get("storageType"), body.get("pathOrInlineDv")
    size, cardinality, offset = (body.get(key) for key in ("sizeInBytes", "cardinality", "offset"))
    if not isinstance(storage, str) or not isinstance(where, str):
        _refuse("A deletion vector's descriptor lacks its place.", f"See {place}.")
    if not (_is_int(size) and _is_int(cardinality) and (offset is None or _is_int(offset))):
        _refuse("A deletion vector's descriptor has no valid numbers.", f"See {place}.")
    return DeletionVectorDescriptor(
        storage_type=storage,
        path_or_inline_dv=where,
        offset=offset,
        size_in_bytes=size,
        cardinality=cardinality,
    )


def render_relative_place(unique: UUID, prefix: str = "") -> str:
    """`pathOrInlineDv` of a vector in a file named by `unique`, below folder `prefix`."""
    return prefix + render_z85(unique.bytes)


def parse_relative_place(place: str) -> str:
    """The path below the table's root: `ab^-aqEH.-t@S}K{vb[*k^` is
    `ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin`."""
    prefix, encoded = place[:-_UUID_CHARACTERS], place[-_UUID_CHARACTERS:]
    if is_absolute(prefix) or ".." in prefix.split("/"):
        _refuse("A deletion vector's file cannot be named.", f"{place[:60]!r} leaves the table.")
    try:
        unique = UUID(bytes=parse_z85(encoded))
    except ValueError as error:
        _refuse(
            "A deletion vector's file cannot be named.", f"{place[:60]!r} holds no UUID.", error
        )
    name = f"deletion_vector_{unique}.bin"
    return f"{prefix}/{name}" if prefix else name


def parse_file_path(descriptor: DeletionVectorDescriptor) -> str | None:
    """The decoded path of a vector's file, relative to the table or absolute; None if inline."""
    if descriptor.storage_type == "i":
        return None
    if descriptor.storage_type == "u":
        return parse_relative_place(descriptor.path_or_inline_dv)
    if descriptor.storage_type == "p":
        return _absolute(descriptor.path_or_inline_dv)
    raise UnsupportedError(
        "A deletion vector is stored in an unknown way.",
        reason=f"Its storage type is {descriptor.storage_type[:20]!r}; u, p and i are known.",
        remedy="Read this version with the engine that wrote it.",
        spec="Deletion Vector Descriptor Schema",
    )


def _absolute(place: str) -> str:
    if not is_absolute(place):
        _refuse("A deletion vector's file cannot be found.", "Its path is not absolute.")
    try:
        return decode_path(place)
    except UnicodeDecodeError as error:
        _refuse("A deletion vector's file cannot be found.", "Its path is not UTF-8.", error)


def render_vector(positions: Iterable[int]) -> bytes:
    """The content of a vector that hides the rows at `positions`."""
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return _MAGIC.to_bytes(4, "little") + bytes(bitmap.serialize())


def parse_vector(content: bytes | memoryview) -> BitMap64:
    """The positions of a vector's content; raises `CorruptDataError`, and
    `UnsupportedError` for a vector of more parts than any file needs.

    Every container is looked at first: what the header claims is compared with the
    bytes that are there before any memory is asked for.
    """
    view = memoryview(content)
    try:
        bitmap = _portable(view)
        held = check_portable(bitmap)
        found = BitMap64.deserialize(bytes(bitmap))
    except OversizedRoaringError as error:
        _refuse_size(str(error), error)
    except (MalformedRoaringError, ValueError, IndexError) as error:
        _refuse_content("A deletion vector is not readable.", str(error), error)
    if len(found) != held:
        _refuse_content("A deletion vector is not readable.", "Its bitmap contradicts itself.")
    return found


def _portable(content: memoryview) -> bytes | memoryview:
    """The bitmap of a vector's content in the portable format."""
    magic = bytes(content[:4])
    if int.from_bytes(magic, "little") == _MAGIC:
        return content[4:]
    # the example of the specification has the older format, with the numbers big-endian
    if int.from_bytes(magic, "little") == _OLD_MAGIC:
        return join_bitmaps(content[4:], "little")
    if int.from_bytes(magic, "big") == _OLD_MAGIC:
        return join_bitmaps(content[4:], "big")
    raise MalformedRoaringError(f"It begins with {int.from_bytes(magic, 'little')}, not {_MAGIC}.")


def deletion_mask(vector: BitMap64, start: int, count: int) -> pa.BooleanArray:
    """Which of the `count` rows from position `start` on the vector hides."""
    return _as_mask(_hidden_bits(vector, start, count), start, count)


def live_mask(vector: BitMap64, start: int, count: int) -> pa.BooleanArray:
    """Which of the `count` rows from position `start` on are live, to filter by."""
    bits = _hidden_bits(vector, start, count)
    return _as_mask(~bits, start, count)


def hidden_runs(vector: BitMap64) -> Iterator[tuple[int, int]]:
    """First and last position of each run of hidden rows, in ascending order."""
    return runs_of(walk_portable(vector.serialize()))


def _hidden_bits(vector: BitMap64, start: int, count: int) -> npt.NDArray[np.uint8]:
    """The bits of whole containers around the rows; those outside of the rows mean nothing."""
    first = start - start % CONTAINER_BITS
    size = -(-(start + count - first) // CONTAINER_BITS)
    window = BitMap64()
    window.add_range(start, start + count)
    inside = vector if vector.issubset(window) else vector & window
    return render_bits(walk_portable(inside.serialize()), first, size)


def _as_mask(bits: npt.NDArray[np.uint8], start: int, count: int) -> pa.BooleanArray:
    import pyarrow as pa  # noqa: PLC0415  # the log is read without it

    buffers = [None, pa.py_buffer(bits)]
    return pa.Array.from_buffers(pa.bool_(), count, buffers, offset=start % CONTAINER_BITS)


def render_vector_file(contents: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """A file of vectors, and the offset of each for its descriptor."""
    pieces = [bytes([_FILE_VERSION])]
    offsets: list[int] = []
    position = _HEADER
    for content in contents:
        offsets.append(position)
        pieces.append(len(content).to_bytes(_SIZE, "big"))
        pieces.append(content)
        pieces.append(zlib.crc32(content).to_bytes(_CRC, "big"))
        position += _SIZE + len(content) + _CRC
    return b"".join(pieces), offsets


def stored_range(descriptor: DeletionVectorDescriptor) -> tuple[int, int]:
    """Where a vector begins and ends in its file, with size and CRC around it.

    Raises `CorruptLogError` for a place that no file has, and `UnsupportedError` for
    a vector larger than is read.
    """
    start = _HEADER if descriptor.offset is None else descriptor.offset
    if start < _HEADER or descriptor.size_in_bytes < 0:
        _refuse(
            "A deletion vector's descriptor has no valid numbers.",
            f"It says {descriptor.size_in_bytes} bytes from {start} on.",
        )
    if descriptor.size_in_bytes > MAX_SIZE:
        _refuse_size(f"The log says that it has {descriptor.size_in_bytes:,} bytes.")
    return start, start + _SIZE + descriptor.size_in_bytes + _CRC


def check_file_version(data: bytes) -> None:
    """Raise `CorruptDataError` unless a file that begins with `data` is one of vectors."""
    if not data or data[0] != _FILE_VERSION:
        _refuse_content("A deletion vector file is not readable.", "Its version byte is not 1.")


def parse_framed_vector(
    framed: bytes | memoryview, descriptor: DeletionVectorDescriptor
) -> BitMap64:
    """The vector of `descriptor` from the bytes at its `stored_range`; size, CRC and
    cardinality must fit. Raises `CorruptDataError`."""
    start, end = stored_range(descriptor)
    if len(framed) < end - start:
        _refuse_content(
            "A deletion vector file is too short.", f"Bytes {start} to {end} are meant."
        )
    if int.from_bytes(framed[:_SIZE], "big") != descriptor.size_in_bytes:
        _refuse_content(
            "A deletion vector is not where it should be.", "The sizes in log and file differ."
        )
    view = memoryview(framed)[_SIZE : _SIZE + descriptor.size_in_bytes + _CRC]
    content, checksum = view[:-_CRC], view[-_CRC:]
    if int.from_bytes(checksum, "big") != zlib.crc32(content):
        _refuse_content("A deletion vector is damaged.", "Its CRC-32 does not fit its bytes.")
    return _check_cardinality(parse_vector(content), descriptor)


def parse_inline_vector(descriptor: DeletionVectorDescriptor) -> BitMap64:
    """The vector that the descriptor itself holds; raises `CorruptDataError`."""
    try:
        content = parse_z85(descriptor.path_or_inline_dv)
    except ValueError as error:
        _refuse_content("An inline deletion vector is not readable.", f"As Z85, {error}.", error)
    if not 0 <= len(content) - descriptor.size_in_bytes < 4:
        _refuse_content(
            "An inline deletion vector is not readable.", "Its size is not the one stated."
        )
    return _check_cardinality(parse_vector(content[: descriptor.size_in_bytes]), descriptor)


def build_inline_descriptor(positions: Iterable[int]) -> DeletionVectorDescriptor:
    """A descriptor that holds its vector itself, for few positions."""
    content = render_vector(positions)
    return DeletionVectorDescriptor(
        storage_type="i",
        path_or_inline_dv=render_z85(content),
        size_in_bytes=len(content),
        cardinality=len(parse_vector(content)),
    )


def _is_int(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_cardinality(bitmap: BitMap64, descriptor: DeletionVectorDescriptor) -> BitMap64:
    if len(bitmap) != descriptor.cardinality:
        _refuse_content(
            "A deletion vector does not fit the log.",
            f"By the log it has {descriptor.cardinality:,} rows, but it has {len(bitmap):,}.",
        )
    return bitmap


def _refuse(problem: str, reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptLogError(problem, reason=reason, remedy=_RESTORE, spec=_SPEC) from cause


def _refuse_content(problem: str, reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptDataError(problem, reason=reason, remedy=_RESTORE, spec=_SPEC) from cause


def _refuse_size(reason: str, cause: Exception | None = None) -> NoReturn:
    raise UnsupportedError(
        "A deletion vector is larger than is read.",
        reason=reason,
        remedy="Check the table's log; no data file has that many rows.",
        kind="limit_exceeded",
        spec=_SPEC,
    ) from cause
