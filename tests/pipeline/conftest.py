"""The session of the tests of the pipeline: the one that holds the reference implementation
too, because a process has one JVM. None of its features is used where we read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.interop.spark_session import start_session
from tests.pipeline.optimized import Run


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Run:
    """What carries plans out on that session."""
    return Run(spark=spark, state=tmp_path / "state")
