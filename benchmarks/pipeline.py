"""Rows in bulk on Spark, beside delta-spark and plain Parquet, in one run.

    python -m benchmarks.pipeline [--only CASE ...] [--full] [--folder FOLDER]

Prints medians of wall time, entrants one after the other in each round, in a warm session
with the reference's jars (see tests/interop/spark_session.py); each answer is checked
against the others. Without `--full` the tables have a tenth of the size. The cases that need
a process of their own (cold start, memory, scaling) are in benchmarks/pipeline_processes.py,
a log of ten million files in benchmarks/pipeline_log.py.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

import explorer
from benchmarks import pipeline_processes
from benchmarks.comparing import environment
from benchmarks.pipeline_log import rows_of, write_log
from benchmarks.pipeline_table import CHANGED_TO, write_changes, write_table
from explorer import pipeline
from explorer.pipeline.native.route import Route

ROUNDS = 5
ROWS = 10_000_000
SMALL_FILES = 100_000
_THREE = ["id", "amount", "region"]
_ROUTES: dict[str, Route | None] = {"as chosen": None, "parquet": "parquet", "files": "files"}

Entrants = dict[str, Callable[[], Any]]


def start_session() -> SparkSession:
    """A session with the reference's jars and usual settings: compiled queries, two cores."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    # workers compile nothing, as with a package that is installed
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.update(environment())
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


def compare(title: str, entrants: Entrants) -> None:
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
        figures = f"{statistics.median(taken):.2f} s | first {taken[0]:.2f} s"
        print(f"| {title} | {name} | {figures} |", flush=True)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What the cases share: a folder, sizes, one session, and tables made when first used."""

    folder: Path
    scale: float

    @property
    def rows(self) -> int:
        """Rows of the large tables."""
        return int(ROWS * self.scale)

    @cached_property
    def spark(self) -> SparkSession:
        """The warm session."""
        return start_session()

    @cached_property
    def orders(self) -> Path:
        """Twenty files in ten partitions, a tenth of the rows hidden."""
        return write_table(self.folder / "orders", self.rows, parts=10)

    @cached_property
    def many(self) -> Path:
        """A hundred files, of which version 1 has another one."""
        return write_table(self.folder / "many", self.rows, files=100)

    def delta(self, place: Path, **options: Any) -> DataFrame:
        """The rows as delta-spark reads them."""
        return self.spark.read.format("delta").options(**options).load(str(place))

    def both(self, place: Path, where: str | None = None) -> Entrants:
        """Three columns of a table: both routes, and delta-spark."""
        snapshot = explorer.open_table(place).snapshot()

        def ours(route: Route | None) -> Callable[[], Any]:
            return lambda: aggregated(
                pipeline.read(snapshot, self.spark, _THREE, where, route=route)
            )

        def theirs() -> Any:
            frame = self.delta(place)
            return aggregated(frame if where is None else frame.filter(where))

        return {f"delta-explorer, {name}": ours(route) for name, route in _ROUTES.items()} | {
            "delta-spark": theirs
        }


def scan(bench: Bench) -> None:
    """All rows, three columns."""
    place = bench.orders
    paths = explorer.open_table(place).snapshot().files(["path"])["path"].to_pylist()
    plain = [f"{place}/{path}" for path in paths]
    entrants = bench.both(place)
    entrants["plain Parquet"] = lambda: aggregated(bench.spark.read.parquet(*plain))
    compare(f"scan of {bench.rows:,} rows, 10 % deleted", entrants)


def partition(bench: Bench) -> None:
    """One partition of ten."""
    compare("filter on a partition", bench.both(bench.orders, "part = 3"))


def id_range(bench: Bench) -> None:
    """A hundredth of the ids."""
    low = bench.rows // 2
    where = f"id >= {low} and id < {low + bench.rows // 100}"
    compare("filter on a range of 1 %", bench.both(bench.orders, where))


def diff(bench: Bench) -> None:
    """Two versions that differ in one file of a hundred."""
    table = explorer.open_table(bench.many)
    older, newer = table.snapshot(version=0), table.snapshot(version=1)

    def joined() -> tuple[int, int]:
        before, after = (
            bench.delta(bench.many, versionAsOf=version).select(*_THREE) for version in (0, 1)
        )
        both = before.withColumn("b", fn.lit(1)).join(
            after.withColumn("a", fn.lit(1)), _THREE, "full"
        )
        came, gone = fn.count_if(fn.col("b").isNull()), fn.count_if(fn.col("a").isNull())
        row = both.agg(came, gone).collect()[0]
        return int(row[0]), int(row[1])

    def differing() -> tuple[int, int]:
        found = pipeline.diff_rows(older, newer, ["id"], bench.spark)
        return found.inserted, found.deleted

    title = "rows that differ, 1 % of the files"
    compare(title, {"delta-explorer": differing, "full outer join": joined})


def changes(bench: Bench) -> None:
    """The change data feed: files that came and went, a new vector, and change files."""
    place = write_changes(bench.folder / "changes", bench.rows)
    table = explorer.open_table(place)

    def figures(frame: DataFrame) -> Any:
        told = [fn.count("*"), fn.sum("id"), fn.sum("region"), fn.max("amount")]
        return sorted(map(tuple, frame.groupBy("_change_type").agg(*told).collect()))

    def theirs() -> Any:
        options = {"readChangeFeed": "true", "startingVersion": 1, "endingVersion": CHANGED_TO}
        return figures(bench.delta(place, **options))

    compare(
        "read_changes",
        {
            "delta-explorer": lambda: figures(
                pipeline.read_changes(table, 1, CHANGED_TO, bench.spark)
            ),
            "delta-spark": theirs,
        },
    )


def small_files(bench: Bench) -> None:
    """From `read` to the first row of a filter that keeps ten files, nothing known before."""
    files = int(SMALL_FILES * bench.scale)
    there = range(files // 2, files // 2 + 10)
    place = write_log(bench.folder / "small", files, 0, there)
    where = f"id >= {rows_of(there).start} and id < {rows_of(there).stop}"

    def ours() -> Any:
        snapshot = explorer.open_table(place).snapshot()
        found = pipeline.read(snapshot, bench.spark, where=where).first()
        return found is not None and rows_of(there).start <= found["id"] < rows_of(there).stop

    def theirs() -> Any:
        jvm: Any = bench.spark._jvm
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        found = bench.delta(place).filter(where).first()
        return found is not None and rows_of(there).start <= found["id"] < rows_of(there).stop

    compare(
        f"first row of ten of {files:,} files, cold",
        {"delta-explorer": ours, "delta-spark": theirs},
    )


CASES: dict[str, Callable[[Bench], None]] = {
    "scan": scan,
    "partition": partition,
    "range": id_range,
    "diff": diff,
    "changes": changes,
    "small-files": small_files,
    "route": lambda bench: pipeline_processes.route(bench.folder),
    "cold": lambda bench: pipeline_processes.cold(bench.folder),
    "memory": lambda bench: pipeline_processes.memory(bench.folder, bench.scale),
    "scaling": lambda bench: pipeline_processes.scaling(bench.folder, bench.scale),
}


def main() -> None:
    """The cases that were asked for, all of them where none was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=CASES, metavar="CASE")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        bench = Bench(folder=Path(scratch), scale=1 if asked.full else 0.1)
        for name in asked.only or CASES:
            CASES[name](bench)


if __name__ == "__main__":
    main()
