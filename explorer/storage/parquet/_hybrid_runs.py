"""Small numbers as Parquet packs them: definition levels, and places in a dictionary
(Parquet: RLE / Bit-Packing Hybrid)."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from explorer.storage.parquet._thrift_compact import read_varint, render_varint

Numbers: TypeAlias = npt.NDArray[np.uint32]

_PACKED: Final = 8
"""Values that are packed together."""

_MOST_GROUPS: Final = 63
"""Of one run, as writers have it: the head of such a run is one byte."""

_WIDEST: Final = 32


def decode_runs(data: bytes, width: int, count: int) -> Numbers:
    """`count` numbers of `width` bits; raises `ValueError` where the runs hold fewer, or end
    before what they say."""
    if not 0 <= width <= _WIDEST:
        raise ValueError("numbers of an impossible width")
    found = np.zeros(count, np.uint32)
    at = done = 0
    try:
        while done < count:
            head, at = read_varint(data, at)
            many = head >> 1
            size = many * width if head & 1 else -(-width // 8)
            part = data[at : at + size]
            if not many or len(part) < size:
                raise ValueError("a run that holds no number, or ends too early")
            at += size
            if head & 1:
                values = _unpack(part, width, many * _PACKED)[: count - done]
                found[done : done + len(values)] = values
                done += len(values)
            else:
                found[done : done + many] = int.from_bytes(part, "little")
                done += many
    except IndexError as error:
        raise ValueError("it ends too early") from error
    return found


def encode_runs(values: Numbers, width: int) -> bytes:
    """The inverse: one run where all numbers are the same, else packed ones."""
    if not len(values):
        return b""
    if not width or (values == values[0]).all():
        return render_varint(len(values) << 1) + int(values[0]).to_bytes(-(-width // 8), "little")
    groups = -(-len(values) // _PACKED)
    padded = np.zeros(groups * _PACKED, np.uint32)
    padded[: len(values)] = values
    bits = (padded[:, None] >> np.arange(width, dtype=np.uint32)) & 1
    packed = np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()
    parts = []
    for first in range(0, groups, _MOST_GROUPS):
        many = min(_MOST_GROUPS, groups - first)
        parts.append(render_varint(many << 1 | 1))
        parts.append(packed[first * width : (first + many) * width])
    return b"".join(parts)


def _unpack(data: bytes, width: int, count: int) -> Numbers:
    if not width:
        return np.zeros(count, np.uint32)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(count, width)
    return bits.astype(np.uint32) @ (np.uint32(1) << np.arange(width, dtype=np.uint32))
