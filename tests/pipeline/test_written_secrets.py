"""The secrets of a store do not stay anywhere: not in event logs, plans, checkpoints, errors."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from explorer import pipeline
from explorer.cli.main import run
from explorer.errors import DeltaError
from explorer.pipeline.source._write_options import PROFILE
from tests.pipeline.written_stores import AFTER_EACH, Doors, appended_and_overwritten
from tests.s3_server import s3_server

pytestmark = pytest.mark.spark

SECRET = "open-sesame-77c1"


@contextmanager
def event_log(spark: SparkSession, folder: Path) -> Iterator[None]:
    """What happens meanwhile is logged as `spark.eventLog.enabled` has it, into `folder`."""
    java: Any = spark._jvm
    context = spark.sparkContext._jsc.sc()
    settings = context.getConf().clone().set("spark.eventLog.compress", "false")
    listener = java.org.apache.spark.scheduler.EventLoggingListener(
        "application",
        java.scala.Option.apply(None),
        java.java.net.URI(folder.as_uri()),
        settings.set("spark.eventLog.rolling.enabled", "false"),
        context.hadoopConfiguration(),
    )
    listener.start()
    context.addSparkListener(listener)
    try:
        yield
    finally:
        context.listenerBus().waitUntilEmpty()
        context.removeSparkListener(listener)
        listener.stop()


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_secret_of_a_store_is_found_nowhere_after_writing_by_each_door(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, scratch = tmp_path / "events", tmp_path / "scratch"
    events.mkdir()
    variable = f"{PROFILE}SECRET"
    with s3_server() as found:
        options = {**found, "secret": SECRET}
        spark.sparkContext.environment[variable] = json.dumps(options)
        pipeline.register(spark)
        doors = Doors(spark=spark, options=options, profile="secret", scratch=scratch)
        texts = []
        with event_log(spark, events):
            for name in doors.by_name():
                uri = f"s3://bucket/{name.replace(' ', '-')}"
                assert appended_and_overwritten(doors, name, uri) == AFTER_EACH
            for write in doors.by_name().values():
                with pytest.raises(DeltaError) as refused:  # there is no such bucket
                    write(range(3), "s3://nosuch/t", "append")
                texts.append("".join(traceback.format_exception(refused.value)))
        pq.write_table(pa.table({"id": [1]}), tmp_path / "rows.parquet")
        words = ["write", "s3://bucket/spark", str(tmp_path / "rows.parquet")]
        words += [word for key in options for word in ("--option", f"{key}={options[key]}")]
        assert run(words) == 0
        texts += capsys.readouterr()
        del spark.sparkContext.environment[variable]
    for folder, expected in ((events, b"SparkListenerTaskEnd"), (scratch, b"batchWatermarkMs")):
        kept = bytes_below(folder)
        assert expected in kept
        assert SECRET.encode() not in kept
    assert SECRET not in "\n".join(texts)
    pipeline.register(spark)
