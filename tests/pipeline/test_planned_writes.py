"""A planned write whose rows this process cannot compute is carried out by Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import explorer
from explorer import pipeline
from explorer.errors import ConflictError
from explorer.pipeline.planned_writes.write_plan import carry_out_write, plan_write
from explorer.progress import Progress, Watch
from explorer.writing.statements.options import WriteOptions

ROWS = pa.table({"id": [1, 2, 3], "land": ["de", "fr", None]})
_COLUMNS = "id BIGINT, land STRING, upper STRING GENERATED ALWAYS AS (upper(land))"


def test_files_are_written_by_spark_as_planned_and_not_if_they_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    files, place = [tmp_path / "a.parquet", tmp_path / "b.arrows"], tmp_path / "t"
    pq.write_table(ROWS, files[0])
    with pa.OSFile(str(files[1]), "wb") as sink, pa.ipc.new_stream(sink, ROWS.schema) as writer:
        writer.write_table(ROWS)
    pipeline.create(place, _COLUMNS)
    plan = plan_write(files, place, WriteOptions())
    assert plan.needs_spark is not None
    result = carry_out_write(files, place, WriteOptions(), plan.digest, spark=spark)
    assert result.metrics["numOutputRows"] == 6
    found = explorer.read_rows(explorer.open_table(place).snapshot())
    assert (
        sorted(found.column("upper").to_pylist(), key=str) == ["DE", "DE", "FR", "FR"] + [None] * 2
    )

    def meanwhile(progress: Progress) -> None:
        if progress.label == "Sending rows to Spark":
            files[0].write_bytes(files[0].read_bytes() + b"x")

    watch = Watch(progress=meanwhile)
    with pytest.raises(ConflictError, match="changed while it was read"):
        carry_out_write(files, place, WriteOptions(), plan.digest, spark=spark, watch=watch)
    assert explorer.open_table(place).latest_version() == 1
