"""What others read in the demo table: the same files and rows as its writers put there.

Both peers read deletion vectors, mapped columns and in-commit timestamps, so no
version is left out. deltalake reads rows through its query engine alone: its
`to_pyarrow_table` refuses deletion vectors.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer.demo._shop_history import STORY
from tests.demo_story import Truth, read_commit, tell_truth, write_default

LATEST = len(STORY) - 1
UNREADABLE = 3


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_default(tmp_path_factory.mktemp("demo") / "orders")


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Truth]:
    return tell_truth(tmp_path_factory.mktemp("truth") / "orders")


@pytest.fixture(scope="module")
def telling_versions(truth: dict[int, Truth]) -> list[int]:
    """The first and the last version of each kind of operation: they use every feature."""
    last = {told.operation: version for version, told in truth.items()}
    first = {truth[version].operation: version for version in reversed(truth)}
    return sorted({*first.values(), *last.values(), LATEST} - {UNREADABLE})


def same_rows(found: pa.Table, expected: pa.Table) -> bool:
    return found.select(expected.column_names).cast(expected.schema).equals(expected)


def test_explorer_finds_the_files_and_rows_of_every_version(
    demo: Path, truth: dict[int, Truth]
) -> None:
    table = explorer.open_table(demo)
    for version, told in truth.items():
        snapshot = table.snapshot(version=version)
        assert sorted(snapshot.files(columns=["path"])["path"].to_pylist()) == told.paths
        assert snapshot.num_rows == told.rows.num_rows


def test_deltalake_finds_the_files_of_every_version(demo: Path, truth: dict[int, Truth]) -> None:
    peer = DeltaTable(demo)
    assert peer.version() == LATEST
    for version, told in truth.items():
        peer.load_as_version(version)
        paths = [unquote(uri).partition("/orders/")[2] for uri in peer.file_uris()]
        assert sorted(paths) == told.paths


def test_deltalake_reads_the_rows_of_telling_versions(
    demo: Path, truth: dict[int, Truth], telling_versions: list[int]
) -> None:
    peer = DeltaTable(demo)
    for version in telling_versions:
        peer.load_as_version(version)
        query = QueryBuilder().register("orders", peer)
        found = pa.table(query.execute("select * from orders order by order_id").read_all())
        assert same_rows(found, truth[version].rows), version


def test_deltalake_cannot_read_the_version_whose_file_was_vacuumed(demo: Path) -> None:
    peer = DeltaTable(demo, version=UNREADABLE)
    query = QueryBuilder().register("orders", peer)
    with pytest.raises(Exception, match=r"country=XX/.*\.parquet"):  # its errors have no type
        query.execute("select sum(order_id) from orders").read_all()


def read_version(spark: SparkSession, folder: Path, version: int) -> DataFrame:
    return spark.read.format("delta").option("versionAsOf", version).load(str(folder))


@pytest.mark.turns(one_in=3)
def test_delta_spark_reads_the_files_and_rows_of_telling_versions(
    spark: SparkSession, demo: Path, truth: dict[int, Truth]
) -> None:
    # a JVM takes seconds for each: rewritten files, mapped columns, no vectors, many vectors
    first = {truth[version].operation: version for version in reversed(truth)}
    last = {told.operation: version for version, told in truth.items()}
    for version in (first["UPDATE"], last["RENAME COLUMN"], last["OPTIMIZE"], LATEST):
        frame = read_version(spark, demo, version)
        paths = [unquote(uri).partition("/orders/")[2] for uri in frame.inputFiles()]
        assert sorted(paths) == truth[version].paths
        assert same_rows(frame.toArrow().sort_by("order_id"), truth[version].rows), version


@pytest.mark.turns(one_in=3)
def test_delta_spark_cannot_read_the_version_whose_file_was_vacuumed(
    spark: SparkSession, demo: Path
) -> None:
    with pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST"):
        read_version(spark, demo, UNREADABLE).agg({"order_id": "sum"}).collect()


@pytest.mark.turns(one_in=3)
def test_delta_spark_agrees_on_history_and_times(spark: SparkSession, demo: Path) -> None:
    theirs = spark.sql(f"describe history delta.`{demo}`").toArrow()
    ours = explorer.open_table(demo).history()
    for column in ("version", "operation"):
        assert theirs[column].to_pylist() == ours[column].to_pylist()
    times = theirs["timestamp"].cast(pa.timestamp("ms", "UTC")).to_pylist()
    assert times == ours["timestamp"].to_pylist()


@pytest.mark.rule("cdf-files-change-type-values", "cdf-writer-must-produce")
def test_delta_spark_reads_the_changes_of_vectors_and_of_change_files(
    spark: SparkSession, demo: Path, truth: dict[int, Truth]
) -> None:
    first, last = 29, 33
    kinds = {v: truth[v].operation for v in range(first, last + 1)}
    assert {"DELETE", "UPDATE", "WRITE"} <= set(kinds.values())
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", first)
        .option("endingVersion", last)
        .load(str(demo))
        .groupBy("_commit_version", "_change_type")
        .count()
        .collect()
    )
    expected: Counter[tuple[int, str]] = Counter()
    for version, kind in kinds.items():
        metrics = read_commit(demo, version)[0]["commitInfo"]["operationMetrics"]
        if kind == "DELETE":
            expected[version, "delete"] = int(metrics["numDeletedRows"])
        elif kind == "UPDATE":
            expected[version, "update_preimage"] = int(metrics["numUpdatedRows"])
            expected[version, "update_postimage"] = int(metrics["numUpdatedRows"])
        else:
            expected[version, "insert"] = int(metrics["numOutputRows"])
    assert {(row[0], row[1]): row[2] for row in feed} == expected


@pytest.mark.rule("checkpoint-complete-replay", "checkpoint-required-actions")
def test_peers_read_our_checkpoint_without_the_commits_it_covers(
    spark: SparkSession, demo: Path, truth: dict[int, Truth], tmp_path: Path
) -> None:
    copy = tmp_path / "orders"
    shutil.copytree(demo, copy)
    covered = DeltaTable(demo).version() // 10 * 10
    for commit in (copy / "_delta_log").glob("*.json"):
        if int(commit.stem) <= covered:
            commit.unlink()
    expected = truth[LATEST]
    total = sum(expected.rows["order_id"].to_pylist())
    query = QueryBuilder().register("orders", DeltaTable(copy))
    found = pa.table(query.execute("select sum(order_id) as total from orders").read_all())
    assert found["total"].to_pylist() == [total]
    frame = spark.read.format("delta").load(str(copy))
    assert frame.agg({"order_id": "sum"}).first()[0] == total
    assert len(frame.inputFiles()) == len(expected.paths)
