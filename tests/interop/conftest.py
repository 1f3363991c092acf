"""One JVM for all tests that ask the reference implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.interop.spark_session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """delta-spark in a local session; skipped where its jars or Java are missing."""
    session = start_session()
    yield session
    session.stop()
