"""`df.writeStream` of the format `delta_explorer`, and streams written by `foreachBatch`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from explorer.errors import InvalidArgumentError

pytestmark = pytest.mark.spark

FORMAT = "delta_explorer"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    pipeline.register(spark)


class Writing:
    """A query from one table into another."""

    def __init__(self, spark: SparkSession, scratch: Path) -> None:
        self.spark, self.source, self.place = spark, scratch / "source", scratch / "t"
        self.kept = scratch / "checkpoint"

    def bring(self, *ids: int) -> None:
        pipeline.write(pa.table({"id": ids}), self.source)

    @property
    def whole(self) -> DataFrame:
        reader = self.spark.readStream.format(FORMAT).option("maxFilesPerTrigger", 1)
        return reader.load(str(self.source))

    @property
    def frame(self) -> DataFrame:
        return self.whole.selectExpr("id", "id % 2 as odd")

    def run(self, writer: Any = None, **options: str) -> Any:
        """The query, when it has written what is there."""
        started = (writer or self.frame.writeStream.format(FORMAT)).options(
            **{"checkpointLocation": str(self.kept)} | options
        )
        with pipeline.clear_errors("Writing the stream"):
            started = started.trigger(availableNow=True)
            query = started.start() if writer else started.start(str(self.place))
            query.awaitTermination()
        return query

    def ids(self) -> list[int]:
        rows = explorer.read_rows(explorer.open_table(self.place).snapshot(), columns=["id"])
        found: list[int] = sorted(rows.column("id").to_pylist())
        return found


@pytest.fixture
def writing(spark: SparkSession, tmp_path: Path) -> Writing:
    return Writing(spark, tmp_path)


def test_a_query_is_known_by_its_own_id_when_it_is_started_again(writing: Writing) -> None:
    described = {"delta.appendOnly": "true", "partitionBy": "odd"}
    writing.bring(1)
    first = writing.run(**described)
    writing.bring(2)
    # the options describe the table that the first run created
    second = writing.run(**described)
    assert first.id == second.id
    snapshot = explorer.open_table(writing.place).snapshot()
    kept = {name: found.version for name, found in snapshot.transactions.items()}
    assert kept == {f"delta-explorer-stream-{first.id}": 1}
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true"}
    assert snapshot.metadata.partition_columns == ("odd",)
    assert writing.ids() == [1, 2]


def test_partition_by_of_sparks_writer_says_nothing_to_the_sink(writing: Writing) -> None:
    """The option does it; a test that fails here says that Spark hands it on now."""
    writing.bring(1)
    writer = writing.frame.writeStream.format(FORMAT).partitionBy("odd")
    writing.run(writer, path=str(writing.place))
    assert explorer.open_table(writing.place).snapshot().metadata.partition_columns == ()


def test_a_checkpoint_location_that_python_cannot_read_stops_the_query_before_its_first_batch(
    spark: SparkSession, writing: Writing, tmp_path: Path
) -> None:
    writing.bring(1)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    folder = tmp_path / "hadoop"
    folder.mkdir()
    hadoop.set("fs.viewfs.mounttable.streams.link./c", folder.as_uri())
    with pytest.raises(InvalidArgumentError, match="checkpoint location of the stream cannot be"):
        writing.run(checkpointLocation="viewfs://streams/c/query")
    assert (folder / "query" / "metadata").exists()  # Spark itself reads it
    spark.conf.set("spark.sql.streaming.checkpointLocation", str(tmp_path / "set"))
    try:
        writer = writing.frame.writeStream.format(FORMAT).trigger(availableNow=True)
        with (
            pytest.raises(InvalidArgumentError, match="by a setting alone"),
            pipeline.clear_errors("Writing the stream"),
        ):
            writer.start(str(writing.place)).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.checkpointLocation")
    assert not writing.place.exists()
    writing.run(checkpointLocation=writing.kept.as_uri())
    assert writing.ids() == [1]


def test_a_batch_that_is_repeated_by_foreach_batch_is_written_once(writing: Writing) -> None:
    writing.bring(1)
    writing.bring(2)
    repeated: list[bool] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        transaction = ("nightly copy", batch_id)
        result = pipeline.write(batch, writing.place, transaction=transaction)
        repeated.append(result.is_repeated)
        if len(repeated) == 2:
            raise RuntimeError("the driver is lost after the commit")

    with pytest.raises(Exception, match="FOREACH_BATCH_USER_FUNCTION_ERROR"):
        writing.run(writing.frame.writeStream.foreachBatch(write))
    writing.bring(3)
    writing.run(writing.frame.writeStream.foreachBatch(write))
    assert repeated[:2] == [False, False]
    assert repeated[2:].count(True) == 1
    assert writing.ids() == [1, 2, 3]


@pytest.mark.turns(one_in=4)
def test_a_query_whose_process_is_killed_goes_on_in_another_one(writing: Writing) -> None:
    for number in range(30):
        writing.bring(number)
    command = [sys.executable, "-m", "tests.pipeline.stream_process"]
    places = [str(place) for place in (writing.source, writing.place, writing.kept)]
    with subprocess.Popen(
        [*command, *places], cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL
    ) as process:
        try:
            third = writing.place / "_delta_log" / f"{3:020}.json"
            while process.poll() is None and not third.exists():
                time.sleep(0.01)
        finally:
            # its JVM as well, which has the same group
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert len(writing.ids()) < 30
    writing.run(writing.whole.writeStream.format(FORMAT), path=str(writing.place))
    assert writing.ids() == list(range(30))
