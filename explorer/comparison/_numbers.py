"""Arrow columns as numbers and back, without what would import pandas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.log.plain_arrays import Flags, build_array, read_flags

Positions = npt.NDArray[np.int64]
"""Row numbers of a table."""


def null_mask(column: pa.Array | pa.ChunkedArray) -> Flags:
    """Where a column has no value."""
    return read_flags(column.is_null())


def take(table: pa.Table, positions: Positions) -> pa.Table:
    """The rows at these positions, in their order."""
    count = len(positions)
    if count == table.num_rows and (positions == np.arange(count)).all():
        return table
    wanted = np.zeros(table.num_rows, np.bool_)
    wanted[positions] = True
    if np.count_nonzero(wanted) < count:  # a row is there more than once
        return table.take(build_array(positions))
    # to take from many chunks would join all of them first, whatever is taken
    rows = table.filter(build_array(wanted))
    if (np.diff(positions) > 0).all():
        return rows
    places = np.empty(count, np.int64)
    places[np.argsort(positions)] = np.arange(count)
    return rows.take(build_array(places))
