"""Figures of columns against a model that looks at every row."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError
from explorer.pipeline.column_profile.facts import QUANTILES
from explorer.table.snapshot import Snapshot
from tests.change_feeds import hiding
from tests.data_tables import DataTable, array, field, map_of, struct

_NAN = float("nan")
_SCHEMA = struct(
    field("n", "integer"),
    field("x", "double"),
    field("s", "string"),
    field("d", "date"),
    field("at", "timestamp"),
    field("m", "decimal(10,2)"),
    field("b", "boolean"),
    field("l", array("long")),
    field("k", map_of("string", "long")),
    field("v", "void"),
    field("p", "string"),
)


def some_rows(start: int, count: int) -> pa.Table:
    numbers = list(range(start, start + count))
    odd = [_NAN, -0.0, 0.0, float("inf"), None]
    return pa.table(
        {
            "n": pa.array([None if n % 11 == 0 else n % 7 for n in numbers], pa.int32()),
            "x": pa.array([odd[n % 5] if n % 3 else n / 4 for n in numbers], pa.float64()),
            "s": [None if n % 13 == 0 else f"t{n % 9}" for n in numbers],
            "d": [date(2024, 1, 1 + n % 28) for n in numbers],
            "at": pa.array([n * 10**9 for n in numbers], pa.timestamp("us", "UTC")),
            "m": pa.array([Decimal(n % 50) / 4 for n in numbers], pa.decimal128(10, 2)),
            "b": [n % 4 == 0 for n in numbers],
            "l": pa.array([[n % 2] if n % 3 else None for n in numbers], pa.list_(pa.int64())),
            "k": pa.array([[("a", n % 2)] for n in numbers], pa.map_(pa.string(), pa.int64())),
        }
    )


def stats_of(rows: pa.Table) -> str:
    low, high = (min, max)
    numbers = [n for n in rows["n"].to_pylist() if n is not None]
    return (
        f'{{"numRecords":{rows.num_rows},"minValues":{{"n":{low(numbers)}}},'
        f'"maxValues":{{"n":{high(numbers)}}},"nullCount":{{"n":{rows["n"].null_count}}}}}'
    )


def made(root: Path, *, vectors: bool) -> Snapshot:
    table = DataTable(
        root / "t",
        _SCHEMA,
        features=("deletionVectors",) if vectors else (),
        partitionColumns=["p"],
    )
    for at, part in enumerate(["x", "x", "y", None]):
        rows = some_rows(at * 50, 50)
        hidden = hiding(*range(0, 50, 6)) if vectors and at % 2 else {}
        values = {"partitionValues": {"p": part}, "stats": stats_of(rows)}
        table.add(f"{at}.parquet", rows, **values, **hidden)
    return explorer.open_table(table.write()).snapshot()


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return made(tmp_path_factory.mktemp("profile"), vectors=True)


def key(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return repr(value) if isinstance(value, list) else value


def rank(value: Any) -> Any:
    return (1, 0.0) if value == "NaN" else (0, value)


def check(found: Any, values: list[Any], *, nested: bool = False) -> None:
    """All figures against the values themselves."""
    known = [key(value) for value in values if value is not None]
    assert found.rows == len(values)
    assert found.nulls == len(values) - len(known)
    assert found.distinct == len(set(known))
    if nested or not known:
        assert found.minimum is found.quantiles is found.top is None or not known
        return
    ordered = sorted(known, key=rank)
    assert (key(found.minimum), key(found.maximum)) == (ordered[0], ordered[-1])
    wanted = [ordered[max(1, math.ceil(part * len(ordered))) - 1] for part in QUANTILES]
    assert [key(value) for _, value in found.quantiles] == wanted
    frequent = sorted(Counter(known).items(), key=lambda pair: (-pair[1], rank(pair[0])))[:10]
    assert [(key(value), count) for value, count in found.top] == frequent
    if found.histogram is not None:
        numbers = [number for value in known if (number := as_number(value)) is not None]
        assert sum(item.count for item in found.histogram) == len(numbers)
        assert (found.histogram[0].low, found.histogram[-1].high) == (min(numbers), max(numbers))


def as_number(value: Any) -> float | None:
    match value:
        case datetime():
            return (value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6
        case date():
            return float((value - date(1970, 1, 1)).days)
        case int() | float() | Decimal():
            return float(value) if math.isfinite(value) else None
        case _:
            return None


def test_all_figures_equal_those_of_the_rows(spark: SparkSession, snapshot: Snapshot) -> None:
    found = pipeline.profile(snapshot, spark=spark)
    rows = explorer.read_rows(snapshot)
    assert [entry.column for entry in found] == rows.column_names
    for entry in found:
        check(entry, rows[entry.column].to_pylist(), nested=entry.column in "lk")
    histograms = {entry.column for entry in found if entry.histogram}
    assert histograms == {"n", "x", "d", "at", "m"}
    assert {entry.column for entry in found if entry.source == "log"} == {"p"}


def test_each_partition_has_figures_of_its_own(spark: SparkSession, snapshot: Snapshot) -> None:
    found = pipeline.profile(snapshot, ["n", "s"], spark, by_partition=True)
    assert len(found) == 2 * 3
    for entry in found:
        assert entry.partition is not None
        part = entry.partition["p"]
        rows = explorer.read_rows(snapshot, where="p is null" if part is None else f"p = '{part}'")
        check(entry, rows[entry.column].to_pylist())


def test_what_the_log_answers_needs_no_row_and_no_session(tmp_path: Path) -> None:
    snapshot = made(tmp_path, vectors=False)
    rows = explorer.read_rows(snapshot)
    for file in snapshot.files(["path"])["path"].to_pylist():
        (tmp_path / "t" / file).unlink()
    (entry,) = pipeline.profile(snapshot, ["n"], measures=["rows", "nulls", "extremes"])
    values = [value for value in rows["n"].to_pylist() if value is not None]
    assert (entry.source, entry.rows, entry.nulls) == ("log", 200, 200 - len(values))
    assert (entry.minimum, entry.maximum, entry.distinct) == (min(values), max(values), None)
    (inside,) = pipeline.profile(snapshot, ["p"])
    check(inside, rows["p"].to_pylist())
    assert inside.source == "log"
    assert [entry.rows for entry in pipeline.profile(snapshot, measures=["rows"])] == [200] * 11


def test_statistics_of_hidden_rows_are_not_believed(
    spark: SparkSession, snapshot: Snapshot
) -> None:
    (entry,) = pipeline.profile(snapshot, ["n"], spark, measures=["nulls", "extremes"])
    assert entry.source == "rows"
    assert entry.nulls == explorer.read_rows(snapshot)["n"].null_count


def test_an_empty_table_has_figures_too(spark: SparkSession, tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", struct(field("n", "long"), field("l", array("long"))))
    snapshot = explorer.open_table(table.write()).snapshot()
    for entry in pipeline.profile(snapshot, spark=spark):
        assert (entry.rows, entry.nulls, entry.distinct, entry.minimum) == (0, 0, 0, None)


@pytest.mark.parametrize(
    "asked",
    [
        {"columns": ["nothing"]},
        {"measures": ["mode"]},
        {"measures": []},
        {"bins": 0},
        {"top": True},
        {"columns": ["p"], "by_partition": True},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(snapshot: Snapshot, asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        pipeline.profile(snapshot, **asked)
