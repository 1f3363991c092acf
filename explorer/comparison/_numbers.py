"""Arrow columns as numbers and back, without what would import pandas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import bool_column, int64_column
from explorer.log.json_tokens import mask_of

Positions = npt.NDArray[np.int64]
"""Row numbers of a table."""

# scalars by way of arrays: plain values would make pyarrow import pandas
_ZERO = int64_column([0])[0]
_FALSE = bool_column([False])[0]


def values_of(numbers: pa.ChunkedArray) -> Positions:
    """Integers, or times as milliseconds, as 64-bit numbers; 0 where there is none."""
    whole = pc.coalesce(pc.cast(numbers, pa.int64()), _ZERO)
    chunks = [
        np.frombuffer(chunk.buffers()[1], np.int64, len(chunk), chunk.offset * 8)
        for chunk in whole.chunks
        if len(chunk)
    ]
    return np.concatenate(chunks) if chunks else np.empty(0, np.int64)


def truths_of(flags: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Truth values; False where there is none."""
    return values_of(pc.cast(pc.coalesce(flags, _FALSE), pa.int8())).astype(np.bool_)


def null_mask(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Where a column has no value."""
    if column.null_count == 0:
        return np.zeros(len(column), np.bool_)
    return truths_of(pc.is_null(column))


def take(table: pa.Table, positions: Positions) -> pa.Table:
    """The rows at these positions, in their order."""
    count = len(positions)
    if count == table.num_rows and (positions == np.arange(count)).all():
        return table
    wanted = np.zeros(table.num_rows, np.bool_)
    wanted[positions] = True
    if np.count_nonzero(wanted) < count:  # a row is there more than once
        return table.take(indices_of(positions))
    # to take from many chunks would join all of them first, whatever is taken
    rows = table.filter(mask_of(wanted))
    if (np.diff(positions) > 0).all():
        return rows
    places = np.empty(count, np.int64)
    places[np.argsort(positions)] = np.arange(count)
    return rows.take(indices_of(places))


def indices_of(positions: Positions) -> pa.Array:
    """Positions as Arrow takes them."""
    plain = np.ascontiguousarray(positions, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(plain), [None, pa.py_buffer(plain)])
