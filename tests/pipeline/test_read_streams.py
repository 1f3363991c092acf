"""`spark.readStream` of the format `delta_explorer`: real queries, started again and again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession

from explorer import pipeline
from explorer.errors import DeltaError, InvalidArgumentError, UnsupportedError

pytestmark = pytest.mark.spark

FORMAT = "delta_explorer"


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    pipeline.register(spark)


class Reading:
    """A query over a table, and the rows of each batch that it saw."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark, self.place, self.kept = spark, scratch / "t", scratch / "checkpoint"
        self.batches: list[list[tuple[Any, ...]]] = []

    def append(self, *ids: int, **options: Any) -> None:
        pipeline.write(pa.table({"id": ids}), self.place, **options)

    def load(self, **options: Any) -> DataFrame:
        reader = self.spark.readStream.format(FORMAT)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.load(str(self.place))

    def run(self, frame: DataFrame | None = None, **options: Any) -> list[list[Any]]:
        """The ids of each batch of a query that reads what is there now."""
        seen: list[list[Any]] = []

        def see(batch: DataFrame, _: int) -> None:
            rows = batch.toArrow().to_pylist()
            seen.append(sorted(row["id"] for row in rows))
            self.batches.append([tuple(row.values()) for row in rows])

        with pipeline.clear_errors("Reading the stream"):
            writer = (frame or self.load(**options)).writeStream.foreachBatch(see)
            writer = writer.option("checkpointLocation", str(self.kept))
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
        return seen

    def offset(self, number: int) -> dict[str, Any]:
        """What Spark keeps of a batch's end."""
        text = (self.kept / "offsets" / str(number)).read_text()
        found: dict[str, Any] = json.loads(text.splitlines()[-1])
        return found


@pytest.fixture
def reading(spark: SparkSession, tmp_path: Path) -> Reading:
    return Reading(spark, tmp_path)


def test_a_stream_has_the_rows_that_are_there_and_then_those_that_come(reading: Reading) -> None:
    reading.append(1, 2)
    reading.append(3)
    assert reading.run() == [[1, 2, 3]]
    assert reading.run() == []
    reading.append(4)
    reading.append(5)
    assert reading.run(maxFilesPerTrigger=1) == [[4], [5]]
    assert reading.offset(2) == {
        "delta_explorer": 1,
        "table": reading.offset(0)["table"],
        "feed": False,
        "start": {"version": 1, "snapshot": True},
        "version": 4,
        "files": 0,
    }


def test_what_stops_a_stream_is_our_own_error_and_the_option_lets_it_go_on(
    reading: Reading,
) -> None:
    reading.append(1)
    assert reading.run() == [[1]]
    reading.append(2)
    reading.append(3, mode="overwrite")
    with pytest.raises(UnsupportedError, match="Version 2 changes rows") as error:
        reading.run()
    assert "skipChangeCommits" in error.value.remedy
    assert [row for batch in reading.batches for row in batch] == [(1,), (2,)]
    assert reading.run(skipChangeCommits="true") == [[]]
    reading.append(4)
    assert reading.run(skipChangeCommits="true") == [[4]]


def test_a_stream_of_changes_has_their_types_and_versions(reading: Reading) -> None:
    reading.append(1, 2, properties={"delta.enableChangeDataFeed": "true"})
    reading.append(3, mode="overwrite")
    reading.run(readChangeFeed="true", startingVersion=0, maxFilesPerTrigger=1)
    assert [sorted(row[:3] for row in rows) for rows in reading.batches] == [
        [(1, "insert", 0), (2, "insert", 0)],
        [(1, "delete", 1), (2, "delete", 1), (3, "insert", 1)],
    ]


def test_what_cannot_be_meant_is_told_before_the_first_batch(reading: Reading) -> None:
    reading.append(1)
    with pytest.raises(InvalidArgumentError, match="Did you mean maxFilesPerTrigger"):
        reading.run(maxFilePerTrigger=1)
    other = reading.spark.readStream.format(FORMAT).schema("id string")
    with pytest.raises(InvalidArgumentError, match="has the table's own columns"):
        reading.run(other.load(str(reading.place)))
    own = reading.spark.readStream.format(FORMAT).schema("id long")
    assert reading.run(own.load(str(reading.place)).where("id > 0")) == [[1]]


def test_what_spark_itself_refuses_of_a_stream_that_is_read(
    reading: Reading, tmp_path: Path
) -> None:
    """Spark refuses before ours is asked; a test that fails here says that it has changed."""
    reading.append(1)
    writer = reading.load().writeStream.format("noop").trigger(continuous="1 second")
    with pytest.raises(UnsupportedOperationException, match="does not support continuous"):
        writer.option("checkpointLocation", str(tmp_path / "other")).start()


def test_each_source_refuses_the_checkpoint_of_the_other(reading: Reading) -> None:
    reading.append(1)
    theirs = reading.spark.readStream.format("delta").load(str(reading.place))
    assert reading.run(theirs) == [[1]]
    reading.append(2)
    with pytest.raises(InvalidArgumentError, match="belongs to another source") as error:
        reading.run()
    assert "Delta Spark's own source" in error.value.reason
    shutil.rmtree(reading.kept)
    assert reading.run() == [[1, 2]]
    reading.append(3)
    with pytest.raises(DeltaError, match="DELTA_INVALID_SOURCE_VERSION"):
        reading.run(theirs)
    assert reading.run() == [[3]]


def test_streams_of_both_kinds_read_what_streams_of_both_kinds_write(
    reading: Reading, tmp_path: Path
) -> None:
    """The reference reads batch by batch what we write batch by batch, and we what it writes."""
    reading.append(1, 2)
    reading.append(3)
    reading.append(4, 5)
    for writes, reads in ((FORMAT, "delta"), ("delta", FORMAT)):
        place = tmp_path / f"by {writes}"
        frame = reading.load(startingVersion=0, maxFilesPerTrigger=1).selectExpr("id", "id + 1 x")
        writer = frame.writeStream.format(writes).option("checkpointLocation", f"{place}-kept")
        writer.trigger(availableNow=True).start(str(place)).awaitTermination()
        source = reading.spark.readStream.format(reads).option("maxFilesPerTrigger", 1)
        reading.kept = tmp_path / f"read by {reads}"
        seen = reading.run(source.load(str(place)))
        assert seen == [[1, 2], [3], [4, 5]]
        assert all(row[1] == row[0] + 1 for batch in reading.batches for row in batch)
        reading.batches.clear()
        shutil.rmtree(reading.kept)
        again = [
            batch
            for batch in reading.run(source.option("startingVersion", 0).load(str(place)))
            if batch
        ]
        assert again == seen
