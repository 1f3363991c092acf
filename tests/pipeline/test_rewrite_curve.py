"""The curve that rows are ordered by: every place once, and each step to a neighbour."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from explorer.pipeline.rewrite.curve import (
    RowOrder,
    curve_keys,
    measure_order,
    range_numbers,
)


@pytest.mark.parametrize(("columns", "bits"), [(2, 1), (2, 5), (3, 3), (4, 2), (6, 1)])
def test_curve_goes_through_every_place_once_and_never_jumps(columns: int, bits: int) -> None:
    grid = np.indices((1 << bits,) * columns).reshape(columns, -1).astype(np.int64)
    keys = curve_keys(list(grid), bits)
    assert sorted(keys) == list(range(1 << (bits * columns)))
    along = grid[:, np.argsort(keys)]
    assert set(np.abs(np.diff(along, axis=1)).sum(axis=0)) == {1}


def test_single_column_is_ordered_by_itself() -> None:
    numbers = np.array([3, 1, 2], np.int64)
    assert curve_keys([numbers], 10).tolist() == [3, 1, 2]


def test_ranges_follow_the_values_and_nulls_come_last() -> None:
    borders = pa.array(["b", "m", "x"])
    values = pa.array(["m", "a", None, "z", "b", "c"])
    found = range_numbers(values, borders, 10).tolist()
    order = sorted(range(len(values)), key=lambda at: (found[at], at))
    assert [values[at].as_py() for at in order] == ["a", "b", "c", "m", "z", None]
    assert found[4] == found[5]
    assert (min(found), max(found)) == (0, 1023)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, float("nan"), None, -0.0]),
        pa.array([b"\xff", b"", None, b"a"]),
        pa.array([None, None, None, None], pa.int64()),
        pa.array([1, 1, 1, 1], pa.int8()),
    ],
    ids=["floats", "bytes", "nulls", "one value"],
)
def test_any_values_have_keys(values: pa.Array) -> None:
    other = pa.array([4, 3, 2, 1])
    order = RowOrder(columns=(("a",), ("s", "b")))
    rows = pa.table({"a": values, "s": pa.StructArray.from_arrays([other], ["b"])})
    keys = measure_order(order, [values, other]).keys(rows)
    assert len(keys) == 4
    assert (keys >= 0).all()


def test_keys_of_many_columns_fit_into_64_bits() -> None:
    order = RowOrder(columns=tuple((f"c{at}",) for at in range(31)))
    rows = pa.table({f"c{at}": [at, 7, None] for at in range(31)})
    measured = measure_order(order, [rows.column(at).combine_chunks() for at in range(31)])
    assert (measured.keys(rows) >= 0).all()
