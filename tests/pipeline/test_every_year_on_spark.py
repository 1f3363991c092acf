"""Values of every year, and conditions that only Spark knows, on Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError
from explorer.pipeline.native.route import Route
from explorer.pipeline.tasks.change_tasks import ReadChanges, build_change_tasks
from explorer.rows.changes.feed import plan_feed
from explorer.rows.row_values import row_objects
from tests.change_feeds import Feed
from tests.data_tables import DataTable, field, struct
from tests.tables import add
from tests.unit.rows.test_every_year import KINDS, VALUES, table_of

_ROUTES: list[Route] = ["parquet", "files"]


@pytest.mark.parametrize("route", _ROUTES)
@pytest.mark.parametrize("kind", KINDS)
def test_partition_values_of_every_year_are_read_on_both_routes(
    spark: SparkSession, tmp_path: Path, kind: str, route: Route
) -> None:
    snapshot = explorer.open_table(table_of(tmp_path, kind)).snapshot()
    frame = pipeline.read(snapshot, spark, route=route)
    shown = {row["id"]: row["p"] for row in row_objects(frame.toArrow())}
    assert shown == dict(enumerate(VALUES[kind].values()))
    far = pipeline.read(snapshot, spark, where="p >= '+10000-01-01'", route=route)
    assert far.toArrow().column("id").to_pylist() == [2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_profile_of_a_column_has_values_of_every_year(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    snapshot = explorer.open_table(table_of(tmp_path, kind)).snapshot()
    (found,) = pipeline.profile(snapshot, ["p"], spark)
    assert str(found.maximum).startswith("+10000-01-01")
    assert found.distinct == 3


def test_the_profile_of_rows_has_values_of_every_year(spark: SparkSession, tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", struct(field("t", "timestamp"), field("d", "date")))
    days = pa.array([2_932_897, 0, None], pa.int32()).cast(pa.date32())
    times = pa.array([253_402_300_800_000_000, 0, None], pa.int64())
    table.add("a", pa.table({"t": times.cast(pa.timestamp("us", "UTC")), "d": days}))
    snapshot = explorer.open_table(table.write()).snapshot()
    for found in pipeline.profile(snapshot, spark=spark):
        assert str(found.maximum).startswith("+10000-01-01")
        assert (found.nulls, found.distinct) == (1, 2)
        assert len(found.top or ()) == 2


def test_what_spark_writes_for_every_year_is_read_by_us_and_by_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path / "t")
    values = "(1, date_from_unix_date(2932897)), (2, DATE '0000-12-31'), (3, DATE '2026-01-01')"
    frame = spark.sql(f"SELECT * FROM VALUES {values} AS t(id, d)")
    frame.write.format("delta").partitionBy("d").save(place)
    rows = explorer.read_rows(explorer.open_table(place).snapshot(), where="d > '9999-12-31'")
    assert rows.column("id").to_pylist() == [1]


def test_conditions_on_partition_values_are_evaluated_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = struct(field("id", "long"), field("p", "string"), field("at", "timestamp"))
    table = DataTable(tmp_path / "t", schema, partitionColumns=["p", "at"])
    for at, text in enumerate(["emea", "apac", None]):
        values = {"p": text, "at": "+10000-01-01T04:59:59.000000Z"}
        table.add(f"{at}", None, partitionValues=values)
    snapshot = explorer.open_table(table.write()).snapshot()
    where = "upper(substring(p, 1, 2)) = 'EM' AND year(at) > 9999"

    def evaluate(asked, rows, watch):
        return pipeline.evaluate_on_partitions(asked, rows, watch, spark)

    plan = explorer.plan_scan(snapshot, where, evaluate=evaluate)
    assert plan.kept.column("path").to_pylist() == ["0"]
    assert plan.problems == ()
    # an error of one row, and what is no condition at all
    broken = explorer.plan_scan(snapshot, "CAST(p AS INT) + 0 = 1", evaluate=evaluate)
    assert broken.num_kept == 3
    assert "Spark could not evaluate it" in broken.problems[0].reason
    with pytest.raises(InvalidArgumentError, match="is not a condition"):
        explorer.plan_scan(snapshot, "upper(p)", evaluate=evaluate)


def test_a_difference_of_rows_does_not_guess_what_an_unknown_type_of_change_means(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(tmp_path / "t")
    feed.file("_change_data/c", id=[3, 30], _change_type=["update_pre", "update_post"])
    feed.commit({"cdc": {"path": "_change_data/c", "dataChange": False}}, add("a", size=10**9))
    table = explorer.open_table(tmp_path / "t")
    frame = pipeline.read_changes(table, 1, spark=spark)
    assert {row["_change_type"] for row in frame.collect()} == {"update_pre", "update_post"}
    feed_plan = plan_feed(table, 1)
    tasks = build_change_tasks(iter([feed_plan.commit(1)]))
    read = ReadChanges(store=table.store, request=feed_plan.request, knows_types=True)
    with pytest.raises(DeltaError, match="update_post"):
        list(read(tasks))
    assert (
        pa.Table.from_batches(
            ReadChanges(store=table.store, request=feed_plan.request)(tasks)
        ).num_rows
        == 2
    )
