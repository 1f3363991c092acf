"""Partition values of years that Python's `datetime` does not have: rows, conditions, plans,
statistics, and what is shown of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.rows.python_values import python_values
from explorer.rows.row_values import row_objects
from tests.change_feeds import Feed, feed_metadata
from tests.data_tables import DataTable, field, struct
from tests.tables import add, remove

# kind, what the log has, what is shown of it, oldest first; the first three as Spark writes them
VALUES = {
    "timestamp": {
        "0000-12-31T04:56:02.000000Z": "0000-12-31T04:56:02.000000Z",
        "2026-01-01T05:00:00.000000Z": "2026-01-01T05:00:00.000000Z",
        "+10000-01-01T04:59:59.000000Z": "+10000-01-01T04:59:59.000000Z",
    },
    "date": {
        "0000-12-31": "0000-12-31",
        "2026-01-01": "2026-01-01",
        "+10000-01-01": "+10000-01-01",
    },
    "timestamp_ntz": {
        "-9999-12-31 23:59:59.999999": "-9999-12-31T23:59:59.999999",
        "0000-01-01 00:00:00": "0000-01-01T00:00:00.000000",
        "+10000-01-01 00:00:00": "+10000-01-01T00:00:00.000000",
    },
}
KINDS = list(VALUES)


def table_of(root: Path, kind: str) -> Path:
    """One file for each value, its `id` counting from 0."""
    features = ("timestampNtz",) if kind == "timestamp_ntz" else ()
    schema = struct(field("id", "long"), field("p", kind))
    table = DataTable(root / "t", schema, features=features, partitionColumns=["p"])
    for at, text in enumerate(VALUES[kind]):
        rows = pa.table({"id": pa.array([at], pa.int64())})
        stats = f'{{"numRecords":1,"minValues":{{"id":{at}}},"maxValues":{{"id":{at}}}}}'
        table.add(f"{at}.parquet", rows, partitionValues={"p": text}, stats=stats)
    return table.write()


@pytest.mark.rule("partition-date", "partition-timestamp")
@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_values_of_every_year_are_read_and_shown(tmp_path: Path, kind: str) -> None:
    rows = explorer.read_rows(explorer.open_table(table_of(tmp_path, kind)).snapshot())
    shown = {row["id"]: row["p"] for row in row_objects(rows)}
    assert shown == dict(enumerate(VALUES[kind].values()))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_years_without_a_sign_are_the_same(tmp_path: Path, kind: str) -> None:
    signed = [*VALUES[kind]][-1]
    old = signed.removeprefix("+").replace("T", " ").removesuffix("Z")
    features = ("timestampNtz",) if kind == "timestamp_ntz" else ()
    schema = struct(field("id", "long"), field("p", kind))
    table = DataTable(tmp_path / "t", schema, features=features, partitionColumns=["p"])
    for at, text in enumerate([old, signed]):
        rows = pa.table({"id": pa.array([at], pa.int64())})
        table.add(f"{at}.parquet", rows, partitionValues={"p": text})
    snapshot = explorer.open_table(table.write()).snapshot()
    one, other = (row["p"] for row in row_objects(explorer.read_rows(snapshot)))
    assert one == other == VALUES[kind][signed]
    assert explorer.read_rows(snapshot, where="p > '9999-12-31'").num_rows == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("p > '9999-12-31'", {2}),
        ("p >= '+10000-01-01'", {2}),
        ("p < '0001-01-01'", {0}),
        ("p <= '+20000-01-01' AND p > '-10000-01-01'", {0, 1, 2}),
    ],
)
def test_conditions_and_plans_know_every_year(
    tmp_path: Path, kind: str, where: str, ids: set[int]
) -> None:
    if kind == "timestamp_ntz" and "0001" in where:
        ids = {0, 1}
    snapshot = explorer.open_table(table_of(tmp_path, kind)).snapshot()
    rows = explorer.read_rows(snapshot, where=where)
    assert set(rows.column("id").to_pylist()) == ids
    plan = explorer.plan_scan(snapshot, where)
    assert plan.num_kept == len(ids)
    assert plan.problems == ()
    assert plan.reasons().num_rows == len(VALUES[kind])


def test_a_search_for_changed_rows_holds_rows_of_every_year_against_each_other(
    tmp_path: Path,
) -> None:
    schema = struct(field("id", "long"), field("p", "date"))
    feed = Feed(tmp_path / "t", feed_metadata(schema, partitionColumns=["p"]))
    feed.file("a", id=[1, 2])
    feed.file("b", id=[1, 3])
    far = {"partitionValues": {"p": "+10000-01-01"}}
    feed.commit(add("a", **far))
    feed.commit(remove("a", **far), add("b", **far))
    found = look.search_rows(explorer.open_table(tmp_path / "t"), "id > 0", from_version=2)
    told = {(row["_change_type"], row["id"]) for row in row_objects(found.rows)}
    assert told == {("delete", 2), ("insert", 3)}


def statistics(root: Path, kind: str, low: str, high: str) -> dict[str, Any]:
    features = ("timestampNtz",) if kind == "timestamp_ntz" else ()
    table = DataTable(root / "t", struct(field("t", kind)), features=features)
    stats = f'{{"numRecords":1,"minValues":{{"t":"{low}"}},"maxValues":{{"t":"{high}"}}}}'
    table.add("a.parquet", None, stats=stats)
    report = look.column_statistics(explorer.open_table(table.write()).snapshot())
    assert report.problems == ()
    return dict(report.columns.to_pylist()[0])


@pytest.mark.rule("stats-timestamp-bounds-milliseconds")
@pytest.mark.parametrize(
    ("kind", "low", "high", "least", "greatest"),
    [
        (
            "timestamp",
            "0001-01-01T00:00:00.000-07:52:58",
            "+294247-01-10T04:00:54.775Z",
            "0001-01-01 07:52:58.000000Z",
            "+294247-01-10 04:00:54.775000Z",
        ),
        (
            "timestamp_ntz",
            "-290308-12-21T19:59:05.224",
            "+10000-01-01T00:00:00.000",
            "-290308-12-21 19:59:05.224192",
            "+10000-01-01 00:00:00.000000",
        ),
        ("date", "-5877641-06-23", "+5881580-07-11", "-5877641-06-23", "+5881580-07-11"),
    ],
)
def test_times_that_the_reference_writes_into_statistics_are_bounds(  # a case
    tmp_path: Path, kind: str, low: str, high: str, least: str, greatest: str
) -> None:
    found = statistics(tmp_path, kind, low, high)
    assert (found["min"], found["max"]) == (least, greatest)


@pytest.mark.parametrize(
    ("where", "kept"),
    [("t < '0002-01-01'", 1), ("t > '9999-12-31'", 0), ("t = '0001-01-01 07:52:58'", 1)],
)
def test_a_plan_goes_by_offsets_with_seconds(tmp_path: Path, where: str, kept: int) -> None:
    table = DataTable(tmp_path / "t", struct(field("t", "timestamp")))
    time = "0001-01-01T00:00:00.000-07:52:58"
    stats = f'{{"numRecords":1,"minValues":{{"t":"{time}"}},"maxValues":{{"t":"{time}"}}}}'
    table.add("a.parquet", None, stats=stats)
    plan = explorer.plan_scan(explorer.open_table(table.write()).snapshot(), where)
    assert (plan.num_kept, plan.problems) == (kept, ())


def test_python_values_are_those_of_arrow_within_the_years_and_numbers_beyond() -> None:
    numbers = pa.array([0, 253_402_300_800_000_000, None], pa.int64())
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        first, beyond, nothing = python_values(numbers.cast(kind))
        assert first == numbers.cast(kind)[0].as_py()
        assert str(beyond).startswith("+10000-01-01 00:00:00")
        assert nothing is None
