"""Data files with odd names and broken ones, and what a plan may show of a table."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, functions
from pyspark.sql.types import LongType, StructField, StructType

import explorer
from explorer import pipeline
from explorer.errors import (
    CorruptDataError,
    DeltaError,
    NotFoundError,
    UnsupportedError,
)
from explorer.pipeline.native.paths import native_paths
from explorer.pipeline.native.route import MOST_NATIVE_FILES, Route
from explorer.pipeline.tasks.file_tasks import run_groups
from explorer.pipeline.tasks.task_groups import group_files
from explorer.rows.layout import layout_of
from tests.change_feeds import hiding
from tests.data_tables import DataTable, array, field, struct
from tests.pipeline.rows import same_rows, set_to
from tests.tables import PROTOCOL, LogFolder, add, metadata

ROUTES: list[Route] = ["parquet", "files"]


def test_too_many_files_are_read_by_python(spark: SparkSession, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(
        0, [PROTOCOL, metadata(), *(add(f"{at}.parquet") for at in range(MOST_NATIVE_FILES + 1))]
    )
    snapshot = explorer.open_table(tmp_path / "t").snapshot()
    plan = pipeline.plan_read(snapshot, spark)
    assert (plan.route, plan.scan.num_kept) == ("files", MOST_NATIVE_FILES + 1)
    assert "2,001 files" in plan.reason


@pytest.mark.parametrize(
    "name", ["_a.parquet", ".a.parquet", "a:b.parquet", "a*.parquet", "ä.parquet"]
)
def test_names_that_spark_takes_otherwise_are_read_by_python(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t" / name)
    table.add(quote(name), None)
    snapshot = explorer.open_table(table.write()).snapshot()
    assert pipeline.plan_read(snapshot, spark).route == "files"
    same_rows(pipeline.read(snapshot, spark).toArrow(), explorer.read_rows(snapshot))


@pytest.mark.parametrize("kind", ["struct", "array"])
def test_fields_that_differ_by_case_alone_are_read_by_python(
    spark: SparkSession, kind: str, tmp_path: Path
) -> None:
    fields = struct(field("a", "double"), field("A", "long"))
    arrow = pa.struct([("a", pa.float64()), ("A", pa.int64())])
    value = {"a": 1.5, "A": 2}
    asked, held = (fields, pa.array([value], arrow))
    if kind == "array":
        asked, held = array(fields), pa.array([[value]], pa.list_(arrow))
    table = DataTable(tmp_path / "t", struct(field("s", asked)))
    table.add("a.parquet", pa.table({"s": held}))
    snapshot = explorer.open_table(table.write()).snapshot()
    plan = pipeline.plan_read(snapshot, spark)
    assert (plan.route, plan.reason) == ("files", "names of fields in `s` clash in Spark")
    same_rows(pipeline.read(snapshot, spark).toArrow(), explorer.read_rows(snapshot))


@pytest.mark.parametrize("name", ["a b", "a%b", "a=b@c", "q'$&+!~(x)", "s;t", "p#q"])
def test_odd_names_that_spark_takes_are_found_again(
    spark: SparkSession, name: str, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")), features=("deletionVectors",))
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t" / f"{name}.parquet")
    written = name.replace("%", "%25").replace(" ", "%20").replace("#", "%23")
    table.add(f"{written}.parquet", None, stats='{"numRecords":2}', **hiding(1))
    table.add("other.parquet", pa.table({"id": [3]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    found = pipeline.read(snapshot, spark, route="parquet").toArrow()
    assert sorted(found["id"].to_pylist()) == [1, 3]


def test_a_file_that_the_log_does_not_know_stops_the_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Whatever makes Spark read another file than it was given, no row of it comes back."""
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("folder", None)
    (tmp_path / "t" / "folder").mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t" / "folder" / "stray.parquet")
    snapshot = explorer.open_table(table.write()).snapshot()
    frame = pipeline.read(snapshot, spark, route="parquet")
    with (
        pytest.raises(CorruptDataError, match=r"stray\.parquet of version 0"),
        pipeline.clear_errors("Reading"),
    ):
        frame.collect()


def test_files_of_one_hash_stop_the_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are joined with their file by a hash of its name; the names decide."""
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2]}))
    table.add("b.parquet", pa.table({"id": [3, 4]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    monkeypatch.setattr(functions, "xxhash64", lambda _: functions.lit(7))
    frame = pipeline.read(snapshot, spark, route="parquet")
    with (
        pytest.raises(CorruptDataError, match=r"[ab]\.parquet of version 0"),
        pipeline.clear_errors("Reading"),
    ):
        frame.collect()


@pytest.mark.parametrize("route", ROUTES)
def test_a_file_with_more_rows_than_the_log_says_stops_the_job(
    spark: SparkSession, route: Route, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2, 3]}), stats='{"numRecords":2}')
    frame = pipeline.read(explorer.open_table(table.write()).snapshot(), spark, route=route)
    with (
        pytest.raises(CorruptDataError, match=r"a\.parquet of version 0"),
        pipeline.clear_errors("Reading"),
    ):
        frame.collect()


def test_a_file_with_fewer_rows_than_the_log_says_stops_the_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2, 3]}), stats='{"numRecords":4}')
    plan = pipeline.plan_read(explorer.open_table(table.write()).snapshot(), spark)
    # Spark's own reader would give three rows without a word
    assert (plan.route, plan.reason) == ("files", "a file has fewer rows than the log says")
    with (
        pytest.raises(CorruptDataError, match=r"a\.parquet of version 0"),
        pipeline.clear_errors("Reading"),
    ):
        plan.frame().collect()


@pytest.mark.parametrize("route", ROUTES)
def test_numbers_too_large_for_their_column_are_not_cut(
    spark: SparkSession, route: Route, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "byte")))
    table.add("a.parquet", pa.table({"id": pa.array([1, 300], pa.int32())}))
    frame = pipeline.read(explorer.open_table(table.write()).snapshot(), spark, route=route)
    with pytest.raises(CorruptDataError, match=r"a\.parquet"), pipeline.clear_errors("Reading"):
        frame.collect()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
def test_a_broken_file_is_one_clear_error_whatever_the_session_ignores(
    spark: SparkSession, route: Route, damage: str, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")))
    table.add("a.parquet", pa.table({"id": [1, 2, 3]}))
    place = table.add("b.parquet", pa.table({"id": [4]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    data = place.read_bytes()
    if damage == "missing":
        place.unlink()
    else:
        place.write_bytes(data[: len(data) // 2] if damage == "truncated" else b"")
    ignoring = {
        "spark__sql__files__ignoreMissingFiles": "true",
        "spark__sql__files__ignoreCorruptFiles": "true",
    }
    expected: type[DeltaError] = NotFoundError if damage == "missing" else CorruptDataError
    # a file without a byte is never given to Spark's reader, which would pass over it
    wanted = None if damage == "empty" else route
    with (
        set_to(spark, **ignoring),
        pytest.raises(expected, match=r"b\.parquet") as refusal,
        pipeline.clear_errors("Reading version 0"),
    ):
        pipeline.read(snapshot, spark, route=wanted).collect()
    assert "version 0" in str(refusal.value)


@pytest.mark.parametrize("route", ROUTES)
def test_a_vector_that_does_not_fit_its_file_is_an_error(
    spark: SparkSession, route: Route, tmp_path: Path
) -> None:
    table = DataTable(tmp_path / "t", struct(field("id", "long")), features=("deletionVectors",))
    table.add("a.parquet", pa.table({"id": [1, 2]}), stats='{"numRecords":2}', **hiding(5))
    snapshot = explorer.open_table(table.write()).snapshot()
    with pytest.raises(CorruptDataError, match=r"a\.parquet"), pipeline.clear_errors("Reading"):
        pipeline.read(snapshot, spark, route=route).collect()


def test_types_that_spark_does_not_have_are_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = DataTable(
        tmp_path / "t", struct(field("fine", "long"), field("when", "timestamp_nanos"))
    )
    table.add("a.parquet", pa.table({"fine": [1]}))
    snapshot = explorer.open_table(table.write()).snapshot()
    with pytest.raises(UnsupportedError, match="`when`"):
        pipeline.read(snapshot, spark)
    assert pipeline.read(snapshot, spark, columns=["fine"]).collect()[0][0] == 1


def test_paths_of_one_name_are_left_to_python(tmp_path: Path) -> None:
    files = pa.table(
        {"path": ["a/x.parquet", "b/x.parquet"], "size": [1, 1], "num_records": [None, None]}
    )
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    snapshot = explorer.open_table(log.root).snapshot()
    root, layout = f"file://{snapshot.uri}", layout_of(snapshot)
    assert native_paths(snapshot.store, files, root, layout) == "two files have one name"


def test_options_of_a_store_stay_out_of_plans(spark: SparkSession) -> None:
    secret = "open-sesame-" + os.urandom(4).hex()
    read = functools.partial(_read_nothing, secret)
    files = pa.table({"path": [secret], "size": [1]})
    schema = StructType([StructField("a", LongType())])
    frame = run_groups(spark, group_files(files, 1), read, schema)
    assert secret not in frame._jdf.queryExecution().toString()
    assert frame.collect() == []


def _read_nothing(secret: str, files: pa.Table) -> Iterator[pa.RecordBatch]:
    assert files["path"].to_pylist() == [secret]
    return iter(())
