"""The reference implementation in a JVM of its own, for the interop tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
JARS = Path(os.environ.get("DELTA_EXPLORER_JARS", ROOT / ".cache" / "jars"))

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For `JDK_JAVA_OPTIONS`: a cold JVM that compiles little starts in half the time."""

_LONG_JVM = "-XX:+UseSerialGC"
"""The one that all tests share lives for most of an hour, which pays for compiling well: after
its first minute a statement takes two thirds of the time."""

_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    # the versions of the past are what these tests are about
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.sql.shuffle.partitions": "1",
    # small tables: to plan and compile a query takes longer than to run it
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # a vacuum lists folders with ten thousand tasks by default, which takes a minute
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.ui.enabled": "false",
    # Spark listens on every interface unless told
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": _LONG_JVM,
    "spark.driver.memory": "1g",
}


def start_session() -> SparkSession:
    """A local session with the reference's jars; skips the test where they or Java are missing."""
    jars = sorted([*JARS.glob("delta-*.jar"), *JARS.glob("unitycatalog-*.jar")])
    if not jars:
        pytest.skip(f"no jars of the reference at {JARS}: run `./run tests`, or see pom.xml here")
    if shutil.which("java") is None:
        pytest.skip("no Java: install openjdk-17-jre-headless")
    # without a UTF-8 locale the JVM cannot name files outside ASCII
    os.environ.update(LC_ALL="C.UTF-8", SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("delta-explorer-tests")
    for name, value in (_SETTINGS | {"spark.jars": ",".join(map(str, jars))}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # a failure comes back as an exception, too
    return session
