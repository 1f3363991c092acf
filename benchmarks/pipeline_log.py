"""A log of ten million files, read with its state on Spark and a driver of one GiB.

    python -m benchmarks.pipeline_log [files] [folder] [--commits ACTIONS] [--here]

Writes the log (a checkpoint in ten parts, with statistics and a partition column, and ten
commits after it; `--commits` says how many actions these have), then asks it in a process of
its own: 1 GiB of heap for the JVM, and for the data of the Python driver too. `--here` asks
the engine the same without Spark and without a limit, to see what it takes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import explorer
from explorer import maintenance, pipeline
from explorer.inspect.files.statistics import column_statistics
from explorer.scan.plan import plan_scan

FILES = 10_000_000
PARTS = 10
COMMITS = 10
COMMIT_ACTIONS = 20_000
_GIB = 2**30
_ROWS_OF_A_FILE = 1000
_REGIONS = 50
_GROUP = 100_000
_THERE = range(100_000, 100_010)
"""The files that have data too."""

_STRINGS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_SCHEMA = (
    '{"type":"struct","fields":['
    '{"name":"id","type":"long","nullable":true,"metadata":{}},'
    '{"name":"region","type":"string","nullable":true,"metadata":{}}]}'
)
_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_METADATA = {
    "id": "6d1f6c0e-0000-4000-8000-000000000002",
    "format": {"provider": "parquet", "options": {}},
    "schemaString": _SCHEMA,
    "partitionColumns": ["region"],
    "configuration": {},
}


def write_log(place: Path, files: int, actions: int, there: range) -> Path:
    """Such a log; version 10 is the newest. Only the files `there` have data."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    _write_line(log, 0, [{"protocol": _PROTOCOL}, {"metaData": _METADATA}])
    for part in range(PARTS):
        name = f"{0:020}.checkpoint.{part + 1:010}.{PARTS:010}.parquet"
        first, last = files * part // PARTS, files * (part + 1) // PARTS
        with pq.ParquetWriter(log / name, _schema(), compression="zstd") as writer:
            if part == 0:
                writer.write_table(_head())
            for start in range(first, last, _GROUP):
                writer.write_table(_adds(start, min(start + _GROUP, last)))
    for number in there:
        write_data(place, number)
    each = actions // COMMITS
    for version in range(1, COMMITS + 1):
        gone = [{"remove": _remove(version * each + at)} for at in range(each // 2)]
        came = [{"add": _add(files + version * each + at)} for at in range(each - each // 2)]
        _write_line(log, version, [*gone, *came])
    return place


def rows_of(files: range) -> range:
    """The ids in some files."""
    return range(files.start * _ROWS_OF_A_FILE, files.stop * _ROWS_OF_A_FILE)


def write_data(place: Path, number: int) -> None:
    """One data file."""
    (place / _path(number)).parent.mkdir(exist_ok=True)
    ids = pa.array(rows_of(range(number, number + 1)), pa.int64())
    pq.write_table(pa.table({"id": ids}), place / _path(number))


def _schema() -> pa.Schema:
    head = _head()
    return head.schema


def _path(number: int) -> str:
    return f"region=r{number % _REGIONS}/part-{number:012}-8b1c0f6e-0000-4000-8000.c000.parquet"


def _stats(number: int) -> str:
    low = number * _ROWS_OF_A_FILE
    return (
        f'{{"numRecords":{_ROWS_OF_A_FILE},"minValues":{{"id":{low}}},'
        f'"maxValues":{{"id":{low + _ROWS_OF_A_FILE - 1}}},"nullCount":{{"id":0}}}}'
    )


def _add(number: int) -> dict[str, Any]:
    return {
        "path": _path(number),
        "partitionValues": {"region": f"r{number % _REGIONS}"},
        "size": 100_000,
        "modificationTime": 0,
        "dataChange": True,
        "stats": _stats(number),
    }


def _remove(number: int) -> dict[str, Any]:
    return {"path": _path(number), "deletionTimestamp": 1, "dataChange": True}


def _head() -> pa.Table:
    rows: list[dict[str, Any]] = [{"protocol": _PROTOCOL}, {"metaData": _METADATA}]
    kinds = {
        "protocol": pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]),
        "metaData": pa.struct(
            [
                ("id", pa.string()),
                ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
                ("schemaString", pa.string()),
                ("partitionColumns", pa.list_(pa.string())),
                ("configuration", _STRINGS),
            ]
        ),
        "add": _ADD,
    }
    bodies = [{name: _body(row.get(name)) for name in kinds} for row in rows]
    return pa.Table.from_pylist(bodies, pa.schema(list(kinds.items())))


def _body(body: Any) -> Any:
    # the reference wants both maps to be there
    maps = {"configuration": [], "format": {"provider": "parquet", "options": []}}
    return None if body is None else body | maps


def _adds(start: int, stop: int) -> pa.Table:
    numbers = pa.array(range(start, stop), pa.int64())
    count = len(numbers)
    region = pc.cast(
        pc.subtract(numbers, pc.multiply(pc.divide(numbers, _REGIONS), _REGIONS)), "string"
    )
    padded = pc.utf8_lpad(pc.cast(numbers, "string"), 12, padding="0")
    low = pc.multiply(numbers, _ROWS_OF_A_FILE)
    high = pc.add(low, _ROWS_OF_A_FILE - 1)
    named = pc.binary_join_element_wise("r", region, "")
    path = pc.binary_join_element_wise(
        "region=", named, "/part-", padded, "-8b1c0f6e-0000-4000-8000.c000.parquet", ""
    )
    stats = pc.binary_join_element_wise(
        f'{{"numRecords":{_ROWS_OF_A_FILE},"minValues":{{"id":',
        pc.cast(low, "string"),
        '},"maxValues":{"id":',
        pc.cast(high, "string"),
        '},"nullCount":{"id":0}}',
        "",
    )
    values = pa.MapArray.from_arrays(
        pa.array(range(count + 1), pa.int32()), pa.array(["region"] * count), named
    )
    fields = [
        path,
        values,
        pa.array([100_000] * count, pa.int64()),
        pa.array([0] * count, pa.int64()),
        pa.array([True] * count),
        stats,
    ]
    adds = pa.StructArray.from_arrays(fields, fields=list(_ADD))
    schema = _schema()
    return pa.Table.from_arrays(
        [adds if item.name == "add" else pa.nulls(count, item.type) for item in schema],
        schema=schema,
    )


def _write_line(log: Path, version: int, actions: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
    (log / f"{version:020}.json").write_text(text, encoding="utf-8")


def peak() -> int:
    """MiB that this process had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def told(what: str, work: Callable[[], Any]) -> None:
    """Runs it, and prints the answer, the seconds, and the peak of memory so far."""
    start = time.perf_counter()
    found = work()
    took = time.perf_counter() - start
    print(f"| {what} | {found} | {took:.1f} s | {peak():,} MiB |", flush=True)


class There:
    """The questions, with the state on Spark."""

    def __init__(self, place: Path) -> None:
        self.session = _session()
        # after the JVM has started: it has a limit of its own
        resource.setrlimit(resource.RLIMIT_DATA, (_GIB, _GIB))
        self.table = pipeline.with_spark_state(explorer.open_table(place), self.session)
        start = time.perf_counter()
        self.snapshot = self.table.snapshot()
        print(f"| open | {type(self.snapshot).__name__} | {time.perf_counter() - start:.1f} s | |")

    def planned(self, where: str | None) -> str:
        """How many files are left, and by which route they are read."""
        plan = pipeline.plan_read(self.snapshot, self.session, where=where)
        return f"{plan.scan.num_kept:,} files, {plan.reason}"

    def rows(self, where: str) -> int:
        """The rows of a range."""
        return pipeline.read(self.snapshot, self.session, where=where).count()

    def bounds(self) -> str:
        """The extremes of a column, which the log knows."""
        measures: list[Any] = ["rows", "nulls", "extremes"]
        (found,) = pipeline.profile(self.snapshot, ["id"], self.session, measures=measures)
        return f"{found.source}: {found.minimum} to {found.maximum}"

    def streamed(self) -> int:
        """All paths, gone through."""
        return sum(some.num_rows for some in self.snapshot.file_state.batches(["path"]))

    def optimized(self) -> str:
        """What an OPTIMIZE of a partition would do."""
        effect = maintenance.plan_optimize(self.table, where="region = 'r7'").effect
        return f"{effect['files_removed']:,} files become about {effect['files_added_about']:,}"

    def refused(self) -> str:
        """What is said where all files do not fit."""
        try:
            return f"{self.snapshot.files(['path', 'stats']).num_rows} rows"
        except explorer.DeltaError as error:
            return f"refused: {error.kind}"

    def ask(self) -> None:
        """All of it."""
        found = self.snapshot
        told("live files, rows", lambda: (found.num_files, found.num_rows))
        told("tombstones", lambda: found.num_tombstones)
        ids = rows_of(_THERE)
        told("rows of a range", lambda: self.rows(f"id >= {ids.start} and id < {ids.stop}"))
        told("plan of a read of a partition", lambda: self.planned("region = 'r7'"))
        told("plan of a read of everything", lambda: self.planned(None))
        told("profile by the log: nulls and extremes", self.bounds)
        path = _path(177_777)
        told("one file by its path", lambda: found.file_state.find(path, ["size"]).num_rows)
        told("all paths, streamed", self.streamed)
        told("plan of an OPTIMIZE of a partition", self.optimized)
        told("statistics of all columns", lambda: column_statistics(found).num_files)
        told("paths and statistics at once", self.refused)


def ask_here(place: Path) -> None:
    """What the engine itself takes for a scan, and for the list of files."""
    snapshot = explorer.open_table(place).snapshot()
    told("live files", lambda: snapshot.num_files)
    told("files that a partition leaves", lambda: plan_scan(snapshot, "region = 'r7'").num_kept)
    told("list of all files", lambda: snapshot.files().num_rows)


def _session() -> SparkSession:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder: Any = SparkSession.builder.master("local[2]").appName("delta-explorer-log")
    settings = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def main() -> None:
    """Write the log, and ask in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="?", type=int, default=FILES)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--commits", type=int, default=COMMIT_ACTIONS)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ask:
        if asked.here:
            ask_here(Path(asked.ask))
        else:
            There(Path(asked.ask)).ask()
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        start = time.perf_counter()
        place = write_log(Path(scratch) / "t", asked.files, asked.commits, _THERE)
        print(f"{asked.files:,} files, written in {time.perf_counter() - start:.0f} s")
        print("| Question | Answer | Time | Peak of the driver |\n|---|---|---|---|", flush=True)
        here = ["--here"] if asked.here else []
        subprocess.run(
            [sys.executable, "-m", "benchmarks.pipeline_log", "--ask", str(place), *here],
            check=True,
        )


if __name__ == "__main__":
    main()
