"""Looks at the bytes of all strings of a column at once, which is many times cheaper than
string by string."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]

_AT_ONCE = 2**18
"""Bytes, as many as a processor's cache holds."""


def offsets_of(texts: pa.Array) -> Offsets:
    """Where each of the strings, or of the maps, begins and the last one ends; there is at least
    one."""
    return np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)


def holds_byte(texts: pa.Array, letter: str) -> bool:
    """Whether a character of ASCII is in any of the strings, or perhaps in what lies between
    them."""
    value = ord(letter)
    return any((piece == value).any() for piece in pieces_of_bytes(texts))


def may_begin_with(texts: pa.Array, letters: str) -> bool:
    """Whether any of the strings begins with one of some characters of ASCII; perhaps also
    where an empty one stands before such a one."""
    if not len(texts) or texts.null_count == len(texts):
        return False
    starts = offsets_of(texts)
    starts = starts[starts < starts[-1]]
    if not len(starts):
        return False
    firsts = np.frombuffer(texts.buffers()[2], np.uint8)[starts]
    return any((firsts == ord(letter)).any() for letter in letters)


def pieces_of_bytes(texts: pa.Array) -> Iterator[Bytes]:
    """The bytes of all strings, some at a time; each piece begins with the last byte of the
    one before it."""
    if not len(texts) or texts.null_count == len(texts):
        return
    offsets = offsets_of(texts)
    if offsets[0] == offsets[-1]:
        return
    data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    for start in range(0, len(data), _AT_ONCE):
        yield data[max(0, start - 1) : start + _AT_ONCE]
