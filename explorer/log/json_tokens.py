"""Numbers and words of JSON as they are written, into columns of Arrow, strictly.

Arrow's own casts would also take `0x1F`, `.5` or `inf`, so that whatever is cast here
was recognised before. What has more digits than that is left to a slower reader.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import string_column

Flags = npt.NDArray[np.bool_]

_NUMBER: Final = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_ANY: Final = f"^({_NUMBER}|true|false|null)$"
_INTEGER: Final = r"^(-?(0|[1-9][0-9]{0,17})|null)$"
# what is beyond a double cannot be written with so few digits
_REAL: Final = r"^(-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?|null)$"
_BOOLEAN: Final = r"^(true|false|null)$"
_NOTHING: Final = r"^null$"

_ZERO: Final = np.uint8(ord("0"))

# ten to the power of this fits into 63 bits
_DIGITS: Final = 18

# scalars by way of an array: plain values would make pyarrow import pandas
_NULL, _TRUE, _NO_TEXT = (string_column(["null", "true", None])[at] for at in range(3))


def flag_fitting(tokens: pa.Array, kind: pa.DataType | None) -> Flags:
    """Which of some strings, none of them null, `build_column` takes for a type; the null
    of JSON is among them. Where no type is asked for, whatever JSON knows."""
    takes_plain, pattern = _rule(kind)
    if takes_plain:
        plain = _flag_plain(tokens)
        if plain.all():
            return plain
        tokens = tokens.filter(mask_of(~plain))
        plain[~plain] = _flags_of(pc.match_substring_regex(tokens, pattern))
        return plain
    if kind is not None and pa.types.is_floating(kind) and _have_points(tokens):
        return np.ones(len(tokens), np.bool_)
    return _flags_of(pc.match_substring_regex(tokens, pattern))


def build_column(tokens: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values of tokens that fit; raises `pyarrow.ArrowInvalid` for those too great."""
    if pa.types.is_string(kind):
        return pa.nulls(len(tokens), kind)
    if pa.types.is_boolean(kind):
        tokens = _without_nulls(tokens)
        return pc.equal(tokens, _TRUE)
    try:
        return pc.cast(tokens, kind)
    except pa.ArrowInvalid:
        return pc.cast(_without_nulls(tokens), kind)


def mask_of(flags: Flags) -> pa.Array:
    """Truth values as Arrow takes them."""
    bits = pa.py_buffer(np.packbits(flags, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(flags), [None, bits])


def _without_nulls(tokens: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(tokens, _NULL), _NO_TEXT, tokens)


def _flag_plain(tokens: pa.Array) -> Flags:
    """Which of some strings are integers of up to 18 digits and no sign."""
    offsets, data = _bytes_of(tokens)
    if not len(data):
        return np.zeros(len(tokens), np.bool_)
    lengths = np.diff(offsets)
    plain: Flags = (lengths > 0) & (lengths <= _DIGITS)
    first = data[np.minimum(offsets[:-1], len(data) - 1)]
    plain &= (first != _ZERO) | (lengths == 1)
    others = np.flatnonzero(data - _ZERO > 9)  # below "0" the difference is great as well
    if len(others):
        plain[np.searchsorted(offsets, others, side="right") - 1] = False
    return plain


def _have_points(tokens: pa.Array) -> bool:
    """Whether all strings are digits, a point, and digits, not many, and no sign."""
    offsets, data = _bytes_of(tokens)
    points = np.flatnonzero(data - _ZERO > 9)
    if len(points) != len(tokens) or (data[points] != ord(".")).any():
        return False
    begins, ends = offsets[:-1], offsets[1:]
    # with that, each has one of them
    if (points <= begins).any() or (points >= ends - 1).any():
        return False
    is_zero = data[begins] == _ZERO
    return bool((ends - begins <= _DIGITS).all() and (points[is_zero] == begins[is_zero] + 1).all())


def _bytes_of(tokens: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Where each string begins, and the last one ends, among the bytes of all."""
    offsets = np.frombuffer(tokens.buffers()[1], np.int32, len(tokens) + 1, tokens.offset * 4)
    begin, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    return offsets - begin, np.frombuffer(tokens.buffers()[2], np.uint8, size, begin)


def _flags_of(values: pa.Array) -> Flags:
    """Truth values without nulls as numpy has them."""
    whole = pc.cast(values, pa.uint8())
    return np.frombuffer(whole.buffers()[1], np.bool_, len(whole), whole.offset)


@cache
def _rule(kind: pa.DataType | None) -> tuple[bool, str]:
    """Whether plain integers fit a type, and a pattern of all that fits it."""
    if kind is None:
        return True, _ANY
    if pa.types.is_integer(kind):
        return True, _INTEGER
    if pa.types.is_floating(kind):
        return False, _REAL
    if pa.types.is_decimal(kind):
        whole = kind.precision - kind.scale
        head = f"(0|[1-9][0-9]{{0,{whole - 1}}})" if whole > 0 else "0"
        tail = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale > 0 else ""
        return whole >= _DIGITS, f"^(-?{head}{tail}|null)$"
    return False, _BOOLEAN if pa.types.is_boolean(kind) else _NOTHING
