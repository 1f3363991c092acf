"""Arrow columns as numbers and back, without what would import pandas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import bool_column, int64_column

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
    if len(positions) == table.num_rows and (positions == np.arange(table.num_rows)).all():
        return table
    return table.take(indices_of(positions))


def indices_of(positions: Positions) -> pa.Array:
    """Positions as Arrow takes them."""
    plain = np.ascontiguousarray(positions, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(plain), [None, pa.py_buffer(plain)])
