"""A 64-bit fingerprint of the fields of a file, by which a million files can be compared
with a million others without holding both.

Seeds and Python's hash of strings differ from process to process, so that nobody can
write a log whose files differ and look alike.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison._numbers import null_mask
from explorer.log.plain_arrays import Flags, read_numbers
from explorer.log.text_bytes import offsets_of

Fingerprints = npt.NDArray[np.uint64]

_SECRET = secrets.randbits(64)
_ROTATION = (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def fingerprint(files: pa.Table, fields: Sequence[str]) -> Fingerprints:
    """One number a row, equal where all `fields` are; an empty map is as good as none."""
    total = np.zeros(files.num_rows, np.uint64)
    for name in fields:
        total += _mixed(_column(files.column(name)), name)
    return total


def text_maps_differ(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Flags:
    """Where two columns of maps of strings have different entries, in whatever order."""
    differ: Flags = _column(before) != _column(after)
    return differ


def _column(values: pa.ChunkedArray) -> Fingerprints:
    if values.null_count == len(values):
        return np.zeros(len(values), np.uint64)
    kind = values.type
    if pa.types.is_map(kind):
        found = [_maps(chunk) for chunk in values.chunks]
        return np.concatenate(found)
    if pa.types.is_struct(kind):
        total = np.zeros(len(values), np.uint64)
        for field in kind:
            total += _mixed(_column(pc.struct_field(values, field.name)), field.name)
        return total
    if pa.types.is_string(kind):
        chunks = [_texts(chunk) for chunk in values.chunks]
        return np.concatenate(chunks)
    numbers = _mixed(read_numbers(values).view(np.uint64), "number")
    numbers[null_mask(values)] = 0
    return numbers


def _texts(texts: pa.Array) -> Fingerprints:
    """Hashes of the bytes, which a text's own hash is made of: none is decoded."""
    if not len(texts):
        return np.empty(0, np.uint64)
    ends = offsets_of(texts)
    data = texts.buffers()[2] or b""
    content = BytesIO(memoryview(data)[ends[0] : ends[-1]])
    # lengths of nothing but what is there come one after the other
    pieces = map(content.read, np.diff(ends).tolist())
    hashes = np.fromiter(map(hash, pieces), np.int64, len(texts))
    hashes[hashes == 0] = 1  # 0 is what is not there; the empty string is
    hashes[null_mask(texts)] = 0
    return hashes.view(np.uint64)


def _maps(maps: pa.MapArray) -> Fingerprints:
    """The sum over the entries, so that their order does not matter."""
    # a map's children are not sliced with it, so its own offsets stay right
    entries = _mixed(_repeated(maps.keys), "key") + _mixed(_repeated(maps.items), "value")
    ends = np.zeros(len(entries) + 1, np.uint64)
    np.cumsum(_mixed(entries, "entry"), out=ends[1:])
    offsets = offsets_of(maps)
    sums: Fingerprints = ends[offsets[1:]] - ends[offsets[:-1]]
    sums[null_mask(maps)] = 0
    return sums


def _repeated(texts: pa.Array) -> Fingerprints:
    """Hashes of strings of which few differ: each is hashed once."""
    encoded = pc.dictionary_encode(texts)
    distinct = np.append(_texts(encoded.dictionary), np.uint64(0))
    codes = np.where(null_mask(texts), len(distinct) - 1, read_numbers(encoded.indices))
    found: Fingerprints = distinct[codes]
    return found


def _mixed(numbers: Fingerprints, role: str) -> Fingerprints:
    """Each bit spread over all, differently for each role (the finaliser of SplitMix64)."""
    mixed = numbers + _seed(role)
    for shift, factor in zip(_ROTATION, _FACTORS, strict=False):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> _ROTATION[2])


def _seed(role: str) -> np.uint64:
    return np.uint64(hash((_SECRET, role)) & 0xFFFFFFFFFFFFFFFF)
