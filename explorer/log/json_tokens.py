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

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import Flags, build_array, read_flags
from explorer.log.text_bytes import offsets_of

_NUMBER: Final = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_ANY: Final = f"^({_NUMBER}|true|false|null)$"
_INTEGER: Final = r"^(-?(0|[1-9][0-9]{0,17})|null)$"
# what is beyond a double cannot be written with so few digits; -0 is an integer, and so no
# negative zero
_WHOLE: Final = r"[1-9][0-9]{0,16}"
_POWER: Final = r"([eE][+-]?[0-9]{1,2})?"
_REAL: Final = rf"^(-?(0|{_WHOLE})\.[0-9]{{1,20}}{_POWER}|(0|-?{_WHOLE}){_POWER}|null)$"
_BOOLEAN: Final = r"^(true|false|null)$"
_NOTHING: Final = r"^null$"

_ZERO: Final = np.uint8(ord("0"))
_QUOTE, _ESCAPE, _BLANK, _MINUS, _POINT = b'"\\ -.'  # their numbers

# ten to the power of this fits into 63 bits
_DIGITS: Final = 18

# scalars by way of an array: plain values would make pyarrow import pandas
_NULL, _TRUE, _NO_TEXT = (string_column(["null", "true", None])[at] for at in range(3))


def flag_fitting(tokens: pa.Array, kind: pa.DataType | None) -> Flags:
    """Which of some strings, none of them null, `build_column` takes for a type; the null
    of JSON is among them. Where no type is asked for, whatever JSON knows."""
    integers, points, pattern = _rule(kind)
    plain = np.zeros(len(tokens), np.bool_)
    if points and _have_points(tokens):
        return ~plain
    if integers:
        plain = _flag_plain(tokens, points=points)
        if plain.all():
            return plain
        tokens = tokens.filter(build_array(~plain))
    plain[~plain] = read_flags(pc.match_substring_regex(tokens, pattern))
    return plain


def flag_unescaped(texts: pa.Array) -> Flags:
    """Which of some strings, none of them null, stand in JSON as they are: without quotes,
    escapes and control characters."""
    offsets, data = _bytes_of(texts)
    flags = np.ones(len(texts), np.bool_)
    if len(data) and (data.min() < _BLANK or (data == _QUOTE).any() or (data == _ESCAPE).any()):
        odd = np.flatnonzero((data < _BLANK) | (data == _QUOTE) | (data == _ESCAPE))
        flags[np.searchsorted(offsets, odd, side="right") - 1] = False
    return flags


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


def _without_nulls(tokens: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(tokens, _NULL), _NO_TEXT, tokens)


def _flag_plain(tokens: pa.Array, *, points: bool) -> Flags:
    """Which of some strings are numbers of up to 18 digits, a point among them counted as one,
    where there may be `points`; without an exponent, and not `-0`."""
    offsets, data = _bytes_of(tokens)
    if not len(data):
        return np.zeros(len(tokens), np.bool_)
    begins, ends = offsets[:-1], offsets[1:]
    others = np.flatnonzero(data - _ZERO > 9)  # below "0" the difference is great as well
    at = np.searchsorted(offsets, others, side="right") - 1
    is_sign = (data[others] == _MINUS) & (others == begins[at])
    signed = at[is_sign]
    if len(signed):
        begins = begins.copy()
        begins[signed] += 1
        others, at = others[~is_sign], at[~is_sign]
    lengths = ends - begins
    plain: Flags = (lengths > 0) & (lengths <= _DIGITS)
    wholes = lengths
    if len(others):
        is_point = (data[others] == _POINT) & (others > begins[at]) & (others < ends[at] - 1)
        is_point[1:] &= at[1:] != at[:-1]  # the first one of each
        wholes = lengths.copy()
        wholes[at[is_point]] = (others - begins[at])[is_point]
        plain[at[~is_point] if points else at] = False
    is_zero = data[np.minimum(begins, len(data) - 1)] == _ZERO
    plain &= ~is_zero | (wholes == 1)
    plain[signed[is_zero[signed] & (lengths[signed] == 1)]] = False
    return plain


def _have_points(tokens: pa.Array) -> bool:
    """Whether all strings are digits, a point, and digits, not many, and no sign."""
    offsets, data = _bytes_of(tokens)
    points = np.flatnonzero(data - _ZERO > 9)
    if len(points) != len(tokens) or (data[points] != _POINT).any():
        return False
    begins, ends = offsets[:-1], offsets[1:]
    # with that, each has one of them
    if (points <= begins).any() or (points >= ends - 1).any():
        return False
    is_zero = data[begins] == _ZERO
    return bool((ends - begins <= _DIGITS).all() and (points[is_zero] == begins[is_zero] + 1).all())


def _bytes_of(tokens: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Where each string begins, and the last one ends, among the bytes of all."""
    offsets = offsets_of(tokens)
    begin, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    return offsets - begin, np.frombuffer(tokens.buffers()[2], np.uint8, size, begin)


@cache
def _rule(kind: pa.DataType | None) -> tuple[bool, bool, str]:
    """Whether plain integers fit a type, whether those with a point do, and a pattern of all
    that fits it."""
    if kind is None:
        return True, True, _ANY
    if pa.types.is_integer(kind):
        return True, False, _INTEGER
    if pa.types.is_floating(kind):
        return True, True, _REAL
    if pa.types.is_decimal(kind):
        whole = kind.precision - kind.scale
        head = f"(0|[1-9][0-9]{{0,{whole - 1}}})" if whole > 0 else "0"
        tail = rf"(\.[0-9]{{1,{kind.scale}}})?" if kind.scale > 0 else ""
        return whole >= _DIGITS, False, f"^(-?{head}{tail}|null)$"
    return False, False, _BOOLEAN if pa.types.is_boolean(kind) else _NOTHING
