"""A column of strings put together from pieces that are let go one after the other.

What decodes a column needs several times the memory of what it answers, and memory that is
touched for the first time costs more than to copy what a processor's cache still holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.log.text_bytes import Bytes, Offsets, offsets_of

_CHUNK_ROWS: Final = 2**15
_CHUNK_BYTES: Final = 2**24
"""At either a chunk ends: few enough that to copy one without some rows is cheap."""

# bytes; what has not been written to yet takes nothing of the memory
_LEAST_ROOM: Final = 2**20
_MOST_ROOM: Final = 2**26


def gather_texts(pieces: Iterable[pa.Array], rows: int) -> pa.ChunkedArray:
    """The strings of all pieces, some ten thousand in a chunk, each with buffers of its own;
    there are about as many as `rows`."""
    gathered = _Gathered(rows)
    for piece in pieces:
        if len(piece):
            gathered.take(piece)
    return pa.chunked_array(gathered.chunks(), pa.string())


class _Gathered:
    """Chunks that are ready, and the one that grows: `_used` of the bytes of `_room`, from
    `_start` on, are its strings."""

    def __init__(self, rows: int) -> None:
        self._expected = rows
        self._rows = 0
        self._bytes = 0
        self._chunks: list[pa.Array] = []
        self._room: Bytes = np.empty(0, np.uint8)
        self._start = 0
        self._used = 0
        self._ends: list[Offsets] = []
        self._flags: list[npt.NDArray[np.bool_]] = []
        self._in_chunk = 0

    def take(self, piece: pa.Array) -> None:
        """Copy the strings of one piece; there is at least one."""
        offsets = offsets_of(piece)
        size = int(offsets[-1] - offsets[0])
        if self._in_chunk >= _CHUNK_ROWS or self._used - self._start + size > _CHUNK_BYTES:
            self._close()
        if self._used + size > len(self._room):
            self._close()
            self._make_room(len(piece), size)
        if size:
            data = np.frombuffer(piece.buffers()[2], np.uint8, size, int(offsets[0]))
            self._room[self._used : self._used + size] = data
        self._ends.append(offsets[1:] + np.int32(self._used - self._start - int(offsets[0])))
        self._flags.append(_validity(piece))
        self._used += size
        self._bytes += size
        self._rows += len(piece)
        self._in_chunk += len(piece)

    def chunks(self) -> list[pa.Array]:
        """All that was taken."""
        self._close()
        return self._chunks

    def _make_room(self, rows: int, size: int) -> None:
        """Room for a piece, and for what is to come if it is like what came."""
        width = (self._bytes + size) / (self._rows + rows)
        coming = int(width * max(self._expected - self._rows, rows) * 1.03)
        self._room = np.empty(max(size, _LEAST_ROOM, min(coming, _MOST_ROOM)), np.uint8)
        self._start = self._used = 0

    def _close(self) -> None:
        if not self._in_chunk:
            return
        flags = np.concatenate(self._flags)
        bits = None if flags.all() else pa.py_buffer(np.packbits(flags, bitorder="little"))
        offsets = np.concatenate([np.zeros(1, np.int32), *self._ends])
        data = pa.py_buffer(self._room[self._start : self._used])
        self._chunks.append(
            pa.Array.from_buffers(pa.string(), len(flags), [bits, pa.py_buffer(offsets), data])
        )
        self._start, self._ends, self._flags, self._in_chunk = self._used, [], [], 0


def _validity(piece: pa.Array) -> npt.NDArray[np.bool_]:
    if not piece.null_count:
        return np.ones(len(piece), np.bool_)
    bits = np.frombuffer(piece.buffers()[0], np.uint8)
    flags = np.unpackbits(bits, count=piece.offset + len(piece), bitorder="little")
    return flags[piece.offset :].view(np.bool_)
