"""What Spark logs of its events, as `spark.eventLog.enabled` has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


@contextmanager
def event_log(spark: SparkSession, folder: Path) -> Iterator[None]:
    """What happens meanwhile in a classic session is logged into `folder`."""
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
    """All files of a folder and those below."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
