"""The session of the tests of the pipeline: the one that holds the reference implementation
too, because a process has one JVM. None of its features is used where we read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.interop.spark_session import start_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_session()
    yield session
    session.stop()
