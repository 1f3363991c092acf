"""Columns whose values are worth a dictionary (Parquet: Data Pages, Dictionary Encoding).

A writer that is not told puts every value into a hash table, until that has a MiB; where nearly all
values differ it was in vain: it takes half of the time of encoding, and the file gets no smaller.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.storage.parquet.writer import leaf_paths

_SHARE: Final = 8
"""One of so many rows is looked at."""

_LEAST: Final = 1024
_MOST: Final = 16 * 1024
_SLICES: Final = 8
"""The rows that are looked at lie in so many places, for neighbours are often alike."""

_ALL_DIFFER: Final = 0.95
"""Of the values that are looked at: with 16,384 of them there are some 160,000 different ones in
the column, more than a dictionary takes of eight bytes each."""

_NARROW_DIFFER: Final = 0.97
"""The same for values of four bytes and less, of which it takes twice as many."""


def dictionary_leaves(rows: pa.Table) -> bool | tuple[str, ...]:
    """For `WriterSettings.dictionary`: all leaves, but for plain columns in which nearly every
    value is another one."""
    without = {item.name for item in rows.schema if _all_differ(rows.column(item.name))}
    if not without:
        return True
    return tuple(path for path in leaf_paths(rows.schema) if path not in without)


def _all_differ(column: pa.ChunkedArray) -> bool:
    some = _some_of(column)
    valid = len(some) - some.null_count
    if not valid:
        return False
    try:
        return bool(pc.count_distinct(some).as_py() > valid * _limit_of(column.type))
    except pa.ArrowNotImplementedError:  # for what is nested, above all
        return False


def _limit_of(kind: pa.DataType) -> float:
    is_narrow = pa.types.is_primitive(kind) and kind.bit_width <= 32
    return _NARROW_DIFFER if is_narrow else _ALL_DIFFER


def _some_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    count = len(column)
    size = min(_MOST, max(_LEAST, count // _SHARE))
    if size >= count:
        return column
    each = size // _SLICES
    slices = (column.slice(count * at // _SLICES, each) for at in range(_SLICES))
    return pa.chunked_array([chunk for part in slices for chunk in part.chunks], column.type)
