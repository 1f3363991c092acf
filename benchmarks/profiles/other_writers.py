"""Checkpoints by the writers that others use, in the place of an imitation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable


def write_checkpoint_by(writer: str, log: Path, older: int) -> None:
    """Lets `deltalake` or delta-spark write a checkpoint of the latest version, and takes the
    `older` one and its commit away."""
    if writer == "spark":
        _by_spark(log.parent)
    else:
        DeltaTable(log.parent).create_checkpoint()
    for path in log.glob(f"{older:020d}.*"):
        path.unlink()
    for path in log.glob(".*.crc"):  # of Hadoop's file system
        path.unlink()


def _by_spark(table: Path) -> None:
    # it takes jars and Java, which only this profile needs
    from benchmarks.pipeline import start_session  # noqa: PLC0415

    spark: Any = start_session()
    try:
        logs = spark._jvm.org.apache.spark.sql.delta.DeltaLog
        logs.forTable(spark._jsparkSession, str(table)).checkpoint()
    finally:
        spark.stop()
