"""Rows in bulk on Spark, beside delta-spark and plain Parquet, in one run.

    python -m benchmarks.pipeline [rows] [folder]

Prints medians of wall time, entrants one after the other in each round, in a warm session
with the reference's jars (see tests/interop/spark_session.py); each answer is checked
against the others. The table has twenty files, a tenth of its rows hidden by deletion
vectors; its second version has one file more and one less, of each twentieth.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import explorer
from benchmarks.pipeline_table import write_table
from explorer import pipeline
from explorer.pipeline.route import Route

ROUNDS = 5
ROWS = 10_000_000


def start_session() -> SparkSession:
    """A session with the reference's jars and usual settings: compiled queries, two cores."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    folder = Path(__file__).parents[1] / ".cache" / "jars"
    jars = ",".join(map(str, sorted(folder.glob("*.jar"))))
    settings = {
        "spark.jars": jars,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "3g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("delta-explorer-benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def aggregated(frame: DataFrame) -> Any:
    """Three columns, one row of figures."""
    return frame.agg(fn.count("*"), fn.sum("id"), fn.sum("region"), fn.max("amount")).collect()[0]


def compare(title: str, entrants: dict[str, Callable[[], Any]]) -> None:
    """Times every entrant in turn, and holds their answers against each other."""
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(ROUNDS):
        answers = {}
        for name, work in entrants.items():
            start = time.perf_counter()
            answers[name] = work()
            times[name].append(time.perf_counter() - start)
        told = [answer for name, answer in answers.items() if not name.startswith("plain")]
        if any(answer != told[0] for answer in told):
            raise SystemExit(f"{title}: the answers differ: {answers}")
    for name, taken in times.items():
        print(f"| {title} | {name} | {statistics.median(taken):.2f} s | first {taken[0]:.2f} s |")


def run(rows: int, folder: Path) -> None:
    """All comparisons over one generated table."""
    place = write_table(folder / "orders", rows)
    spark = start_session()
    table = explorer.open_table(place)
    snapshot = table.snapshot()
    routes: list[Route] = ["parquet", "files"]
    three = ["id", "amount", "region"]
    delta = spark.read.format("delta").load(str(place))

    def ours(route: Route, where: str | None = None) -> Callable[[], Any]:
        return lambda: aggregated(pipeline.read(snapshot, spark, three, where, route=route))

    plain = [f"{place}/{path}" for path in snapshot.files(["path"])["path"].to_pylist()]
    entrants = {f"delta-explorer, {route}": ours(route) for route in routes}
    entrants["delta-spark"] = lambda: aggregated(delta)
    entrants["plain Parquet"] = lambda: aggregated(spark.read.parquet(*plain))
    compare("scan, 10 % deleted", entrants)

    low = rows // 2
    where = f"id >= {low} and id < {low + rows // 100}"
    entrants = {f"delta-explorer, {route}": ours(route, where) for route in routes}
    entrants["delta-spark"] = lambda: aggregated(delta.filter(where))
    compare("filter on a range of 1 %", entrants)

    older = table.snapshot(version=0)

    def joined() -> tuple[int, int]:
        before, after = (
            spark.read.format("delta")
            .option("versionAsOf", version)
            .load(str(place))
            .select(*three)
            for version in (0, 1)
        )
        both = before.withColumn("b", fn.lit(1)).join(
            after.withColumn("a", fn.lit(1)), three, "full"
        )
        row = both.agg(
            fn.count_if(fn.col("b").isNull()), fn.count_if(fn.col("a").isNull())
        ).collect()[0]
        return int(row[0]), int(row[1])

    def differing() -> tuple[int, int]:
        found = pipeline.diff_rows(older, snapshot, ["id"], spark)
        return found.inserted, found.deleted

    compare("rows that differ", {"delta-explorer": differing, "full outer join": joined})


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as scratch:
        run(asked, Path(scratch))
