"""What is asked of reading beside whole tables: columns, conditions, metadata, names of
files, and that nothing but the table decides about its rows."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import (
    InvalidArgumentError,
    UnsupportedError,
)
from explorer.pipeline.native import route as rule
from explorer.pipeline.native.route import Route
from explorer.table.snapshot import Snapshot
from tests.change_feeds import hiding
from tests.data_tables import DataTable, field, mapped, struct
from tests.pipeline.rows import same_rows, set_to

ROUTES: list[Route] = ["parquet", "files"]
_SCHEMA = struct(
    field("id", "long"),
    field("day", "date"),
    field("small", "short"),
    field("name", "string"),
    field("region", "string"),
)


def rows_of(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "day": [date(2024, 1, 1 + number % 28) for number in numbers],
            "small": pa.array([number % 100 for number in numbers], pa.int16()),
            "name": [None if number % 7 == 0 else f"n{number}" for number in numbers],
        }
    )


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Four files in two partitions; two of them have deletion vectors."""
    table = DataTable(
        tmp_path_factory.mktemp("orders") / "t",
        _SCHEMA,
        features=("deletionVectors",),
        partitionColumns=["region"],
    )
    hidden: list[tuple[int, ...]] = [(), (0, 63, 64, 99), (), tuple(range(100))]
    for at, positions in enumerate(hidden):
        region = "emea" if at < 2 else "a pac%"
        stats = {
            "numRecords": 100,
            "minValues": {"id": at * 100},
            "maxValues": {"id": at * 100 + 99},
        }
        extra: dict[str, Any] = hiding(*positions) if positions else {}
        table.add(
            f"region={region.replace('%', '%2525').replace(' ', '%20')}/part {at}.parquet".replace(
                "part ", "part%20"
            ),
            None,
            partitionValues={"region": region},
            stats=str(stats).replace("'", '"'),
            **extra,
        )
        folder = table.root / f"region={region.replace('%', '%25')}"
        folder.mkdir(exist_ok=True)
        pq.write_table(rows_of(at * 100, 100), folder / f"part {at}.parquet", row_group_size=30)
    return explorer.open_table(table.write()).snapshot()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"columns": ["name", "region"]},
        {"columns": []},
        {"columns": ["id"], "metadata_columns": ["_file_path", "_row_index"]},
        {"where": "id >= 150 and id < 250"},
        {"columns": ["id"], "where": "region = 'emea' and name is null"},
        {"columns": ["day"], "where": "day > '2024-01-20' or small in (1, 2, null)"},
        {"where": "name like 'n1%' and not (id <=> 101)"},
        {"where": "id > 1000"},
        {"where": "region is null or (small > 5) is false"},
    ],
    ids=str,
)
def test_rows_asked_for_are_those_of_the_engine(
    spark: SparkSession, orders: Snapshot, asked: dict[str, Any], route: Route
) -> None:
    plan = pipeline.plan_read(orders, spark, **asked, route=route)
    if plan.scan.num_kept:
        assert plan.route == route
    wanted = explorer.read_rows(orders, **asked)
    if not asked.get("columns", True):
        assert plan.frame().count() == wanted.num_rows == 296
        return
    same_rows(plan.frame().toArrow(), wanted)


@pytest.mark.parametrize("route", ROUTES)
def test_compiled_queries_give_the_same_rows_as_interpreted_ones(
    spark: SparkSession, orders: Snapshot, route: Route
) -> None:
    with set_to(
        spark, spark__sql__codegen__wholeStage="true", spark__sql__codegen__factoryMode="FALLBACK"
    ):
        same_rows(pipeline.read(orders, spark, route=route).toArrow(), explorer.read_rows(orders))


@pytest.mark.parametrize(
    "settings",
    [
        {"spark__sql__session__timeZone": "America/Los_Angeles"},
        {"spark__sql__ansi__enabled": "false"},
        {"spark__sql__caseSensitive": "true"},
        {
            "spark__sql__files__ignoreMissingFiles": "true",
            "spark__sql__files__ignoreCorruptFiles": "true",
        },
        {
            "spark__sql__parquet__datetimeRebaseModeInRead": "LEGACY",
            "spark__sql__parquet__int96RebaseModeInRead": "LEGACY",
        },
        {"spark__sql__parquet__enableVectorizedReader": "false"},
        {
            "spark__sql__parquet__mergeSchema": "true",
            "spark__sql__parquet__filterPushdown": "false",
        },
        {"spark__sql__execution__arrow__useLargeVarTypes": "true"},
    ],
    ids=lambda settings: next(iter(settings)).rpartition("__")[2],
)
def test_rows_do_not_depend_on_the_settings_of_the_session(
    spark: SparkSession, ancient: Snapshot, settings: dict[str, str]
) -> None:
    wanted = pipeline.read(ancient, spark, route="files").toArrow()
    same_rows(wanted, explorer.read_rows(ancient))
    with set_to(spark, **settings):
        before = dict(spark.conf.getAll)
        for route in ("files", None):
            found = pipeline.read(ancient, spark, where="at is not null", route=route).toArrow()
            same_rows(found.cast(wanted.schema), wanted)
        assert dict(spark.conf.getAll) == before


@pytest.fixture(scope="module")
def ancient(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Times and days from before calendars agreed, in both of Parquet's ways to write them,
    and a column whose name differs in case."""
    table = DataTable(
        tmp_path_factory.mktemp("ancient") / "t",
        struct(field("at", "timestamp"), field("day", "date"), field("Wide", "long")),
    )
    rows = pa.table(
        {
            "at": pa.array([-30_000_000_000_000_000, 0], pa.timestamp("us", "UTC")),
            "day": pa.array([-200_000, 1], pa.date32()),
            "wide": pa.array([1, 2], pa.int64()),
        }
    )
    table.add("a.parquet", rows)
    later = rows.set_column(0, "at", pa.array([0, 10**15], pa.timestamp("us", "UTC")))
    table.add("b.parquet", later, written={"use_deprecated_int96_timestamps": True})
    return explorer.open_table(table.write()).snapshot()


def test_the_route_is_shown_with_its_reason(
    spark: SparkSession, orders: Snapshot, ancient: Snapshot
) -> None:
    assert pipeline.plan_read(orders, spark).route == "parquet"
    assert "nothing speaks against" in pipeline.plan_read(orders, spark).reason
    with set_to(spark, spark__sql__caseSensitive="true"):
        plan = pipeline.plan_read(ancient, spark)
        assert plan.route == "files"
        assert "caseSensitive" in plan.reason
        with pytest.raises(UnsupportedError, match="caseSensitive"):
            pipeline.plan_read(ancient, spark, route="parquet")
    day_against_time = pipeline.plan_read(ancient, spark, where="day < at")
    assert "condition" in day_against_time.reason


def test_named_columns_of_files_with_deleted_rows_are_read_in_tasks(
    spark: SparkSession, orders: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pipeline.plan_read(orders, spark, columns=["id"])
    assert plan.route == "files"
    assert "rows are deleted" in plan.reason
    assert plan.frame().count() == orders.num_rows
    untouched = pipeline.plan_read(orders, spark, columns=["id"], where="id < 100")
    assert (untouched.scan.num_kept, untouched.route) == (1, "parquet")
    monkeypatch.setattr(rule, "MOST_WHOLE_BYTES", -1)  # as if the files were large
    assert pipeline.plan_read(orders, spark, columns=["id"]).route == "parquet"


def plan_text(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_later_selections_and_filters_reach_parquet(spark: SparkSession, orders: Snapshot) -> None:
    frame = pipeline.read(orders, spark, route="parquet").filter(fn.col("id") > 120).select("name")
    plan = plan_text(frame)
    assert "ReadSchema: struct<id:bigint,name:string," in plan
    assert "IsNotNull(id), GreaterThan(id,120)" in plan
    assert frame.count() == explorer.read_rows(orders, where="id > 120").num_rows


def test_conditions_given_to_read_reach_parquet_and_prune_files(
    spark: SparkSession, orders: Snapshot
) -> None:
    where = "region = 'emea' and id > 120 and name = 'n150'"
    plan = pipeline.plan_read(orders, spark, columns=["id"], where=where, route="parquet")
    assert plan.scan.num_kept == 1
    text = plan_text(plan.frame())
    assert "InMemoryFileIndex(1 paths)" in text
    assert "GreaterThan(id,120)" in text
    assert "EqualTo(name,n150)" in text


def test_the_session_is_left_as_it_was_found(spark: SparkSession, orders: Snapshot) -> None:
    before = dict(spark.conf.getAll)
    for route in ROUTES:
        pipeline.read(orders, spark, route=route).count()
    assert dict(spark.conf.getAll) == before


@pytest.mark.parametrize(
    "where",
    [
        "reflect('java.lang.System', 'getProperty', 'user.home') = 'x'",
        "java_method('java.lang.Math', 'abs', -1) = 1",
        "try_reflect('java.lang.System', 'exit') is null",
        "id in (select 1)",
        "exists (select 1)",
        "id = (select max(id) from t)",
        "rand() < 0.5",
        "uuid() = name",
        "current_timestamp() > '2024-01-01'",
        "input_file_name() = name",
        "my_function(id)",
        "id > 1; drop table t",
        "id + 1 = 2",
    ],
)
def test_expressions_that_no_engine_should_see_are_refused(orders: Snapshot, where: str) -> None:
    """Refused by the parser, before a session is even looked for."""
    with pytest.raises(InvalidArgumentError) as refusal:
        pipeline.plan_read(orders, "no session", where=where)
    assert "session" not in refusal.value.problem


def test_what_cannot_be_meant_is_refused_before_any_job(
    spark: SparkSession, orders: Snapshot
) -> None:
    with pytest.raises(InvalidArgumentError):
        pipeline.read(orders, spark, columns=["nothing"])
    with pytest.raises(InvalidArgumentError, match="not a Spark session"):
        pipeline.read(orders, "spark")


def test_mapped_columns_and_their_row_ids_are_read_natively(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = struct(mapped("new id", "long", "col-1", 1), mapped("p", "string", "col-2", 2))
    table = DataTable(
        tmp_path / "t",
        schema,
        features=("columnMapping", "rowTracking", "domainMetadata"),
        configuration={
            "delta.columnMapping.mode": "name",
            "delta.enableRowTracking": "true",
            "delta.rowTracking.materializedRowIdColumnName": "hidden-id",
        },
        partitionColumns=["p"],
    )
    rows = pa.table({"col-1": [1, 2], "hidden-id": pa.array([70, None], pa.int64())})
    fields: dict[str, Any] = {"baseRowId": 10, "defaultRowCommitVersion": 3}
    table.add("a.parquet", rows, partitionValues={"col-2": "x"}, **fields)
    table.add("b.parquet", pa.table({"col-1": [3]}), partitionValues={"col-2": None}, **fields)
    snapshot = explorer.open_table(table.write()).snapshot()
    extra = ["_row_id", "_row_commit_version"]
    found = pipeline.read(snapshot, spark, metadata_columns=extra, route="parquet").toArrow()
    same_rows(found, explorer.read_rows(snapshot, metadata_columns=extra))
    assert sorted(found["_row_id"].to_pylist()) == [10, 11, 70]
