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
        return _few_enough(_floats(joined), partitions)
    if pa.types.is_string(joined.type) and (found := _texts(joined, len(sides[0]))) is not None:
        return _few_enough(found, partitions)
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


def _floats(values: pa.Array) -> Numbers:
    """Numbers without NaN, of which 0 and -0 are the same, by their bits, which are in their
    order: those below zero the other way round."""
    bits: Numbers = (read_values(values) + 0.0).astype(np.float64).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _texts(texts: pa.Array, lows: int) -> Numbers | None:
    """Texts, of which so many are lower bounds, as numbers in the same order; None where bytes
    cannot tell, or too many of them are the same."""
    offsets = offsets_of(texts)
    held = np.frombuffer(texts.buffers()[2] or b"", np.uint8, int(offsets[-1]))
    if not len(held) or not held.all():  # a text of a byte 0 would be as one without it
        return None
    sides = [texts.slice(0, lows), texts.slice(lows)]
    low, high = prefixes = [_common_prefix(side) for side in sides]
    common = _common_start(low, high)
    lengths = np.diff(offsets)
    if (short := int(lengths.max()) - len(common)) <= _SHORT:
        words = _words(held, offsets[:-1] + len(common), lengths - len(common))
        return (words >> np.uint64(8 * (_WORD - max(short, 1)))).astype(np.int64)
    if low.startswith(high) or high.startswith(low):
        return _ranked_texts(held, offsets, len(common))
    # where these differ, all lower bounds are below all upper ones: each side by itself has fewer
    # bytes to look at
    found = [
        _ranked_texts(held, offsets_of(side), len(prefix))
        for side, prefix in zip(sides, prefixes, strict=True)
    ]
    if any(numbers is None for numbers in found):
        return None
    first, second = (numbers for numbers in found if numbers is not None)
    if low < high:
        second += 1 + first.max()
    else:
        first += 1 + second.max()
    return np.concatenate([first, second])


def _common_prefix(texts: pa.Array) -> bytes:
    """The bytes with which all of some texts begin."""
    ends = pc.min_max(texts)
    # what begins both the least and the greatest begins all between them
    return _common_start(*(str(ends[side]).encode() for side in ("min", "max")))


def _common_start(one: bytes, other: bytes) -> bytes:
    pairs = enumerate(zip(one, other, strict=False))
    length = next((at for at, (this, that) in pairs if this != that), min(len(one), len(other)))
    return one[:length]


def _ranked_texts(
    held: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], skipped: int
) -> Numbers | None:
    """The places of texts in their order behind the first bytes, eight bytes after eight bytes:
    those that differ in the first ones are not looked at again. None where too many bytes are the
    same."""
    numbers = np.zeros(len(offsets) - 1, np.int64)
    starts, lengths = offsets[:-1] + skipped, np.diff(offsets) - skipped
    span, left = 1, np.arange(len(numbers))
    for step in range(0, _MOST_WORDS * _WORD, _WORD):
        some = _words(held, starts[left] + step, lengths[left] - step)
        ranks, many = _dense(some)
        # a text that has ended is less than those that go on after the same bytes
        ranks, many = ranks + 1, many + 1
        if span * many >= _MOST:
            numbers, span = _dense(numbers)
        numbers *= many
        numbers[left] += ranks
        span *= many
        groups = _dense(numbers[left])[0] if step else ranks
        # one that has ended is not looked at again, and equal to those that it is with
        left = left[(np.bincount(groups)[groups] > 1) & (lengths[left] > step + _WORD)]
        if not len(left):
            return numbers
    return None


def _words(
    held: npt.NDArray[np.uint8], places: npt.NDArray[Any], sizes: npt.NDArray[Any]
) -> npt.NDArray[np.uint64]:
    """From each place on up to eight bytes as a number, the first of them the most significant;
    behind `sizes` of them come zeros."""
    padded = np.append(held, np.zeros(_WORD, np.uint8))
    windows: Any = np.ndarray((len(padded) - _WORD + 1,), ">u8", padded.data, 0, (1,))
    found = windows[np.minimum(places, len(held))].astype(np.uint64)
    unused = (4 * np.clip(_WORD - sizes, 0, _WORD)).astype(np.uint64)
    # in two halves, because a word cannot be shifted by all of its bits
    words: npt.NDArray[np.uint64] = found >> unused >> unused << unused << unused
    return words
