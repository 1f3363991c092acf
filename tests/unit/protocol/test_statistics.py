"""The statistics that a writer puts beside a file."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import CorruptLogError
from explorer.protocol.statistics import RunningStatistics, widen_statistics
from tests.file_statistics import build_statistics


def stats_of(**columns: pa.Array) -> dict:
    return orjson.loads(build_statistics(pa.table(columns)))


@pytest.mark.rule("stats-max-tight", "stats-min-tight", "stats-nullcount-tight", "stats-numrecords")
@pytest.mark.rule("stats-tight", "stats-tightbounds")
def test_counts_and_bounds_of_plain_columns() -> None:
    stats = stats_of(
        id=pa.array([3, None, 1], pa.int64()),
        name=pa.array(["b", "a", "ä"]),
        day=pa.array([date(2024, 1, 2), date(2024, 1, 1), None]),
    )
    assert stats == {
        "numRecords": 3,
        "minValues": {"id": 1, "name": "a", "day": "2024-01-01"},
        "maxValues": {"id": 3, "name": "ä", "day": "2024-01-02"},
        "nullCount": {"id": 1, "name": 0, "day": 1},
        "tightBounds": True,
    }


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [0.0], [-0.0]], ids=str)
def test_zeros_are_bounded_by_those_of_both_signs(zeros: list[float], kind: pa.DataType) -> None:
    text = build_statistics(pa.table({"x": pa.array(zeros, kind)}))
    assert '"minValues":{"x":-0.0},"maxValues":{"x":0.0}' in text


def test_column_of_nulls_has_a_count_and_no_bounds() -> None:
    stats = stats_of(id=pa.array([None, None], pa.int64()))
    assert stats["nullCount"] == {"id": 2}
    assert stats["minValues"] == stats["maxValues"] == {}


def test_empty_file_has_no_bounds() -> None:
    stats = stats_of(id=pa.array([], pa.int64()))
    assert (stats["numRecords"], stats["minValues"]) == (0, {})


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, None]),
        pa.array([b"x", None]),
        pa.array([[1], None]),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    ],
    ids=["boolean", "binary", "list", "map"],
)
def test_types_without_an_order_are_counted_only(column: pa.Array) -> None:
    stats = stats_of(c=column)
    assert stats["nullCount"] == {"c": 1}
    assert stats["minValues"] == stats["maxValues"] == {}


@pytest.mark.rule("stats-mirror-schema")
def test_null_struct_makes_its_fields_null() -> None:
    stats = stats_of(s=pa.array([{"x": 1, "t": {"y": "a"}}, None, {"x": None, "t": None}]))
    assert stats["nullCount"] == {"s": {"x": 2, "t": {"y": 2}}}
    assert stats["minValues"] == {"s": {"x": 1, "t": {"y": "a"}}}


def test_decimal_bounds_keep_every_digit() -> None:
    value = Decimal("99999999999999999999999999999999999.99")
    text = build_statistics(pa.table({"d": pa.array([value], pa.decimal128(38, 2))}))
    assert f'"maxValues":{{"d":{value}}}' in text


@pytest.mark.rule("stats-timestamp-bounds-milliseconds")
def test_timestamps_are_cut_to_milliseconds() -> None:
    time = datetime(2024, 1, 1, 1, 1, 1, 123999, tzinfo=UTC)
    stats = stats_of(
        zoned=pa.array([time], pa.timestamp("us", "UTC")),
        plain=pa.array([time.replace(tzinfo=None)], pa.timestamp("us")),
        fine=pa.array([1_704_070_861_123_999_999], pa.timestamp("ns")),
    )
    assert stats["maxValues"] == {
        "zoned": "2024-01-01T01:01:01.123Z",
        "plain": "2024-01-01T01:01:01.123",
        "fine": "2024-01-01T01:01:01.123",
    }


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_floats_that_json_cannot_say_leave_no_bounds(bad: float) -> None:
    assert stats_of(f=pa.array([1.0, bad]))["maxValues"] == {}


def test_the_largest_double_is_a_bound() -> None:
    largest = 1.7976931348623157e308
    assert stats_of(f=pa.array([largest, largest]))["maxValues"] == {"f": largest}


@pytest.mark.rule("stats-string-bounds-cut")
@given(st.lists(st.text(max_size=80), min_size=1, max_size=5))
def test_string_bounds_are_short_and_still_bounds(values: list[str]) -> None:
    values = [value.replace("\ud800", "") for value in values]
    stats = stats_of(s=pa.array(values, pa.string()))
    low, high = stats["minValues"]["s"], stats["maxValues"]["s"]
    assert len(low) <= 32
    assert low <= min(values)
    assert max(values) <= high
    assert len(high) <= 33 or "\U0010ffff" in max(values)


@pytest.mark.rule("stats-dv-numrecords", "stats-tightbounds")
def test_widening_keeps_the_physical_count_and_every_digit() -> None:
    stats = (
        '{"numRecords":3,"minValues":{"d":12345678901234567890.10},"maxValues":{"d":1e2},'
        '"nullCount":{"d":0},"tightBounds":true}'
    )
    assert widen_statistics(stats) == stats.replace("true", "false")


def test_widening_says_so_where_nothing_was_said() -> None:
    assert widen_statistics('{"numRecords":3}') == '{"numRecords":3,"tightBounds":false}'


@pytest.mark.rule("dv-add-needs-numrecords", "stats-dv-numrecords")
@pytest.mark.parametrize("stats", ["{", "[]", '{"minValues":{}}', "[" * 100_000])
def test_statistics_without_a_row_count_cannot_be_widened(stats: str) -> None:
    with pytest.raises(CorruptLogError, match="statistics"):
        widen_statistics(stats)


def test_file_that_is_written_in_pieces_has_the_statistics_of_the_whole() -> None:
    whole = pa.table(
        {
            "i": pa.array([3, None, 1, 2], pa.int64()),
            "s": ["b", "a" * 40, None, "z" * 40],
            "t": pa.array([5_000_999, -1, None, 7], pa.timestamp("us", "UTC")),
            "d": pa.array(
                [Decimal("1.5"), Decimal("-2.25"), None, Decimal(0)], pa.decimal128(9, 2)
            ),
            "n": [1.0, 2.0, float("nan"), 3.0],
            "inner": [{"x": 1}, None, {"x": None}, {"x": -5}],
        }
    )
    paths = [("i",), ("s",), ("t",), ("d",), ("n",), ("inner", "x")]
    running = RunningStatistics(paths)
    for start in range(4):
        running.add(whole.slice(start, 1))
    assert running.num_records == 4
    assert running.render() == build_statistics(whole)
    assert orjson.loads(running.render())["minValues"]["t"] == "1969-12-31T23:59:59.999Z"


def test_only_named_columns_are_counted_and_strings_are_cut_where_it_is_asked_for() -> None:
    table = pa.table({"a": ["abcdef"], "v": [{"metadata": b"", "value": b""}], "z": [1]})
    running = RunningStatistics([("a",), ("v",)], string_prefix=3)
    running.add(table)
    assert orjson.loads(running.render()) == {
        "numRecords": 1,
        "minValues": {"a": "abc"},
        "maxValues": {"a": "abc\U0010ffff"},
        "nullCount": {"a": 0, "v": 0},
        "tightBounds": True,
    }


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        (pa.timestamp("us"), 2**63 - 1, "+294247-01-10T04:00:54.775"),
        (pa.timestamp("us", "UTC"), 253_402_300_800_000_000, "+10000-01-01T00:00:00.000Z"),
        (pa.date32(), 2**31 - 1, "+5881580-07-11"),
    ],
    ids=str,
)
def test_times_beyond_the_year_9999_are_bounds_as_the_reference_writes_them(
    kind: pa.DataType, number: int, text: str
) -> None:
    storage = pa.int32() if pa.types.is_date(kind) else pa.int64()
    stats = stats_of(t=pa.array([0, number], storage).cast(kind))
    assert (stats["maxValues"], stats["nullCount"]) == ({"t": text}, {"t": 0})
