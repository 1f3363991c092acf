"""Statistics in JSON that have one shape, many at a time (spec: Per-file Statistics).

Where the quotes of a text stand tells where its values stand, if all the rest of it is
that of the shape; and that is compared byte by byte. Then the values are cut out for
all texts at once, which is several times faster than parsing each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.json_tokens import Flags, build_column, flag_fitting, mask_of
from explorer.log.single_text import FieldPath, Leaves
from explorer.log.text_shape import TextShape, parse_shape

Rows = npt.NDArray[np.int64]
_Found: TypeAlias = tuple[TextShape, Mapping[FieldPath, int]]
_Places = npt.NDArray[np.int32]

# fewer of one shape are not worth it
_FEWEST = 256

# nor is a shape that fewer of them have: pyarrow reads those as quickly
_SHARE = 1 / 4

_SAMPLES = 6

# bytes that stay in a processor's nearest cache while they are looked at several times
_STEP = 2**17

_NOWHERE = np.empty(0, np.int32)
_QUOTE, _ESCAPE, _BLANK = b'"\\ '  # their numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformTexts:
    """The texts at `rows`, ascending, which have one shape, and a column for each leaf,
    null where they do not say."""

    rows: Rows
    columns: Mapping[FieldPath, pa.Array]


def read_uniform(texts: pa.Array, leaves: Leaves) -> list[UniformTexts]:
    """Those of some texts, none of them null, that have one of the commonest shapes and
    only values of the types in `leaves`. A text that could be read in two ways, or is
    none of JSON, is not among them."""
    if len(texts) < _FEWEST:
        return []
    found = _usual_shape(texts, np.arange(len(texts)), leaves)
    if found is None:
        return []
    batch = _split(texts)
    enough = len(texts) * _SHARE
    parts: list[UniformTexts] = []
    is_left = np.zeros(len(texts), np.bool_)
    is_left[batch.unescaped] = True
    while found is not None:
        shape, slots = found
        rows = np.flatnonzero(is_left & (np.diff(batch.firsts) == shape.num_quotes))
        part = _read(batch, rows, shape, leaves, slots) if len(rows) >= enough else None
        if part is None:
            break
        parts.append(part)
        is_left[part.rows] = False
        left = np.flatnonzero(is_left)
        worth = min(len(part.rows), len(left)) >= enough
        found = _usual_shape(texts, left, leaves) if worth else None
    return parts


def _usual_shape(texts: pa.Array, rows: Rows, leaves: Leaves) -> _Found | None:
    """A shape for these leaves that two of some samples share, and their slots in it."""
    seen: set[bytes] = set()
    for sample in range(_SAMPLES):
        text = texts[int(rows[len(rows) * sample // _SAMPLES])].as_py()
        shape = parse_shape(text)
        slots = None if shape is None else _slots_of(shape, leaves)
        if shape is not None and slots is not None:
            if shape.literals in seen:
                return shape, slots
            seen.add(shape.literals)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """The bytes of all texts, where each begins and the last one ends, the place of every
    quote, and how many of them stand before each text, and in all.

    `unescaped` are the texts without escapes and control characters.
    """

    data: pa.Buffer
    starts: _Places
    quotes: _Places
    firsts: Rows
    unescaped: Rows


def _split(texts: pa.Array) -> _Batch:
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    starts = offsets - offsets[0]
    data = texts.buffers()[2].slice(int(offsets[0]), int(starts[-1]))
    held = np.frombuffer(data, np.uint8)
    quotes, unsuited = [_NOWHERE], [_NOWHERE]
    for begin in range(0, len(held), _STEP):
        part = held[begin : begin + _STEP]
        quotes.append((np.flatnonzero(part == _QUOTE) + begin).astype(np.int32))
        if part.min() < _BLANK or (part == _ESCAPE).any():
            found = np.flatnonzero((part < _BLANK) | (part == _ESCAPE)) + begin
            unsuited.append(found.astype(np.int32))
    places = np.concatenate(quotes)
    plain = np.ones(len(texts), np.bool_)
    plain[np.searchsorted(starts, np.concatenate(unsuited), side="right") - 1] = False
    return _Batch(
        data=data,
        starts=starts,
        quotes=places,
        firsts=np.searchsorted(places, starts),
        unescaped=np.flatnonzero(plain),
    )


def _read(
    batch: _Batch, rows: Rows, shape: TextShape, leaves: Leaves, slots: Mapping[FieldPath, int]
) -> UniformTexts | None:
    """Those texts of `rows` that are of the shape, its number of quotes being theirs; None
    where there is none."""
    borders = _borders(batch, rows, shape)
    rows, borders = _only(_in_order(borders, shape), rows, borders)
    if not len(rows):
        return None
    cut = _Cut.of(batch, borders)
    same = _has_literals(cut, shape)
    if not same.all():
        rows, borders = _only(same, rows, borders)
        cut = _Cut.of(batch, borders)
    try:
        return _columns(rows, cut, shape, leaves, slots)
    except pa.ArrowInvalid:  # a number beyond its type, which is rare
        return None


def _only(wanted: Flags, rows: Rows, borders: _Places) -> tuple[Rows, _Places]:
    return (rows, borders) if wanted.all() else (rows[wanted], borders[wanted])


def _in_order(borders: _Places, shape: TextShape) -> Flags:
    """Which texts have literals of the right lengths, and values that do not overlap them."""
    lengths = borders[:, 1::2] - borders[:, ::2]
    wrong = lengths != shape.lengths
    backwards = borders[:, 2::2] < borders[:, 1:-1:2]
    if not wrong.any() and not backwards.any():
        return np.ones(len(borders), np.bool_)
    good: Flags = ~(wrong.any(axis=1) | backwards.any(axis=1))
    return good


def _slots_of(shape: TextShape, leaves: Leaves) -> dict[FieldPath, int] | None:
    """The number of the slot of each leaf that the shape has; None where something else
    stands in its place."""
    at = {slot.path: number for number, slot in enumerate(shape.slots)}
    found = {}
    for path, kind in leaves.items():
        if path in shape.objects or any(path[:depth] in at for depth in range(1, len(path))):
            return None
        if (number := at.get(path)) is not None:
            if shape.slots[number].is_text and not pa.types.is_string(kind):
                return None
            found[path] = number
    return found


def _borders(batch: _Batch, rows: Rows, shape: TextShape) -> _Places:
    """The borders of the literals and values of each text; as yet they may be nonsense."""
    size = shape.num_quotes
    if len(rows) * size == len(batch.quotes):  # that is all texts
        quotes = batch.quotes.reshape(len(rows), size)
    else:
        quotes = batch.quotes[batch.firsts[rows][:, np.newaxis] + np.arange(size)]
    borders: _Places = quotes.take(np.clip(shape.anchors - 1, 0, size - 1), axis=1)
    borders[:, shape.anchors == 0] = batch.starts[rows][:, np.newaxis]
    borders[:, shape.anchors > size] = batch.starts[rows + 1][:, np.newaxis]
    borders += shape.moves
    return borders


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """Texts cut at their borders: `pieces` are `width` for each text, literals and values
    in turns, and what stands between it and the next one."""

    pieces: pa.Array
    num_texts: int
    width: int

    @classmethod
    def of(cls, batch: _Batch, borders: _Places) -> _Cut:
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

    def _firsts(self) -> _Places:
        return np.arange(self.num_texts, dtype=np.int32) * np.int32(self.width)

    def _take(self, places: _Places) -> pa.Array:
        indices = pa.Array.from_buffers(pa.int32(), places.size, [None, pa.py_buffer(places)])
        return self.pieces.take(indices)


def _has_literals(cut: _Cut, shape: TextShape) -> Flags:
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


def _columns(
    rows: Rows, cut: _Cut, shape: TextShape, leaves: Leaves, slots: Mapping[FieldPath, int]
) -> UniformTexts:
    """The columns of texts whose literals are those of the shape, without those texts
    that have other values than their slots are for."""
    paths = [path for path, number in slots.items() if not shape.slots[number].is_text]
    tokens, fits = _tokens(cut, shape, [(slots[path], leaves[path]) for path in paths])
    columns = {
        path: pa.nulls(cut.num_texts, kind) for path, kind in leaves.items() if path not in slots
    }
    columns |= {path: cut.values([slots[path]]) for path in slots if path not in paths}
    columns |= dict(zip(paths, tokens, strict=True))
    if not fits.all():
        mask = mask_of(fits)
        rows, columns = (
            rows[fits],
            {path: pc.filter(values, mask) for path, values in columns.items()},
        )
    columns |= {path: build_column(columns[path], leaves[path]) for path in paths}
    return UniformTexts(rows=rows, columns=columns)


def _tokens(
    cut: _Cut, shape: TextShape, asked: Sequence[tuple[int, pa.DataType]]
) -> tuple[list[pa.Array], Flags]:
    """What stands in the slots, without quotes, that are asked for with a type; and which
    texts have what fits there, and in the slots that nobody asks for."""
    numbers = [number for number, _ in asked]
    bare = {number for number, slot in enumerate(shape.slots) if not slot.is_text}
    others = sorted(bare - {*numbers})
    tokens = cut.values([*numbers, *others])
    size = cut.num_texts
    columns = [tokens.slice(at * size, size) for at in range(len(asked))]
    fits = flag_fitting(tokens.slice(len(asked) * size), None).reshape(len(others), size)
    every: Flags = np.asarray(fits.all(axis=0))
    for column, (_, kind) in zip(columns, asked, strict=True):
        every &= flag_fitting(column, kind)
    return columns, every
