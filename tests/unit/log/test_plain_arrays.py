"""Between numpy and Arrow without pandas."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.plain_arrays import (
    build_array,
    in_one_piece,
    read_flags,
    read_numbers,
    read_values,
    take_rows,
)

_KINDS = st.sampled_from([np.bool_, np.int8, np.int32, np.int64, np.float64])
_bits = st.lists(st.integers(0, 1), max_size=40)


@given(kind=_KINDS, values=_bits, mask=_bits)
def test_array_holds_the_values_and_the_nulls(
    kind: type[Any], values: list[int], mask: list[int]
) -> None:
    numbers = np.array(values, kind)
    hidden = np.array((mask + [0] * len(values))[: len(values)], np.bool_)
    plain, masked = build_array(numbers), build_array(numbers, hidden)
    for found, expected in ((plain, pa.array(numbers)), (masked, pa.array(numbers, mask=hidden))):
        found.validate(full=True)
        assert found.equals(expected)


@given(
    chunks=st.lists(st.lists(st.sampled_from(["a", "", None, "ab"]), max_size=5), max_size=5),
    places=st.lists(st.integers(0, 24), max_size=9),
)
def test_rows_are_taken_from_chunks_as_from_one_piece(
    chunks: list[list[str | None]], places: list[int]
) -> None:
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    known = [at for at in places if at < len(column)]
    found = take_rows(column, np.array(known, np.int64))
    assert found.to_pylist() == [column[at].as_py() for at in known]


@given(kind=_KINDS, chunks=st.lists(_bits, max_size=4), start=st.integers(0, 20))
def test_values_of_a_column_are_those_of_its_rows(
    kind: type[Any], chunks: list[list[int]], start: int
) -> None:
    data_type = pa.from_numpy_dtype(kind)
    arrays = [pa.array(np.array(chunk, kind), data_type).slice(start) for chunk in chunks]
    column = pa.chunked_array(arrays, data_type)
    for found in (read_values(column), read_values(in_one_piece(column))):
        assert found.dtype == kind
        assert found.tolist() == column.to_pylist()


def test_a_null_is_no_value() -> None:
    with pytest.raises(ValueError, match="null"):
        read_values(pa.chunked_array([pa.array([1]), pa.array([None], pa.int64())]))


@given(values=st.lists(st.none() | st.integers(0, 1), max_size=20), start=st.integers(0, 5))
def test_where_there_is_no_value_it_is_false_or_zero(values: list[int | None], start: int) -> None:
    expected = [value or 0 for value in values[start:]]
    numbers = pa.chunked_array([pa.array(values, pa.int32()).slice(start)])
    assert read_numbers(numbers).tolist() == expected
    assert read_numbers(numbers.cast(pa.int64()).cast(pa.timestamp("ms"))).tolist() == expected
    assert read_flags(numbers.cast(pa.bool_())).tolist() == [bool(value) for value in expected]


@pytest.mark.slow
def test_a_vacuum_is_planned_without_pandas(tmp_path: Any) -> None:
    code = """
import sys
from pathlib import Path
from tests.unit.maintenance.lake import Lake, planned, start, vacuum
lake = Lake(Path(sys.argv[1]))
start(lake, lake.add("live"), lake.add("old"))
lake.commit(1, [lake.remove("old", age_days=8)], age_days=8)
lake.file("x.parquet")
assert "pandas" not in sys.modules
assert list(planned(vacuum(lake))) == ["old", "x.parquet"]
assert "pandas" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=False, text=True, stderr=subprocess.PIPE
    )
    assert not done.returncode, done.stderr
