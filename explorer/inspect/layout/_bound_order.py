"""Bounds as numbers that are in the same order, which are quick to sort and to compare
(spec: Per-file Statistics)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Numbers, read_numbers, read_values
from explorer.log.text_bytes import offsets_of

_MOST: Final = 2**62
"""What still fits into a number, twice and with one more."""
_SHORT: Final = 7
"""Bytes that are a number above zero."""
_WORD: Final = 8
_MOST_WORDS: Final = 8
"""Words of a text that are looked at; texts that differ only behind them are rare."""


def numbers_in_order(sides: list[pa.ChunkedArray], partitions: int) -> Numbers:
    """Both bounds of all files as numbers in their order, none of them negative, and small
    enough to tell `partitions` apart."""
    joined = pa.concat_arrays([chunk for side in sides for chunk in side.chunks])
    if pa.types.is_boolean(joined.type):
        joined = joined.cast(pa.uint8())
    if pa.types.is_integer(joined.type) or pa.types.is_temporal(joined.type):
        wide = joined.cast(pa.int32()) if pa.types.is_date32(joined.type) else joined
        return _few_enough(read_numbers(wide), partitions)
    if pa.types.is_floating(joined.type):
        return _dense(_floats(joined))[0]
    if pa.types.is_string(joined.type):
        if (short := _short_texts(joined)) is not None:
            return _few_enough(short, partitions)
        if (found := _ranked_texts(joined)) is not None:
            return found
    ranks = pc.rank(joined, sort_keys="ascending", tiebreaker="dense")
    return read_values(ranks).astype(np.int64)


def _few_enough(values: Numbers, partitions: int) -> Numbers:
    least, most = int(values.min()), int(values.max())
    if (most - least + 1) * partitions < _MOST:
        return values - least
    return _dense(values)[0]


def _dense(values: npt.NDArray[Any]) -> tuple[Numbers, int]:
    """The place of each value among the different ones, and how many of these there are."""
    order = np.argsort(values)
    ordered = values[order]
    places = np.cumsum(ordered[1:] != ordered[:-1])
    numbers = np.zeros(len(values), np.int64)
    numbers[order[1:]] = places
    return numbers, int(places[-1]) + 1 if len(places) else 1


def _floats(values: pa.Array) -> npt.NDArray[Any]:
    """Numbers without NaN, of which 0 and -0 are the same."""
    found: npt.NDArray[Any] = read_values(values) + 0.0
    return found


def _ranked_texts(texts: pa.Array) -> Numbers | None:
    """The places of texts in their order, eight bytes after eight bytes: those that differ in
    the first ones are not looked at again. None where too many bytes are the same."""
    offsets = offsets_of(texts)
    starts, ends = offsets[:-1].astype(np.int64), offsets[1:].astype(np.int64)
    held = np.frombuffer(texts.buffers()[2] or b"", np.uint8, int(offsets[-1]))
    words = _words_of(held)
    numbers = np.zeros(len(texts), np.int64)
    count, left = 1, np.arange(len(texts))
    for step in range(_MOST_WORDS):
        begins = starts[left] + step * _WORD
        sizes = np.clip(ends[left] - begins, 0, _WORD)
        some = words[np.minimum(begins, len(held))]
        unused = (8 * (_WORD - sizes)).astype(np.uint64) >> np.uint64(1)
        # a word cannot be shifted by all its bits at once
        some = some >> unused >> unused << unused << unused
        ranks, many = _dense(some)
        # behind equal bytes a text that has ended comes first; a byte 0 is no end
        ranks = ranks * (_WORD + 1) + sizes
        numbers *= many * (_WORD + 1)
        numbers[left] += ranks
        numbers, count = _dense(numbers)
        shared = np.bincount(numbers, minlength=count)[numbers[left]] > 1
        left = left[shared & (sizes == _WORD)]
        if not len(left):
            return numbers
    return None


def _words_of(held: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Eight bytes from each place on as a number, the first of them the most significant."""
    padded = np.append(held, np.zeros(_WORD, np.uint8))
    return np.ndarray((len(padded) - _WORD + 1,), ">u8", padded.data, 0, (1,))


def _short_texts(texts: pa.Array) -> Numbers | None:
    """Texts as numbers in the same order, where there are but a few bytes behind what is common
    to all of them; else None. A text of a byte 0 would be as one without it."""
    ends = pc.min_max(texts)
    least, most = (str(ends[side]).encode() for side in ("min", "max"))
    pairs = enumerate(zip(least, most, strict=False))
    # and of all those between them
    common = next((at for at, (one, other) in pairs if one != other), min(len(least), len(most)))
    offsets = offsets_of(texts)
    lengths = np.diff(offsets) - common
    size = int(lengths.max())
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8, int(offsets[-1]))
    if size > _SHORT or not (data.all() and size):
        return None
    found = (_words_of(data)[offsets[:-1] + common] >> np.uint64(8)).astype(np.int64)
    # without the bytes that belong to the next text
    unused = 8 * (_SHORT - lengths.astype(np.int64))
    shortened: Numbers = (found >> unused << unused) >> (8 * (_SHORT - size))
    return shortened
