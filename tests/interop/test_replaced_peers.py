"""A table that we replaced, as delta-spark goes on with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from explorer import pipeline
from tests.interop.twins import agrees, last_commit, sql

pytestmark = pytest.mark.spark


def test_the_reference_goes_on_with_a_table_that_we_replaced(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "table"
    sql(spark, place, "create table T (id long, day string) using delta partitioned by (day)")
    sql(spark, place, "insert into T values (1, 'a'), (2, 'b')")
    made = pipeline.create(
        place, "id BIGINT, note STRING COMMENT 'why'", cluster_by="id", replace=True
    )
    assert made.version == 2
    agrees(spark, place)
    sql(spark, place, "insert into T values (3, 'x')")
    sql(spark, place, "delete from T where id = 3")
    sql(spark, place, "insert into T values (4, 'y')")
    agrees(spark, place)
    old = sql(spark, place, "select id, day from T version as of 1").collect()
    assert sorted(map(tuple, old)) == [(1, "a"), (2, "b")]
    told = last_commit(place, 2)
    twin = tmp_path / "twin"
    sql(spark, twin, "create table T (id long) using delta")
    sql(
        spark,
        twin,
        "replace table T (id long, note string comment 'why') using delta cluster by (id)",
    )
    theirs = last_commit(twin)
    assert told["operation"] == f"CREATE OR {theirs['operation']}"
    assert told["operationParameters"].keys() == theirs["operationParameters"].keys()
