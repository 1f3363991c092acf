"""`spark.readStream` of the format `delta_explorer`: real queries, started again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from explorer import pipeline

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
