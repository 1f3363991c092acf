"""Statistics that we repair are those that delta-spark would have written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance
from tests.interop.maintained import rows_of
from tests.interop.twins import (
    agrees,
    done,
    sql,
)

pytestmark = pytest.mark.spark


def said_by_rows(place: Path) -> dict[tuple[int, ...], dict[str, Any]]:
    """The statistics of each file, by the ids of its first and last row and its number of
    rows, which tell files of the same rows apart."""
    found = {}
    for text in explorer.open_table(place).snapshot().files(["stats"])["stats"].to_pylist():
        said = json.loads(text)
        told = (said["minValues"]["id"], said["maxValues"]["id"], said["numRecords"])
        found[told] = {**said, "tightBounds": True}  # which may be left unsaid
    return found


def test_statistics_that_we_repair_are_those_that_the_reference_would_have_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    key = "spark.databricks.delta.stats.collect"
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for place, collects in ((ours, "false"), (theirs, "true")):
        sql(
            spark,
            place,
            "create table T (id long, name string, f double, d date, t timestamp, b boolean, "
            "m decimal(20,3), x binary, s struct<a: int, b: string>, l array<int>) using delta",
        )
        spark.conf.set(key, collects)
        try:
            sql(
                spark,
                place,
                "insert into T select id, "
                "case when id % 5 = 0 then null else concat(repeat('ä', 40), id) end, "
                "id / 7D, date_add(date '1969-12-20', cast(id as int)), "
                "timestamp_micros(id * 1234567 - 9000000), id % 2 = 0, cast(id as decimal(20,3)), "
                "cast('x' as binary), named_struct('a', cast(id as int), 'b', 'y'), array(1) "
                "from range(0, 400, 1, 40)",
            )
        finally:
            spark.conf.unset(key)
    table = explorer.open_table(ours)
    assert table.snapshot().num_rows is None
    rows = rows_of(ours)
    plan = maintenance.plan_repair(table, "statistics")
    assert plan.files.num_rows > 32  # more than are read without Spark
    done(plan, tmp_path, spark=spark)
    assert rows_of(ours) == rows
    agrees(spark, ours)
    found, wanted = said_by_rows(ours), said_by_rows(theirs)
    assert found[0, 9, 10] == wanted[0, 9, 10]
    assert found == wanted
    assert sql(spark, ours, "select * from T where id between 10 and 12").count() == 3
    assert maintenance.plan_repair(explorer.open_table(ours), "statistics").steps == ()
