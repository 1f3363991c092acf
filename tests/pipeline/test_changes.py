"""The change data feed as a DataFrame, equal to that of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError, UnsupportedError
from tests.change_feeds import Feed, feed_metadata, hiding
from tests.corpus import READABLE, place_table, table_name
from tests.data_tables import field, struct
from tests.pipeline.rows import same_rows
from tests.tables import add, remove

_FED = [table for table in READABLE if table.get("change_feed")]
_TIME = "_commit_timestamp"


def as_spark_has_it(changes: pa.Table) -> pa.Table:
    at = changes.column_names.index(_TIME)
    return changes.set_column(at, _TIME, changes[_TIME].cast(pa.timestamp("us", "UTC")))


@pytest.mark.parametrize("expected", _FED, ids=table_name)
def test_changes_equal_those_of_the_engine(
    spark: SparkSession, expected: dict[str, Any], tmp_path: Path
) -> None:
    table = explorer.open_table(place_table(expected, tmp_path))
    first, last = (expected["change_feed"][side] for side in ("from_version", "to_version"))
    found = pipeline.read_changes(table, first, last, spark).toArrow()
    same_rows(found, as_spark_has_it(explorer.read_changes(table, first, last)))


def test_vectors_partitions_and_change_files_are_told(spark: SparkSession, tmp_path: Path) -> None:
    schema = struct(field("id", "long"), field("p", "string"))
    feed = Feed(tmp_path / "t", feed_metadata(schema, partitionColumns=["p"]))
    values = {"partitionValues": {"p": "x"}}
    feed.file("a", id=[0, 1, 2, 3])
    feed.commit(add("a", **values))
    feed.commit(remove("a"), add("a", **values, **hiding(1, 2)))
    feed.commit(remove("a", **hiding(1, 2)), add("a", **values, **hiding(2, 3)))
    feed.file("_change_data/c", id=[7, 8], _change_type=["update_preimage", "update_postimage"])
    feed.commit({"cdc": {"path": "_change_data/c", **values, "size": 1, "dataChange": False}})
    feed.commit(remove("a", **hiding(2, 3)))
    table = explorer.open_table(feed.folder.root)
    found = pipeline.read_changes(table, 1, spark=spark).toArrow()
    same_rows(found, as_spark_has_it(explorer.read_changes(table, 1)))
    assert found.num_rows == 4 + 2 + 2 + 2 + 2


def test_a_range_without_changes_is_an_empty_frame(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    frame = pipeline.read_changes(explorer.open_table(feed.folder.root), 0, spark=spark)
    assert frame.columns == ["id", "_change_type", "_commit_version", _TIME]
    assert frame.count() == 0


def test_what_the_engine_refuses_is_refused_before_any_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(
        tmp_path / "t", feed_metadata(configuration={"delta.enableChangeDataFeed": "false"})
    )
    table = explorer.open_table(feed.folder.root)
    with pytest.raises(UnsupportedError) as refusal:
        pipeline.read_changes(table, 0, spark=spark)
    assert refusal.value.kind == "change_feed_unavailable"
    with pytest.raises(InvalidArgumentError):
        pipeline.read_changes(table, 1, 0, spark)


def test_a_lost_file_of_changes_names_its_version(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "t")
    feed.commit(add("gone"))
    frame = pipeline.read_changes(explorer.open_table(feed.folder.root), 1, spark=spark)
    with pytest.raises(explorer.DeltaError, match="gone of version 1"), pipeline.clear_errors("x"):
        frame.collect()
