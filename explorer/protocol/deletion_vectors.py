"""Deletion vectors (spec: Deletion Vectors, Deletion Vector Format, ... File Storage Format).

A vector is the set of row positions, from 0, that are no longer in the table::

    content   magic 1681511377, then a 64-bit roaring bitmap in the portable
              format; all of it little-endian
    file      version byte 1, then per vector: size of the content, content,
              CRC-32 of the content; size and CRC big-endian

A descriptor's `offset` points at the size, and its `sizeInBytes` is the size
of the content alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard
from uuid import UUID

from pyroaring import BitMap64

from explorer.errors import CorruptLogError, UnsupportedError
from explorer.protocol.paths import decode_path
from explorer.protocol.z85 import parse_z85, render_z85

_SPEC = "Deletion Vector Format"
_MAGIC = 1681511377
_FILE_VERSION = 1
# version byte of the file, and the size and the CRC around each vector
_HEADER, _SIZE, _CRC = 1, 4, 4
_UUID_CHARACTERS = 20


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
    try:
        unique = UUID(bytes=parse_z85(encoded))
    except ValueError as error:
        _refuse("A deletion vector's file cannot be named.", f"{place!r} holds no UUID.", error)
    name = f"deletion_vector_{unique}.bin"
    return f"{prefix}/{name}" if prefix else name


def parse_file_path(descriptor: DeletionVectorDescriptor) -> str | None:
    """The decoded path of a vector's file, relative to the table or absolute; None if inline."""
    if descriptor.storage_type == "i":
        return None
    if descriptor.storage_type == "u":
        return parse_relative_place(descriptor.path_or_inline_dv)
    if descriptor.storage_type == "p":
        return decode_path(descriptor.path_or_inline_dv)
    raise UnsupportedError(
        "A deletion vector is stored in an unknown way.",
        reason=f"Its storage type is {descriptor.storage_type[:20]!r}; u, p and i are known.",
        remedy="Read this version with the engine that wrote it.",
        spec="Deletion Vector Descriptor Schema",
    )


def render_vector(positions: Iterable[int]) -> bytes:
    """The content of a vector that hides the rows at `positions`."""
    bitmap = BitMap64(positions)
    bitmap.run_optimize()
    return _MAGIC.to_bytes(4, "little") + bytes(bitmap.serialize())


def parse_vector(content: bytes) -> BitMap64:
    """The positions of a vector's content; raises `CorruptLogError`."""
    magic = int.from_bytes(content[:4], "little")
    if len(content) < 4 or magic != _MAGIC:
        _refuse("A deletion vector is not readable.", f"It begins with {magic}, not {_MAGIC}.")
    try:
        return BitMap64.deserialize(content[4:])
    except (ValueError, IndexError) as error:  # IndexError: nothing behind the magic
        _refuse("A deletion vector is not readable.", "It holds no roaring bitmap.", error)


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


def parse_stored_vector(data: bytes, descriptor: DeletionVectorDescriptor) -> BitMap64:
    """The vector of `descriptor` from the bytes of its file; size and CRC must fit."""
    if not data or data[0] != _FILE_VERSION:
        _refuse("A deletion vector file is not readable.", "Its version byte is not 1.")
    start = _HEADER if descriptor.offset is None else descriptor.offset
    end = start + _SIZE + descriptor.size_in_bytes
    if start < _HEADER or end + _CRC > len(data):
        _refuse("A deletion vector file is too short.", f"Bytes {start} to {end + _CRC} are meant.")
    if int.from_bytes(data[start : start + _SIZE], "big") != descriptor.size_in_bytes:
        _refuse("A deletion vector is not where it should be.", "The sizes in log and file differ.")
    content = data[start + _SIZE : end]
    if int.from_bytes(data[end : end + _CRC], "big") != zlib.crc32(content):
        _refuse("A deletion vector is damaged.", "Its CRC-32 does not fit its bytes.")
    return _check_cardinality(parse_vector(content), descriptor)


def parse_inline_vector(descriptor: DeletionVectorDescriptor) -> BitMap64:
    """The vector that the descriptor itself holds."""
    try:
        content = parse_z85(descriptor.path_or_inline_dv)
    except ValueError as error:
        _refuse("An inline deletion vector is not readable.", f"As Z85, {error}.", error)
    if not 0 <= len(content) - descriptor.size_in_bytes < 4:
        _refuse("An inline deletion vector is not readable.", "Its size is not the one stated.")
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
        _refuse(
            "A deletion vector does not fit the log.",
            f"The log says {descriptor.cardinality} rows, the vector holds {len(bitmap)}.",
        )
    return bitmap


def _refuse(problem: str, reason: str, cause: Exception | None = None) -> NoReturn:
    raise CorruptLogError(
        problem,
        reason=reason,
        remedy="Restore the file from a backup, or restore the table to an earlier version.",
        spec=_SPEC,
    ) from cause
