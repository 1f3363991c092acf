"""Files written again on Spark, beside delta-spark, in one warm session.

    python -m benchmarks.rewrites [rows of the small files] [rows of the purge] [folder]

OPTIMIZE of 200 files, the same ordered by two columns, and the purge of a table with a tenth
of its rows deleted. Each run works on a fresh copy of the table (hard links); planning and
commit count, and so does the checksum of ours. The entrants take turns, the median counts,
and both must leave the same rows in as many files.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import explorer
from benchmarks.comparing import link
from benchmarks.pipeline import aggregated, start_session
from benchmarks.pipeline_table import write_table
from explorer import maintenance
from tests.file_statistics import build_statistics

ROUNDS = 3
SMALL_ROWS = 5_000_000
PURGED_ROWS = 10_000_000
_FILES = 200
_SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"amount","type":"double","nullable":true,"metadata":{}},'
    '{"name":"region","type":"integer","nullable":true,"metadata":{}},'
    '{"name":"note","type":"string","nullable":true,"metadata":{}}]}'
)

Work = Callable[[Path], Any]


def write_small_files(place: Path, rows: int) -> Path:
    """`_FILES` files of rows in no order, with statistics."""
    log, random, count = place / "_delta_log", np.random.default_rng(7), rows // _FILES
    log.mkdir(parents=True)
    metadata = {
        "id": "6d1f6c0e-0000-4000-8000-000000000001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": _SCHEMA,
        "partitionColumns": [],
        "configuration": {},
    }
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": metadata},
    ]
    for at in range(_FILES):
        table = pa.table(
            {
                "id": pa.array(random.permutation(count) + at * count),
                "amount": pa.array(random.random(count) * 1000),
                "region": pa.array(random.integers(0, 1000, count), pa.int32()),
                "note": pa.array(
                    np.char.add("note ", random.integers(0, 10**6, count).astype(str))
                ),
            }
        )
        name = f"part-{at:05}.snappy.parquet"
        pq.write_table(table, place / name)
        body = {
            "path": name,
            "partitionValues": {},
            "size": (place / name).stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": build_statistics(table),
        }
        actions.append({"add": body})
    text = "".join(json.dumps(action) + "\n" for action in actions)
    (log / f"{0:020}.json").write_text(text, encoding="utf-8")
    return place


def by_explorer(spark: SparkSession, state: Path, **wishes: Any) -> Work:
    """Plan, approval, execution."""

    def work(place: Path) -> None:
        table = explorer.open_table(place)
        plan = maintenance.plan_optimize(table, **wishes)
        approval = maintenance.Approval(plan.digest)
        receipt = maintenance.execute(plan, approval, spark=spark, state_dir=state)
        if receipt.status != "completed":
            raise SystemExit(f"{receipt.status}: {receipt.problem}")

    return work


def by_delta_spark(spark: SparkSession, statement: str) -> Work:
    """One statement of SQL."""
    return lambda place: spark.sql(statement.format(place=f"delta.`{place}`")).collect()


def compare(title: str, source: Path, spark: SparkSession, entrants: dict[str, Work]) -> None:
    """Times every entrant in turn, each on a copy; their rows and files must agree."""
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for number in range(ROUNDS):
        answers: dict[str, Any] = {}
        for name, work in entrants.items():
            copy = source.parent / f"copy-{number}-{len(answers)}"
            shutil.copytree(source, copy, copy_function=link)
            start = time.perf_counter()
            work(copy)
            times[name].append(time.perf_counter() - start)
            found = spark.read.format("delta").load(str(copy))
            snapshot = explorer.open_table(copy).snapshot()
            answers[name] = (aggregated(found), snapshot.num_files, snapshot.num_deletion_vectors)
            shutil.rmtree(copy)
        if len(set(answers.values())) > 1:
            raise SystemExit(f"{title}: the answers differ: {answers}")
    for name, taken in times.items():
        print(f"| {title} | {name} | {statistics.median(taken):.2f} s | first {taken[0]:.2f} s |")


def run(small: int, purged: int, folder: Path) -> None:
    """All three comparisons."""
    spark, state = start_session(), folder / "state"
    source = write_small_files(folder / "small", small)
    title = f"OPTIMIZE of {_FILES} files, {small:,} rows"
    entrants = {
        "delta-explorer": by_explorer(spark, state),
        "delta-spark": by_delta_spark(spark, "optimize {place}"),
    }
    compare(title, source, spark, entrants)
    entrants = {
        "delta-explorer": by_explorer(spark, state, zorder_by=["id", "region"]),
        "delta-spark": by_delta_spark(spark, "optimize {place} zorder by (id, region)"),
    }
    compare(f"{title}, ordered by two columns", source, spark, entrants)
    source = write_table(folder / "purged", purged)
    entrants = {
        "delta-explorer": by_explorer(spark, state, purge=True),
        "delta-spark": by_delta_spark(spark, "reorg table {place} apply (purge)"),
    }
    compare(f"purge of {purged:,} rows, 10 % deleted", source, spark, entrants)


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:3]]
    sizes = numbers + [SMALL_ROWS, PURGED_ROWS][len(numbers) :]
    with tempfile.TemporaryDirectory(dir=sys.argv[3] if len(sys.argv) > 3 else None) as scratch:
        run(sizes[0], sizes[1], Path(scratch))
