"""A curve through several columns: rows that follow each other on it are near each other in
all of them.

A column's values become ranges of about as many rows each, by a sample of them; the
numbers of the ranges are the coordinates of a row, and a Hilbert curve makes one key of these.
Each step on it goes to a neighbour. A Z-order curve jumps: with as many files, a query by the
second of two columns had to read half as many more of them, and by the first no fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Numbers, in_one_piece
from explorer.protocol.actions import FieldPath

_MOST_BITS: Final = 10
"""About a thousand ranges of each column, as the reference has."""
_KEY_BITS: Final = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """By which columns rows are brought together, as physical field paths."""

    columns: tuple[FieldPath, ...]

    @property
    def bits(self) -> int:
        """Of each coordinate: together they fit into one key."""
        return max(1, min(_MOST_BITS, _KEY_BITS // len(self.columns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOrder:
    """An order with the borders of each column's ranges, sorted, without nulls."""

    order: RowOrder
    borders: tuple[pa.Array, ...]

    def keys(self, rows: pa.Table) -> Numbers:
        """The place on the curve of each row; nulls come after every value."""
        bits = self.order.bits
        coordinates = [
            range_numbers(column_at(rows, path), borders, bits)
            for path, borders in zip(self.order.columns, self.borders, strict=True)
        ]
        return curve_keys(coordinates, bits)


def measure_order(order: RowOrder, sample: Sequence[pa.Array]) -> MeasuredOrder:
    """Borders by a sample of each column."""
    borders = tuple(_borders(values, order.bits) for values in sample)
    return MeasuredOrder(order=order, borders=borders)


def column_at(rows: pa.Table, path: FieldPath) -> pa.Array:
    """A column, or a field inside structs, null where one of these is."""
    column = rows.column(path[0])
    for name in path[1:]:
        at = [field.name for field in column.type].index(name)
        column = column.flatten()[at]
    return in_one_piece(column)


def range_numbers(values: pa.Array, borders: pa.Array, bits: int) -> Numbers:
    """The range of each value, spread over all numbers of `bits` bits, so that a column of
    few values counts as much as one of many."""
    both = pa.concat_arrays([borders, values.cast(borders.type)])
    # stable, so that a border comes before the values that are equal to it
    order = pc.array_sort_indices(both).to_numpy()
    is_border = order < len(borders)
    ranks = np.empty(len(both), np.int64)
    ranks[order] = np.cumsum(is_border)
    numbers = ranks[len(borders) :]
    count = len(borders) + 1
    if values.null_count:
        numbers = np.where(values.is_null().to_numpy(zero_copy_only=False), count, numbers)
        count += 1
    return numbers * ((1 << bits) - 1) // max(count - 1, 1)


def curve_keys(coordinates: Sequence[Numbers], bits: int) -> Numbers:
    """The place on the curve of each row; with one column its coordinate itself."""
    if len(coordinates) == 1:
        return coordinates[0]
    turned = _turned(coordinates, bits)
    keys = np.zeros(len(turned[0]), np.int64)
    for bit in reversed(range(bits)):
        for numbers in turned:
            keys = (keys << 1) | ((numbers >> bit) & 1)
    return keys


def _turned(coordinates: Sequence[Numbers], bits: int) -> list[Numbers]:
    """Coordinates turned and mirrored so that their interleaved bits are the place on a
    Hilbert curve (J. Skilling, Programming the Hilbert curve, 2004)."""
    found = [numbers.copy() for numbers in coordinates]
    first, last = found[0], len(found) - 1
    for bit in reversed(range(1, bits)):
        one, below = 1 << bit, (1 << bit) - 1
        for at, numbers in enumerate(found):
            is_set = (numbers & one) != 0
            swapped = np.where(is_set, 0, (first ^ numbers) & below)
            first ^= np.where(is_set, below, 0)
            first ^= swapped
            found[at] ^= swapped
    for at in range(1, len(found)):
        found[at] ^= found[at - 1]
    turned = np.zeros(len(first), np.int64)
    for bit in reversed(range(1, bits)):
        turned ^= np.where((found[last] & (1 << bit)) != 0, (1 << bit) - 1, 0)
    return [numbers ^ turned for numbers in found]


def _borders(values: pa.Array, bits: int) -> pa.Array:
    """Where ranges begin: values that part the sample into equal shares, each once."""
    values = values.drop_null()
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    ordered = values.take(pc.array_sort_indices(values))
    shares = np.arange(1, 1 << bits) * len(ordered) // (1 << bits)
    return pc.unique(ordered.take(pa.array(np.unique(shares)))) if len(ordered) else ordered
