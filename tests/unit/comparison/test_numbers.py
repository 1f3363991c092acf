"""Rows are taken in the order that is asked for, however a table is cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from explorer.comparison._numbers import take

CHUNKS = ([0, 1, 2], [3], [], [4, 5, 6, 7])
TABLE = pa.table({"n": pa.chunked_array(CHUNKS, pa.int64())})
TABLE = TABLE.append_column("text", TABLE.column("n").cast(pa.string()))


@pytest.mark.parametrize(
    "positions",
    [
        [],
        [5],
        [0, 3, 7],
        [7, 3, 0],
        [4, 0, 6, 1],
        [2, 2, 0],
        list(range(8)),
        list(range(7, -1, -1)),
    ],
)
def test_rows_stand_in_the_order_of_their_positions(positions: list[int]) -> None:
    found = take(TABLE, np.array(positions, np.int64))
    assert found.schema == TABLE.schema
    assert found.to_pydict() == {"n": positions, "text": list(map(str, positions))}


def test_all_rows_in_their_order_are_not_copied() -> None:
    assert take(TABLE, np.arange(8)) is TABLE
