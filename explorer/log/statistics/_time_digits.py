"""Dates and times that are written alike, into columns of Arrow by their digits
(spec: Per-file Statistics).

Of texts that differ in nothing but digits, each digit is a column of its own: that takes a
fraction of the time of reading them one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.log.plain_arrays import Flags, Numbers, build_array, read_flags
from explorer.log.text_bytes import offsets_of

_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT: Final = re.compile(_DATE + r"[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z?)")
_DAY: Final = re.compile(_DATE)
_FRACTION: Final = 20
"""Where the digits below a second begin."""
_MONTHS: Final = 12
_ZERO: Final = np.uint8(ord("0"))

_Numbers = npt.NDArray[np.int32]
_Digits: TypeAlias = Mapping[int, _Numbers]
"""Of all texts the digits that stand at one place."""


def read_alike(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The dates or times of texts, where all that are not null have the same form, with Z or
    no zone as the type has it; None where they do not. Null stays null, and what is no such
    day or time becomes null."""
    present = texts.drop_null() if texts.null_count else texts
    if not len(present):
        return None
    form = present[0].as_py()
    if not _has_form(form, kind) or (digits := _digits_of(present, form)) is None:
        return None
    values, exist = (_days if pa.types.is_date(kind) else _moments)(digits)
    if present is not texts:
        known = read_flags(texts.is_valid())
        spread, flags = np.zeros(len(texts), values.dtype), np.zeros(len(texts), np.bool_)
        spread[known], flags[known] = values, exist
        values, exist = spread, flags
    return build_array(values, None if exist.all() else ~exist).view(kind)


def _has_form(text: str, kind: pa.DataType) -> bool:
    if pa.types.is_date(kind):
        return _DAY.fullmatch(text) is not None
    found = _MOMENT.fullmatch(text)
    return found is not None and (found[2] == "Z") == (kind.tz is not None)


def _digits_of(texts: pa.Array, form: str) -> _Digits | None:
    """The digits of texts, none of them null; None where not all have this form."""
    offsets = offsets_of(texts)
    size = len(form)
    if (np.diff(offsets) != size).any():
        return None
    held = np.frombuffer(texts.buffers()[2], np.uint8, size * len(texts), int(offsets[0]))
    chars = held.reshape(len(texts), size)
    digits: dict[int, _Numbers] = {}
    for at, char in enumerate(form):
        column = chars[:, at]
        if not char.isdigit():
            if (column != ord(char)).any():
                return None
            continue
        column = column - _ZERO  # below "0" the difference is great as well
        if column.max() > 9:
            return None
        digits[at] = column.astype(np.int32)
    return digits


def _number(digits: _Digits, begin: int, end: int) -> _Numbers:
    found = digits[begin]
    for at in range(begin + 1, end):
        found = found * np.int32(10) + digits[at]
    return found


def _days(digits: _Digits) -> tuple[_Numbers, Flags]:
    """Days since 1970, and which of them there are."""
    month, day = _number(digits, 5, 7), _number(digits, 8, 10)
    known = np.clip(month, 1, _MONTHS)
    firsts = _first_days()
    number = _number(digits, 0, 4) * np.int32(_MONTHS) + known
    days: _Numbers = firsts.take(number - np.int32(1)) + (day - np.int32(1))
    return days, (known == month) & (day > 0) & (days < firsts.take(number))


def _moments(digits: _Digits) -> tuple[Numbers, Flags]:
    """Microseconds since 1970, and which of them there are."""
    days, exist = _days(digits)
    hour, minute, second = (_number(digits, at, at + 2) for at in (11, 14, 17))
    exist &= (hour < 24) & (minute < 60) & (second < 60)
    clock = (hour * np.int32(60) + minute) * np.int32(60) + second
    micros = (days.astype(np.int64) * 86_400 + clock) * 1_000_000
    if (end := max(digits) + 1) > _FRACTION:
        micros += _number(digits, _FRACTION, end) * np.int32(10 ** (_FRACTION + 6 - end))
    return micros, exist


@cache
def _first_days() -> _Numbers:
    """The days since 1970 on which each month begins, from the year 0 to 9999 and the next."""
    months: npt.NDArray[Any] = np.arange("0000-01", "10000-02", dtype="M8[M]")
    return months.astype("M8[D]").astype(np.int32)
