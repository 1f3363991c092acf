"""What the footers of files that we write claim, and what they leave open."""

from __future__ import annotations

import io
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.parquet.writer import (
    ROWS_PER_GROUP,
    ParquetOutput,
    WriterSettings,
    bounded_leaves,
)

NAN = math.nan


def write(*tables: pa.Table, settings: WriterSettings | None = None) -> pq.ParquetFile:
    """One row group of each table."""
    held = io.BytesIO()
    with ParquetOutput(held, tables[0].schema, settings or WriterSettings()) as file:
        for table in tables:
            file.write(table)
    assert file.num_rows == sum(table.num_rows for table in tables)
    return pq.ParquetFile(io.BytesIO(held.getvalue()))


def chunks(file: pq.ParquetFile) -> list[pq.ColumnChunkMetaData]:
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    return [group.column(at) for group in groups for at in range(group.num_columns)]


def claimed(file: pq.ParquetFile) -> dict[str, tuple[Any, Any]]:
    """The bounds of each leaf that has some, by its path."""
    return {
        chunk.path_in_schema: (chunk.statistics.min, chunk.statistics.max)
        for chunk in chunks(file)
        if chunk.statistics is not None and chunk.statistics.has_min_max
    }


_FLOATS = {
    "double": pa.array([1.0, NAN]),
    "float": pa.array([1.0, NAN], pa.float32()),
    "half": pa.array([1.0, NAN], pa.float16()),
    "struct": pa.array([{"x": {"y": 1.0}}, {"x": {"y": NAN}}]),
    "list": pa.array([[1.0], [NAN]]),
    "fixed list": pa.array([[1.0], [NAN]], pa.list_(pa.float64(), 1)),
    "large list": pa.array([[1.0], [NAN]], pa.large_list(pa.float64())),
    "map": pa.array([[("k", 1.0)], [("k", NAN)]], pa.map_(pa.string(), pa.float64())),
    "deep": pa.array([[{"x": [1.0]}], [{"x": [NAN]}]]),
    "dictionary": pa.array([1.0, NAN]).dictionary_encode(),
}


@pytest.mark.parametrize("column", _FLOATS.values(), ids=_FLOATS.keys())
def test_no_floating_point_number_has_bounds_wherever_it_is_nested(column: pa.Array) -> None:
    file = write(pa.table({"f": column, "n": [1, 2]}))
    assert claimed(file) == {"n": (1, 2)}
    assert [chunk.statistics for chunk in chunks(file)[:-1]] == [None] * (len(chunks(file)) - 1)


def test_numbers_without_nan_have_none_either_because_nobody_knows_before_the_last_row() -> None:
    assert claimed(write(pa.table({"f": [1.0, 2.0]}), pa.table({"f": [1.0, NAN]}))) == {}


def test_infinite_numbers_and_zeros_of_both_signs_have_no_bounds() -> None:
    zeros = pa.table({"f": pa.array([-0.0, 0.0, math.inf, -math.inf])})
    file = write(zeros)
    assert claimed(file) == {}
    assert [math.copysign(1, value) for value in file.read()["f"].to_pylist()] == [-1, 1, 1, -1]


def test_no_time_of_96_bits_is_written() -> None:
    held = io.BytesIO()
    pq.write_table(
        pa.table({"t": pa.array([1], pa.timestamp("ns"))}),
        held,
        use_deprecated_int96_timestamps=True,
    )
    assert pq.ParquetFile(held).schema.column(0).physical_type == "INT96"
    # it is not written: what pyarrow makes of nanoseconds is a number of 64 bits
    file = write(pa.table({"t": pa.array([1], pa.timestamp("ns"))}))
    assert file.schema.column(0).physical_type == "INT64"


_ORDERED: dict[str, list[Any]] = {
    "boolean": [False, True],
    "integer": [-(2**63), 2**63 - 1],
    "text": ["", "a" * 40 + "é", "\uffff", "\U0001f600"],
    "bytes": [b"", b"\x00", b"\x7f", b"\x80", b"\xff\xff"],
    "decimal": [Decimal("-1.00"), Decimal("0.00"), Decimal("12345678901234567890.12")],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "time": [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
}


@pytest.mark.parametrize("values", _ORDERED.values(), ids=_ORDERED.keys())
def test_ordered_values_have_exact_bounds_in_structs_too(values: list[Any]) -> None:
    plain = pa.array([*values[::-1], None])
    table = pa.table({"v": plain, "s": pa.StructArray.from_arrays([plain], ["v"])})
    file = write(table, settings=WriterSettings(decimals_as_integers=True))
    assert claimed(file) == dict.fromkeys(["v", "s.v"], (values[0], values[-1]))
    assert {chunk.statistics.null_count for chunk in chunks(file)} == {1}


def test_a_text_too_long_for_a_footer_has_no_bound_rather_than_a_cut_one() -> None:
    assert claimed(write(pa.table({"v": ["a" * 5000, "b"]}))) == {}


def test_lists_and_maps_have_no_bounds() -> None:
    columns = {
        "l": pa.array([[1], [2]]),
        "m": pa.array([[(1, 2)], [(3, 4)]], pa.map_(pa.int64(), pa.int64())),
    }
    assert claimed(write(pa.table(columns))) == {}


def test_a_path_that_two_leaves_share_has_no_bounds_where_one_of_them_is_a_float() -> None:
    struct = pa.array([{"b": 1}, {"b": 2}])
    assert claimed(write(pa.table({"a.b": [1.0, NAN], "a": struct}))) == {}
    assert claimed(write(pa.table({"a.b": [3, 4], "a": struct}))) == {"a.b": (1, 2)}


def test_a_field_that_is_called_as_the_inside_of_a_list_is_told_apart() -> None:
    inner = pa.struct([("element", pa.int64())])
    table = pa.table({"l": pa.array([{"list": {"element": 1}}], pa.struct([("list", inner)]))})
    assert bounded_leaves(table.schema) == ["l.list.element"]


def test_what_bounds_help_nobody_has_none() -> None:
    settings = WriterSettings(unbounded=frozenset({"s.a"}))
    table = pa.table({"s": pa.array([{"a": "x", "b": "y"}])})
    assert claimed(write(table, settings=settings)) == {"s.b": ("y", "y")}


@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
def test_no_index_of_pages_and_no_bloom_filter_is_written(page_version: str) -> None:
    file = write(
        pa.table({"f": [1.0, NAN], "n": [1, 2]}), settings=WriterSettings(page_version=page_version)
    )
    assert not any(chunk.has_column_index or chunk.has_offset_index for chunk in chunks(file))


def test_a_file_has_row_groups_of_a_million_rows_at_most() -> None:
    file = write(pa.table({"n": pa.array(range(ROWS_PER_GROUP + 1), pa.int64())}))
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    assert [group.num_rows for group in groups] == [ROWS_PER_GROUP, 1]


def test_a_table_without_columns_is_a_file_without_columns() -> None:
    assert write(pa.table({})).read().column_names == []
