"""A data file that has no column in common with its table is told where a caller can see it, or
stops the job: its rows are never NULL without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import CorruptDataError
from explorer.pipeline.native.route import Route
from explorer.rows.unrelated_files import MOST_FOOTERS
from tests.change_feeds import Feed
from tests.data_tables import DataTable, field, struct
from tests.tables import PROTOCOL, LogFolder, add, metadata

TOLD = "no column in common with the table"
PLAIN = struct(field("id", "long"), field("name", "string"))
OWN = pa.table({"id": pa.array([1], pa.int64()), "NAME": ["a"]})
FOREIGN = pa.table({"x": pa.array([1, 2], pa.int64())})
CLAIMS = json.dumps({"numRecords": 2, "minValues": {"id": 1}, "nullCount": {"id": 0}})


def table_of(root: Path, **foreign: Any) -> explorer.Table:
    """A table with a file of its own, and one of another table, whose action has `foreign`."""
    table = DataTable(root, PLAIN)
    table.add("own.parquet", OWN)
    table.add("foreign.parquet", FOREIGN, **foreign)
    return explorer.open_table(table.write())


@pytest.mark.parametrize("route", ["parquet", "files"])
def test_rows_are_null_and_told_by_the_plan_and_the_snapshot(
    spark: SparkSession, tmp_path: Path, route: Route
) -> None:
    snapshot = table_of(tmp_path / "t").snapshot()
    plan = pipeline.plan_read(snapshot, spark, route=route)
    assert (plan.route, plan.unrelated) == (route, ("foreign.parquet",))
    assert [problem for problem in plan.problems if TOLD in problem.problem] == [
        problem for problem in snapshot.problems if "foreign.parquet" in problem.reason
    ]
    found = plan.frame().toArrow().sort_by("id").to_pylist()
    assert found == explorer.read_rows(snapshot).sort_by("id").to_pylist()
    assert len(snapshot.problems) == 1  # however often it is found


def test_nothing_is_told_of_a_sound_table_or_where_no_column_is_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "sound", PLAIN)
    table.add("own.parquet", OWN)
    sound = explorer.open_table(table.write()).snapshot()
    assert pipeline.plan_read(sound, spark).problems == ()
    snapshot = table_of(tmp_path / "t").snapshot()
    assert pipeline.read(snapshot, spark, columns=[]).count() == 3
    assert snapshot.problems == ()


def stops(read: Callable[[], Any]) -> None:
    with pytest.raises(CorruptDataError, match=TOLD) as caught, pipeline.clear_errors("Reading"):
        read()
    assert "All its rows would be NULL" in caught.value.reason
    assert "schema --files" in caught.value.remedy


def test_a_file_that_claims_columns_which_it_has_not_stops_the_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its statistics are another's: the plan reads no footer, the task does."""
    snapshot = table_of(tmp_path / "t", stats=CLAIMS, size=7).snapshot()
    plan = pipeline.plan_read(snapshot, spark)
    assert plan.unrelated == ()
    assert (plan.route, plan.reason) == ("files", f"a file has {TOLD}")  # its size tells
    stops(plan.frame().collect)


def test_more_files_than_footers_are_read_are_left_to_the_tasks(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "t")
    names = [f"{at}.parquet" for at in range(MOST_FOOTERS + 1)]
    log.commit(0, [PROTOCOL, metadata(), *map(add, names)])
    plan = pipeline.plan_read(explorer.open_table(tmp_path / "t").snapshot(), spark)
    assert plan.route == "files"
    assert plan.reason == "whether 1 file has a column of the table is not known"


def test_a_profile_counts_nulls_and_tells(spark: SparkSession, tmp_path: Path) -> None:
    snapshot = table_of(tmp_path / "t").snapshot()
    (found,) = pipeline.profile(snapshot, ["name"], spark)
    assert (found.rows, found.nulls) == (3, 2)
    assert [TOLD in problem.problem for problem in snapshot.problems] == [True]


def test_changes_and_the_data_source_stop_the_job(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed")
    feed.file("foreign", x=[1, 2])
    feed.commit(add("foreign"))
    table = explorer.open_table(feed.folder.root)
    stops(pipeline.read_changes(table, 0, spark=spark).collect)
    pipeline.register(spark)
    place = table_of(tmp_path / "t").uri
    stops(spark.read.format("delta_explorer").load(place).collect)
