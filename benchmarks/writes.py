"""Rows of users appended on Spark, beside delta-spark, in one warm session.

    python -m benchmarks.writes [rows] [folder]

Rows of eight columns from a DataFrame, into a table without partitions and into one of
`_PARTITIONS` partitions. Every append is of the same rows to a table of its own entrant, and a
version with the same rows; the commit counts, and so does the checksum. The entrants take turns,
and the median counts. Beside the seconds stand those that processors worked, in this process, the
JVM and its workers: on a machine with other work they say more.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.pipeline import aggregated, start_session
from explorer import pipeline

ROUNDS = 3
ROWS = 10_000_000
_PARTITIONS = 20

Work = Callable[[DataFrame, Path, list[str]], object]


def eight_columns(spark: SparkSession, rows: int) -> DataFrame:
    """Rows that are made when they are asked for, by two tasks."""
    return spark.range(0, rows, 1, 2).selectExpr(
        "id",
        "id * 0.37 % 1000 as amount",
        "cast(id % 1000 as int) as region",
        f"cast(xxhash64(id) & 1048575 as int) % {_PARTITIONS} as day",
        "concat('note ', cast(xxhash64(id) % 1000000 as string)) as note",
        "timestamp_micros(1700000000000000 + id * 1000) as at",
        "cast(id % 7 = 0 as boolean) as flag",
        "cast(id % 100000 / 100 as decimal(12, 2)) as price",
    )


def by_explorer(frame: DataFrame, place: Path, partition_by: list[str]) -> None:
    """`pipeline.write`."""
    pipeline.write(frame, place, partition_by=partition_by)


def by_delta_spark(frame: DataFrame, place: Path, partition_by: list[str]) -> None:
    """The reference's writer."""
    frame.write.format("delta").mode("append").partitionBy(*partition_by).save(str(place))


def by_parquet(frame: DataFrame, place: Path, partition_by: list[str]) -> None:
    """Spark's own writer, without a table: the least that delta-spark could take."""
    frame.write.mode("append").partitionBy(*partition_by).parquet(str(place))


ENTRANTS: dict[str, Work] = {
    "delta-explorer": by_explorer,
    "delta-spark": by_delta_spark,
    "Parquet alone": by_parquet,
}


def processor_seconds() -> float:
    """Of this process and all that it started, the JVM and its workers among them."""
    ticks, parents = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:  # it ended meanwhile
            continue
        if fields := text.rpartition(")")[2].split():
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def compare(title: str, frame: DataFrame, folder: Path, partition_by: list[str]) -> None:
    """Times every entrant in turn, and holds their rows against each other."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ENTRANTS}
    for _ in range(ROUNDS + 1):
        for name, work in ENTRANTS.items():
            worked, start = processor_seconds(), time.perf_counter()
            work(frame, _place(folder, title, name), partition_by)
            taken = time.perf_counter() - start
            times[name].append((taken, processor_seconds() - worked))
    spark = frame.sparkSession
    answers = {}
    for name in ENTRANTS:
        kind = "parquet" if name == "Parquet alone" else "delta"
        answers[name] = aggregated(spark.read.format(kind).load(str(_place(folder, title, name))))
    if len(set(answers.values())) > 1:
        raise SystemExit(f"{title}: the answers differ: {answers}")
    for name, samples in times.items():
        # the first begins the table, and is slow for whoever comes first
        wall, worked = (statistics.median(column) for column in zip(*samples[1:], strict=True))
        print(f"| {title} | {name} | {wall:.2f} s | {worked:.2f} s of processors |", flush=True)


def _place(folder: Path, title: str, name: str) -> Path:
    return folder / f"{title} {name}".replace(" ", "-").replace(",", "")


def run(rows: int, folder: Path) -> None:
    """Both comparisons."""
    spark = start_session()
    frame = eight_columns(spark, rows)
    compare(f"append of {rows:,} rows", frame, folder, [])
    compare(f"append of {rows:,} rows, {_PARTITIONS} partitions", frame, folder, ["day"])


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    if len(sys.argv) > 2:
        run(count, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            run(count, Path(scratch))
