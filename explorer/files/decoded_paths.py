"""Percent escapes of many paths at once (spec: Add File and Remove File: a path is a URI).

`explorer.protocol.paths.decode_path` says what is meant; here the bytes of a whole column
are decoded together, because a table of a million files with a space in a partition value
has a million escapes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import Numbers, build_array
from explorer.log.text_bytes import Bytes, Offsets, holds_byte, offsets_of, pieces_of_bytes
from explorer.protocol.paths import decode_path

_PERCENT, _DOT, _SLASH = map(ord, "%./")
_PIECE = 32_768
# the value of a hexadecimal digit, 16 for every other byte
_NIBBLE = np.full(256, 16, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _NIBBLE[np.frombuffer(_digits, np.uint8)] = np.arange(16, dtype=np.uint8)


def decode_as_text(path: str) -> str:
    """`decode_path`, and the path as it is where that is not text."""
    try:
        return decode_path(path)
    except UnicodeDecodeError:
        return path


def decode_in_pieces(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """`decode_paths` of a long column: small pieces are worked on in memory that is there."""
    pieces = [
        decode_paths(chunk.slice(start, _PIECE))
        for chunk in paths.chunks
        for start in range(0, len(chunk), _PIECE)
    ]
    return pa.chunked_array(pieces, pa.string())


def decode_paths(paths: pa.Array) -> pa.Array:
    """`decode_as_text` of each of the strings, null for null; the same array where none of
    them holds an escape. What is not text cannot mean a file that a listing shows as text."""
    if not holds_byte(paths, "%"):
        return paths
    offsets = offsets_of(paths)
    data = np.frombuffer(paths.buffers()[2], np.uint8)[: offsets[-1]]
    first = np.flatnonzero(data[offsets[0] :] == _PERCENT) + offsets[0]
    row = np.searchsorted(offsets, first, side="right") - 1
    is_whole = first + 2 < offsets[row + 1]
    first, row = first[is_whole], row[is_whole]
    high, low = _NIBBLE[data[first + 1]], _NIBBLE[data[first + 2]]
    is_escape = (high < 16) & (low < 16)
    first, row = first[is_escape], row[is_escape]
    values = (high[is_escape] << 4) | low[is_escape]
    decoded = _as_column(paths, *_without_escapes(data, offsets, first, row, values))
    if (values >= 0x80).any():
        return _with_text_only(paths, decoded, np.unique(row[values >= 0x80]))
    return decoded


def may_need_normalising(paths: pa.Array) -> bool:
    """Whether `./` or `//` is in any of the strings, or perhaps across two of them."""
    for piece in pieces_of_bytes(paths):
        # a dot is a slash but for its last bit
        before = (piece[:-1] | (_DOT ^ _SLASH)) == _SLASH
        if (before & (piece[1:] == _SLASH)).any():
            return True
    return False


def _without_escapes(
    data: Bytes, offsets: Offsets, first: Numbers, row: Numbers, values: Bytes
) -> tuple[Bytes, Offsets]:
    """The bytes and offsets with the byte `values` in place of the escapes that begin at
    `first`, each in its `row`."""
    start = offsets[0]
    stays = np.ones(len(data) - start, np.bool_)
    stays[first + 1 - start] = stays[first + 2 - start] = False
    plain = data[start:][stays]
    # every escape before one moves it two bytes to the front
    plain[first - start - 2 * np.arange(len(first))] = values
    shorter = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(offsets) - 1))])
    return plain, (offsets - start - 2 * shorter).astype(np.int32)


def _as_column(paths: pa.Array, data: Bytes, offsets: Offsets) -> pa.Array:
    # the validity may begin in the middle of a byte: that of a new array does not
    validity = pc.invert(paths.is_null()).buffers()[1] if paths.null_count else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(paths), buffers)


def _with_text_only(paths: pa.Array, decoded: pa.Array, rows: Numbers) -> pa.Array:
    """`decoded`, but for those of `rows` that are not text: these as they were."""
    try:
        decoded.validate(full=True)
    except pa.ArrowInvalid:
        at = build_array(rows)
        plain = string_column([decode_as_text(text) for text in paths.take(at).to_pylist()])
        mask = np.zeros(len(paths), np.bool_)
        mask[rows] = True
        return pc.replace_with_mask(decoded, build_array(mask), plain)
    return decoded
