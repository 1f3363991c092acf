"""Dates and times that Spark wrote by its former calendar are the ones that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from tests.interop.twins import done, sql

pytestmark = pytest.mark.spark

_MODES = "spark.sql.parquet.datetimeRebaseModeInWrite", "spark.sql.parquet.int96RebaseModeInWrite"
_KIND = "spark.sql.parquet.outputTimestampType"


@pytest.fixture(params=["TIMESTAMP_MICROS", "INT96"])
def legacy(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """A session that writes as Spark 2 did, in this type of times."""
    for mode in _MODES:
        spark.conf.set(mode, "LEGACY")
    spark.conf.set(_KIND, request.param)
    yield spark
    for name in (*_MODES, _KIND):
        spark.conf.unset(name)


def _shown(spark: SparkSession, place: Path) -> list[tuple[str, str]]:
    rows = spark.read.format("delta").load(str(place)).selectExpr("string(d)", "string(t)")
    return sorted(tuple(row) for row in rows.collect())


def test_a_rewrite_and_statistics_keep_the_dates_that_spark_wrote(
    legacy: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "old"
    sql(legacy, place, "create table T (d date, t timestamp) using delta")
    for year in ("0004", "1000", "1500", "1582", "1900", "2020"):
        sql(
            legacy, place, f"insert into T select date'{year}-02-28', timestamp'{year}-02-28 01:02'"
        )
    before = _shown(legacy, place)
    ours = explorer.read_rows(explorer.open_table(place).snapshot())
    read = [f"{day.year:04}-{day.month:02}-{day.day:02}" for day in ours["d"].to_pylist()]
    assert sorted(read) == [day for day, _ in before]
    done(maintenance.plan_optimize(explorer.open_table(place)), tmp_path / "scratch")
    assert explorer.open_table(place).snapshot().num_files == 1
    assert _shown(legacy, place) == before
    found = legacy.read.format("delta").load(str(place)).filter("d <= date'1000-02-28'")
    assert found.count() == 2, "whose file is not skipped"
