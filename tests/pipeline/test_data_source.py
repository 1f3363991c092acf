"""The format `delta_explorer`, tables by the name of the catalog, and the package shipped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError, NotFoundError, UnsupportedError
from tests.change_feeds import Feed, hiding
from tests.pipeline.rows import same_rows
from tests.tables import add, remove


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Version 1 adds a file, 2 hides a row of it."""
    feed = Feed(tmp_path_factory.mktemp("source") / "t")
    feed.file("a", id=[1, 2, 3])
    feed.commit(add("a"))
    feed.commit(remove("a"), add("a", **hiding(1)))
    return explorer.open_table(feed.folder.root)


def load(spark: SparkSession, table: explorer.Table, **options: str) -> pa.Table:
    pipeline.register(spark)
    reader = spark.read.format("delta_explorer").options(**options)
    return reader.load(table.uri).toArrow()


def test_the_format_reads_the_latest_and_earlier_versions(
    spark: SparkSession, table: explorer.Table
) -> None:
    same_rows(load(spark, table), explorer.read_rows(table.snapshot()))
    first = load(spark, table, versionAsOf="1")
    assert sorted(first["id"].to_pylist()) == [1, 2, 3]
    committed = table.snapshot().timestamp
    assert committed is not None
    latest = load(spark, table, timestampAsOf=committed.isoformat())
    assert sorted(latest["id"].to_pylist()) == [1, 3]


def test_the_format_reads_the_change_feed(spark: SparkSession, table: explorer.Table) -> None:
    found = load(spark, table, readChangeFeed="true", startingVersion="2")
    assert found.drop_columns(["_commit_timestamp"]).to_pylist() == [
        {"id": 2, "_change_type": "delete", "_commit_version": 2}
    ]


def test_the_schema_of_the_format_takes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.commit(add("never-written"))
    pipeline.register(spark)
    frame = spark.read.format("delta_explorer").load(str(feed.folder.root))
    assert frame.dtypes == [("id", "bigint")]


def test_errors_of_the_format_are_ours(spark: SparkSession, tmp_path: Path) -> None:
    pipeline.register(spark)
    reader = spark.read.format("delta_explorer")
    with pytest.raises(NotFoundError, match="no table"), pipeline.clear_errors("Reading"):
        reader.load(str(tmp_path / "nowhere"))


def test_a_name_of_the_catalog_leads_to_its_table(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "ürders"
    # a column of the name by which the catalog tells the place
    spark.sql(
        f"create table orders_by_name (id long, Location string) using delta location '{place}'"
    )
    try:
        for name in ("orders_by_name", "default.orders_by_name", "`default`.`orders_by_name`"):
            found = explorer.open_table(name, spark=spark)
            assert (found.uri, found.latest_version()) == (str(place), 0)
    finally:
        spark.sql("drop table orders_by_name")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("no_such_table", NotFoundError),
        ("no_such.table_of_it", NotFoundError),
        ("", InvalidArgumentError),
        ("a..b", InvalidArgumentError),
        ("t; drop table t", InvalidArgumentError),
    ],
)
def test_names_that_lead_nowhere_are_refused(
    spark: SparkSession, name: str, error: type[explorer.DeltaError]
) -> None:
    with pytest.raises(error):
        explorer.open_table(name, spark=spark)


def test_other_tables_of_the_catalog_are_refused(spark: SparkSession) -> None:
    spark.sql("create table plain_parquet (a int, Location string) using parquet")
    try:
        with pytest.raises(UnsupportedError, match="not a Delta table"):
            explorer.open_table("plain_parquet", spark=spark)
    finally:
        spark.sql("drop table plain_parquet")
