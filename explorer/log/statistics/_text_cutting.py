"""Texts of one shape cut into literals and values, many at a time (spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.log.plain_arrays import Flags, build_array
from explorer.log.statistics._text_shape import Anchors, TextShape
from explorer.log.text_bytes import offsets_of
from explorer.records import record

Rows = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# bytes that stay in a processor's nearest cache while they are looked at several times
_STEP = 2**17

_NOWHERE = np.empty(0, np.int32)
_COMMA, _QUOTE = b',"'  # their numbers


@dataclass(frozen=True, kw_only=True)
class TextBatch:
    """The bytes of all texts, and where each begins and the last one ends."""

    data: pa.Buffer
    starts: Places

    @classmethod
    def of(cls, texts: pa.Array) -> TextBatch:
        """The bytes of texts that may be part of a longer array."""
        offsets = offsets_of(texts)
        starts = offsets - offsets[0]
        return cls(data=texts.buffers()[2].slice(int(offsets[0]), int(starts[-1])), starts=starts)

    def cut(self, is_left: Flags, shape: TextShape) -> tuple[Rows, Places]:
        """Those of some texts that may be of the shape, and the borders of the literals and
        values of each: in order, and of the right lengths."""
        # there are fewer commas, if none of them stands in a value
        marks = self._evenly(self._commas, shape.commas.count) if is_left.all() else None
        if marks is not None:
            return self._borders(np.arange(len(marks)), marks, shape, shape.commas)
        places, firsts = self._quotes
        count = shape.quotes.count
        rows = np.flatnonzero(is_left & (np.diff(firsts) == count))
        if len(rows) * count == len(places):  # that is all texts
            marks = places.reshape(len(rows), count)
        else:
            marks = places[firsts[rows][:, np.newaxis] + np.arange(count)]
        return self._borders(rows, marks, shape, shape.quotes)

    @cached_property
    def _commas(self) -> Places:
        """The place of every comma."""
        return _places_of(self.data, _COMMA)

    @cached_property
    def _quotes(self) -> tuple[Places, Rows]:
        """The place of every quote, and how many stand before each text, and in all."""
        places = _places_of(self.data, _QUOTE)
        return places, np.searchsorted(places, self.starts)

    def _evenly(self, places: Places, count: int) -> Places | None:
        """The places in a row for each text, where each has so many of them."""
        size = len(self.starts) - 1
        if not count or len(places) != size * count:
            return None
        marks = places.reshape(size, count)
        even = (marks[:, 0] >= self.starts[:-1]).all() and (marks[:, -1] < self.starts[1:]).all()
        return marks if even else None

    def _borders(
        self, rows: Rows, marks: Places, shape: TextShape, by: Anchors
    ) -> tuple[Rows, Places]:
        borders: Places = marks.take(np.clip(by.anchors - 1, 0, by.count - 1), axis=1)
        borders[:, by.anchors == 0] = self.starts[rows][:, np.newaxis]
        borders[:, by.anchors > by.count] = self.starts[rows + 1][:, np.newaxis]
        borders += by.moves
        wrong = borders[:, 2::2] < borders[:, 1:-1:2]  # a value would end before it begins
        if len(by.apart):
            lengths = borders[:, 2 * by.apart + 1] - borders[:, 2 * by.apart]
            wrong = np.hstack([wrong, lengths != shape.lengths[by.apart]])
        if not wrong.any():
            return rows, borders
        return only(~np.asarray(wrong.any(axis=1)), rows, borders)


def _places_of(data: pa.Buffer, byte: int) -> Places:
    held = np.frombuffer(data, np.uint8)
    found = [_NOWHERE]
    for begin in range(0, len(held), _STEP):
        places = np.flatnonzero(held[begin : begin + _STEP] == byte).astype(np.int32)
        places += np.int32(begin)
        found.append(places)
    return np.concatenate(found)


def only(wanted: Flags, rows: Rows, borders: Places) -> tuple[Rows, Places]:
    """The wanted ones of some rows, with their borders."""
    return (rows, borders) if wanted.all() else (rows[wanted], borders[wanted])


@record
class CutTexts:
    """Texts cut at their borders: `pieces` are `width` for each text, literals and values
    in turns, and what stands between it and the next one."""

    pieces: pa.Array
    num_texts: int
    width: int

    @classmethod
    def of(cls, batch: TextBatch, borders: Places) -> CutTexts:
        """Cut at borders that never go backwards."""
        num_texts, width = borders.shape
        offsets = pa.py_buffer(np.ascontiguousarray(borders))
        pieces = pa.Array.from_buffers(
            pa.string(), max(borders.size - 1, 0), [None, offsets, batch.data]
        )
        return cls(pieces=pieces, num_texts=num_texts, width=width)

    def literals(self) -> pa.Array:
        """The literals of the first text, then those of the next."""
        literals = 2 * np.arange(self.width // 2, dtype=np.int32)
        return self._take(self._firsts()[:, np.newaxis] + literals)

    def values(self, slots: Sequence[int]) -> pa.Array:
        """The values of one slot in all texts, then those of the next slot."""
        values = 2 * np.array(slots, np.int32) + 1
        return self._take(values[:, np.newaxis] + self._firsts())

    def _firsts(self) -> Places:
        return np.arange(self.num_texts, dtype=np.int32) * np.int32(self.width)

    def _take(self, places: Places) -> pa.Array:
        return self.pieces.take(build_array(places))


def flag_literals(cut: CutTexts, shape: TextShape) -> Flags:
    """Which texts have the literals of the shape, their lengths being the same."""
    size = len(shape.literals)
    data = cut.literals().buffers()[2].slice(0, cut.num_texts * size)
    first, others = data.slice(0, size), data.slice(size)
    if first.to_pybytes() == shape.literals and others.equals(data.slice(0, others.size)):
        return np.ones(cut.num_texts, np.bool_)  # each is as the one before
    found = np.frombuffer(data, np.uint8).reshape(cut.num_texts, size)
    other = found != np.frombuffer(shape.literals, np.uint8)
    same: Flags = ~other.any(axis=1)
    return same
