"""Rows that Spark's own writer writes, held against those that tasks of Python write."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import (
    CancelledError,
    CorruptDataError,
    DeltaError,
    InvalidArgumentError,
    StorageError,
)
from explorer.maintenance import Approval, execute, plan_vacuum
from explorer.pipeline.writing import _native_write, _spark_write
from explorer.progress import Cancel, Progress
from explorer.storage.local_staging import LocalStaging
from tests.unit.maintenance.lake import DAY_MS, planned

pytestmark = pytest.mark.spark

PLAIN = (
    "id",
    "if(id % 5 = 4, null, cast(-id as byte)) as b",
    "cast(id - 4000 as short) as sh",
    "cast(if(id = 0, -2147483648, id) as int) as i",
    "if(id = 1, cast('NaN' as float), cast(id as float)) as f",
    "if(id = 0, cast('-0.0' as double), cast(id * 0.5 as double)) as d",
    "cast('-0.0' as double) as zero",
    "if(id = 3, double('Infinity'), 1D) as endless",
    "cast('99999999999999999999999999999999999999' as decimal(38, 0)) as wide",
    "cast(-id / 1000 as decimal(7, 3)) as narrow",
    "cast(id - 2 as decimal(18, 1)) as middle",
    "id = 1 as flag",
    "cast('x' as binary) as bytes",
    r"concat('ä\\0', id) as text",
    "repeat(concat(id, '€'), 2000) as long",
    "if(id < 0, 'x', null) as nothing",
    "date'-0044-03-15' as early",
    "if(id = 2, date'+200000-01-01', date'1582-10-10') as late",
    "timestamp'+200000-01-01 00:00:00.000001Z' as far",
    "timestamp_micros(-62135596800000000 + id) as first",
    "timestamp_ntz'1500-02-28 00:00:00.123456' as wall",
)


def by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_spark_write, "why_not_written", lambda *_: "a test asks for it")


def adds_of(place: Path) -> list[dict[str, Any]]:
    texts = [path.read_bytes() for path in sorted((place / "_delta_log").glob("*.json"))]
    lines = (orjson.loads(line) for text in texts for line in text.splitlines())
    return [line["add"] for line in lines if "add" in line]


def told(place: Path) -> list[Any]:
    """Partition and statistics of each file; where bounds lack, a reader has to look."""
    found = [(add["partitionValues"], orjson.loads(add["stats"])) for add in adds_of(place)]
    return sorted(found, key=str)


def writers(place: Path) -> set[str]:
    """Who wrote the data files that are there, each by its first word."""
    return {str(pq.read_metadata(path).created_by).split()[0] for path in data_files(place)}


def data_files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*.parquet") if "_delta_log" not in path.parts]


def everything(place: Path) -> set[str]:
    found = (path.relative_to(place) for path in place.rglob("*") if path.is_file())
    return {str(path) for path in found if "_delta_log" not in path.parts}


def rows_of(spark: SparkSession, place: Path) -> list[str]:
    return shown(spark.read.format("delta").load(str(place)))


def shown(frame: DataFrame) -> list[str]:
    texts = (f"cast(`{name}` as string)" for name in frame.columns)
    return sorted(map(str, frame.selectExpr(*texts).collect()))


OF_SPARK, OF_ARROW = "parquet-mr", "parquet-cpp-arrow"


def test_plain_rows_and_their_statistics_are_those_that_python_writes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    frame = spark.range(0, 20, 1, 2).selectExpr(*PLAIN)
    mine = {
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.datetimeRebaseModeInWrite": "EXCEPTION",
        "spark.sql.parquet.writeLegacyFormat": "true",
    }
    for name, value in mine.items():
        spark.conf.set(name, value)
    try:
        result = pipeline.write(frame, one)
        assert {name: spark.conf.get(name) for name in mine} == mine
    finally:
        for name in mine:
            spark.conf.unset(name)
    assert (result.metrics["numFiles"], result.metrics["numOutputRows"]) == (2, 20)
    assert writers(one) == {OF_SPARK}
    by_python(monkeypatch)
    pipeline.write(frame, other)
    assert writers(other) == {OF_ARROW}
    assert rows_of(spark, one) == rows_of(spark, other) == shown(frame)
    assert told(one) == told(other)
    theirs = spark.read.format("delta").load(str(one))
    assert theirs.filter("f > 1e30").count() == 1
    ours = explorer.read_rows(explorer.open_table(one).snapshot(), ["id", "far", "first", "early"])
    assert ours.num_rows == 20
    assert everything(one) == {add["path"] for add in adds_of(one)}
    footer = pq.read_metadata(data_files(one)[0])
    assert [footer.row_group(0).column(at).is_stats_set for at in (0, 4, 5)] == [True, False, False]
    types = [pq.read_schema(data_files(place)[0]).types for place in (one, other)]
    assert types[0] == types[1]


ODD = ["a b", "x/y=z", "ü%41", "", None, "null", "..", "_h", "#{}[]", "'\"\\", "A", "a", "\x00"]


@pytest.mark.parametrize("most", [None, 3, 0], ids=["all open", "some sorted", "all sorted"])
def test_partitions_of_every_kind_hold_their_rows_in_one_file_of_each_task(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    frame = spark.createDataFrame(
        [(number, ODD[number % len(ODD)], number % 2 == 0) for number in range(104)],
        "id long, s string, f boolean",
    )
    frame = frame.selectExpr(
        "*",
        "if(id % 3 = 0, null, if(id % 3 = 1, date'+200000-01-01', date'-0044-03-15')) as d",
        "cast(-id % 2 as byte) as b",
    )
    if most is not None:
        monkeypatch.setattr(_native_write, "_MOST_OPEN", most)
        monkeypatch.setattr(_native_write, "_LEAST_OPEN", 1)
    keys = frame.selectExpr("spark_partition_id()", "nullif(s, '')", "f", "d", "b").distinct()
    result = pipeline.write(frame, one, partition_by=["s", "f", "d", "b"])
    assert writers(one) == {OF_SPARK}
    assert result.metrics["numFiles"] == keys.count()
    by_python(monkeypatch)
    pipeline.write(frame, other, partition_by=["s", "f", "d", "b"])
    assert rows_of(spark, one) == rows_of(spark, other)
    assert told(one) == told(other)
    folders = [{path.rpartition("/")[0] for path in everything(place)} for place in (one, other)]
    assert folders[0] == folders[1]


def test_more_partitions_than_are_open_are_known_and_dynamic_overwrite_takes_theirs(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 120, 1, 2).selectExpr("id", "id % 40 as p")
    for _ in range(2):
        assert pipeline.write(frame, place, partition_by="p").metrics["numFiles"] == 80
    part = frame.filter("p = 7").limit(1)
    pipeline.write(part, place, mode="overwrite", partition_overwrite="dynamic")
    assert writers(place) == {OF_SPARK}
    assert spark.read.format("delta").load(str(place)).filter("p = 7").count() == 1


def test_a_text_too_long_for_a_folder_is_written_by_python(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 40, 1, 2).selectExpr("id", "repeat('ab', int(id) * 4) as s")
    result = pipeline.write(frame, place, partition_by="s")
    assert result.metrics["numOutputRows"] == 40
    assert writers(place) == {OF_ARROW}
    assert everything(place) == {unquote(add["path"]) for add in adds_of(place)}
    assert rows_of(spark, place) == shown(frame.selectExpr("id", "nullif(s, '') as s"))


def test_a_row_that_breaks_a_rule_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "t"
    pipeline.create(
        place,
        "id BIGINT NOT NULL, day INT, name VARCHAR(3)",
        partition_by="day",
        properties={"delta.constraints.few": "id < 399000"},
    )
    frame = spark.range(0, 400_000, 1, 2).selectExpr(
        "id", "cast(id % 3 as int) as day", "'abc' as name"
    )
    for broken, rule in (
        (frame, "few"),
        (frame.selectExpr("nullif(id, 250000) as id", "day", "name"), "NULL"),
        (frame.selectExpr("id % 10 as id", "day", "if(id = 5, 'long', 'ab') as name"), "varchar"),
    ):
        with pytest.raises(InvalidArgumentError) as refused:
            pipeline.write(broken, place)
        assert refused.value.kind == "rows_refused"
        assert rule.lower() in str(refused.value).lower()
        assert everything(place) == set()
    assert explorer.open_table(place).latest_version() == 0
    pipeline.write(frame.filter("id < 1000"), place)
    assert writers(place) == {OF_SPARK}


def test_what_spark_would_write_in_another_way_is_written_by_python(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(0, 4, 1, 1)
    mapped = {"delta.columnMapping.mode": "name"}
    cases = {
        "nested": (rows.selectExpr("id", "array(id) as list"), {}, ()),
        "mapped": (rows, mapped, ()),
        "at": (rows.selectExpr("id", "timestamp'2020-01-01' as at"), {}, ("at",)),
    }
    for name, (frame, properties, partitions) in cases.items():
        place = tmp_path / name
        pipeline.write(frame, place, properties=properties, partition_by=partitions)
        assert writers(place) == {OF_ARROW}, name
        assert rows_of(spark, place) == shown(frame), name


def test_what_a_killed_driver_leaves_goes_with_a_vacuum_and_nothing_at_work_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, killed, cancel = tmp_path / "t", tmp_path / "killed", Cancel()
    pipeline.write(spark.range(0, 3, 1, 1), place)

    def look(report: Progress) -> None:
        if report.done and not killed.exists():  # one task has ended, and one is at work
            shutil.copytree(place, killed)
            cancel.cancel()

    slow = spark.range(0, 4, 1, 2).mapInArrow(_slow_at_last, "id long")
    with pytest.raises(CancelledError):
        pipeline.write(slow, place, progress=look, cancel=cancel)
    assert everything(place) == {add["path"] for add in adds_of(place)}
    left = everything(killed) - everything(place)
    assert left
    assert all(path.startswith("rows-") and "/_temporary/" in path for path in left)
    assert all(path.endswith(".parquet") for path in left)
    now_ms = time.time_ns() // 1_000_000
    table, state = explorer.open_table(killed), tmp_path / "state"
    plan = plan_vacuum(table, clock=lambda: now_ms + DAY_MS, state_dir=state)
    assert planned(plan) == {}
    plan = plan_vacuum(table, clock=lambda: now_ms + 8 * DAY_MS, state_dir=state)
    assert set(planned(plan)) == left
    done = execute(plan, Approval(plan.digest), clock=lambda: now_ms + 8 * DAY_MS, state_dir=state)
    assert done.status == "completed", done.problem
    assert everything(killed) == everything(place)


def _slow_at_last(batches: Any) -> Any:
    for batch in batches:
        yield batch
        if batch.column(0)[0].as_py() >= 2:
            time.sleep(2)
            yield batch


@pytest.mark.parametrize("fault", ["cancelled", "footer", "disk"])
def test_what_fails_after_the_job_leaves_no_file_and_no_version(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    place, cancel = tmp_path / "t", Cancel()
    frame = spark.range(0, 40, 1, 2).selectExpr("id", "id % 5 as p")
    pipeline.write(frame, place, partition_by="p")
    before, calls = everything(place), itertools.count()
    read, rename = _native_write.footer_statistics, os.rename

    def reading(*given: Any, **named: Any) -> Any:
        if next(calls) == 3:
            if fault == "footer":
                raise CorruptDataError("broken", reason="broken", remedy="none", spec="Data Files")
            cancel.cancel()
        return read(*given, **named)

    def renaming(*given: Any) -> None:
        if next(calls) == 3:  # half of the files have their names
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(*given)

    if fault == "disk":
        monkeypatch.setattr(os, "rename", renaming)
    else:
        monkeypatch.setattr(_native_write, "footer_statistics", reading)
    with pytest.raises(DeltaError) as failed:
        pipeline.write(frame, place, cancel=cancel)
    assert isinstance(failed.value, CancelledError) is (fault == "cancelled")
    assert everything(place) == before
    assert not any(path.name.startswith("rows-") for path in place.iterdir())
    assert explorer.open_table(place).latest_version() == 0


def test_a_small_heap_for_many_tasks_leaves_the_rows_to_python(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native_write, "parallelism", lambda _: 64)
    pipeline.write(spark.range(0, 4, 1, 1), tmp_path / "t")
    assert writers(tmp_path / "t") == {OF_ARROW}


def test_a_frame_without_rows_leaves_no_file(spark: SparkSession, tmp_path: Path) -> None:
    for partitions in ((), ("p",)):
        place = tmp_path / f"t{len(partitions)}"
        frame = spark.range(0, 9, 1, 3).selectExpr("id", "id % 2 as p").filter("id < 0")
        pipeline.write(frame, place, partition_by=partitions)
        assert everything(place) == set()
        assert [path.name for path in place.iterdir()] == ["_delta_log"]


def test_who_observes_the_rows_is_told(spark: SparkSession, tmp_path: Path) -> None:
    observation = Observation("rows")
    frame = spark.range(0, 40, 1, 2).observe(observation, fn.count(fn.lit(1)).alias("n"))
    pipeline.write(frame, tmp_path / "t")
    assert observation.get == {"n": 40}  # else it waits for good
    assert writers(tmp_path / "t") == {OF_ARROW}


def test_files_that_somebody_removes_before_they_have_their_names_are_missed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "t"
    frame = spark.range(0, 40, 1, 2)
    pipeline.write(frame, place)
    real = LocalStaging.paths
    monkeypatch.setattr(LocalStaging, "paths", lambda staging: real(staging)[1:])
    with pytest.raises(StorageError, match="Rows are missing") as error:
        pipeline.write(frame, place)
    assert "40 rows" in str(error.value)
    assert explorer.open_table(place).latest_version() == 0
    assert everything(place) == {add["path"] for add in adds_of(place)}
