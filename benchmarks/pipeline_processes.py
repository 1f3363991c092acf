"""What needs a process of its own: cold starts, memory, and how work grows.

python -m benchmarks.pipeline --only cold|memory|scaling|route
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import explorer
from benchmarks.pipeline_log import rows_of, write_log
from benchmarks.pipeline_table import write_table
from explorer import pipeline
from explorer.pipeline.native import route as rule

_MOST_MIB = 1024
_FILES = 1_000_000
_SCALES = (1_000_000, 10_000_000, 50_000_000)
_ROUNDS = 3
_MANY = (250, 500, 1000, 2000, 4000)
_HERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}


def start(master: str, **settings: str) -> SparkSession:
    """A session without any jar."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    builder: Any = SparkSession.builder.master(master).appName("delta-explorer-processes")
    for name, value in (_HERE | settings).items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def cold(folder: Path) -> None:
    """From the start of Python to the first row of a small table, and the same scan warm, as
    the local session is and with a JVM that compiles everything."""
    small = write_table(folder / "small", 1000)
    scanned = write_table(folder / "scanned", 2_000_000)
    for name, flags in {
        "as started here": "",
        "first compiler alone": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "both compilers": "-XX:+UseSerialGC",
    }.items():
        found = _child("cold", str(small), str(scanned), flags)
        print(
            f"| cold start to the first row, {name} | {found['first']:.1f} s, "
            f"{found['work']:.1f} s of the processor | scans after it: "
            f"{', '.join(f'{wall:.2f} ({work:.2f})' for wall, work in found['scans'])} s |",
            flush=True,
        )


def memory(folder: Path, scale: float) -> None:
    """A table of 1 M files with 1 GiB for the JVM, and a Python driver below 1 GiB."""
    files = int(_FILES * scale)
    there = range(files // 2, files // 2 + 10)
    place = write_log(folder / "memory", files, 20_000, there)
    found = _child("memory", str(place), str(there.start))
    if found["driver"] >= _MOST_MIB:
        raise SystemExit(f"the driver took {found['driver']:,} MiB")
    print(
        f"| {files:,} files, -Xmx1g | rows {found['rows']:,}, planned {found['planned']:,} files, "
        f"profiled to {found['most']:,} | driver {found['driver']:,} MiB at most, JVM heap "
        f"{found['heap']:,} MiB at the end |",
        flush=True,
    )


def scaling(folder: Path, scale: float) -> None:
    """One scan with one core and with two, over tables of three sizes."""
    for rows in _SCALES:
        count = int(rows * scale)
        place = write_table(folder / f"scaled-{count}", count)
        for cores in (1, 2):
            seconds = _child("scan", str(place), str(cores))["seconds"]
            print(
                f"| scan of {count:,} rows, {cores} core{'s' * (cores > 1)} | {seconds:.2f} s | "
                f"{seconds / count * 1e9:.0f} ns a row |",
                flush=True,
            )


def route(folder: Path) -> None:
    """Both routes over many small files: where one overtakes the other, by wall time and by
    the processor's time of everything that works."""
    for files in _MANY:
        place = _small_files(folder / f"route-{files}", files)
        found = _child("route", str(place))
        print(f"| {files:,} files of 1,000 rows | {found} |", flush=True)


def _small_files(place: Path, files: int) -> Path:
    """Files of a thousand rows."""
    return write_log(place, files, 0, range(files))


def _child(mode: str, *arguments: str) -> Any:
    begun = time.time()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pipeline_processes", mode, str(begun), *arguments],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _aggregated(frame: Any) -> Any:
    return frame.agg(fn.count("*"), fn.sum("id"), fn.sum("region"), fn.max("amount")).collect()[0]


def _ask_cold(begun: float, small: str, scanned: str, flags: str) -> dict[str, Any]:
    if flags:
        start("local[*]", **{"spark.driver.extraJavaOptions": flags})
    snapshot = explorer.open_table(small).snapshot()
    pipeline.read(snapshot).first()
    first, work = time.time() - begun, _processor()
    table, scans = explorer.open_table(scanned).snapshot(), []
    for _ in range(5):
        before, moment = _processor(), time.perf_counter()
        _aggregated(pipeline.read(table, columns=["id", "amount", "region"]))
        scans.append((time.perf_counter() - moment, _processor() - before))
    return {"first": first, "work": work, "scans": scans}


def _ask_memory(_: float, place: str, first: str) -> dict[str, Any]:
    spark = start("local[2]", **{"spark.driver.memory": "1g"})
    snapshot = explorer.open_table(place).snapshot()
    there = rows_of(range(int(first), int(first) + 10))
    where = f"id >= {there.start} and id < {there.stop}"
    rows = pipeline.read(snapshot, spark, where=where).count()
    plan = pipeline.plan_read(snapshot, spark)
    plan.frame()
    (found,) = pipeline.profile(snapshot, ["id"], spark, measures=["rows", "nulls", "extremes"])
    jvm: Any = spark._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    return {
        "rows": rows,
        "planned": plan.scan.num_kept,
        "most": found.maximum,
        "driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "heap": (runtime.totalMemory() - runtime.freeMemory()) // 2**20,
    }


def _ask_scan(_: float, place: str, cores: str) -> dict[str, Any]:
    spark = start(f"local[{cores}]", **{"spark.driver.memory": "2g"})
    snapshot = explorer.open_table(place).snapshot()
    taken = []
    for _round in range(_ROUNDS + 1):
        moment = time.perf_counter()
        _aggregated(pipeline.read(snapshot, spark, ["id", "amount", "region"]))
        taken.append(time.perf_counter() - moment)
    return {"seconds": statistics.median(taken[1:])}


def _ask_route(_: float, place: str) -> dict[str, Any]:
    spark = start("local[2]", **{"spark.driver.memory": "2g"})
    snapshot = explorer.open_table(place).snapshot()
    found: dict[str, Any] = {}
    setattr(rule, "MOST_NATIVE_FILES", 10**9)  # noqa: B010  # so that both are taken
    for _round in range(_ROUNDS + 1):
        for way in _WAYS:
            before, moment = _processor(), time.perf_counter()
            frame = pipeline.read(snapshot, spark, ["id"], route=way)
            frame.agg(fn.count("*"), fn.sum("id")).collect()
            wall, work = time.perf_counter() - moment, _processor() - before
            found.setdefault(way, []).append((wall, work))
    return {
        way: [round(statistics.median(column), 2) for column in zip(*taken[1:], strict=True)]
        for way, taken in found.items()
    }


def _processor() -> float:
    """Seconds that this process, the JVM and Python's workers have worked."""
    own = os.getpid()
    ticks, families = os.sysconf("SC_CLK_TCK"), {own}
    stats = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            stats[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in stats.items() if parent in families} - families
        families |= more
        grown = bool(more)
    total = sum(stats[pid][1] for pid in families if pid in stats)
    return total / ticks


_WAYS: tuple[rule.Route, ...] = ("parquet", "files")
_MODES = {"cold": _ask_cold, "memory": _ask_memory, "scan": _ask_scan, "route": _ask_route}

if __name__ == "__main__":
    asked, began, *others = sys.argv[1:]
    answer = _MODES[asked](float(began), *others)  # type: ignore[operator]
    sys.stdout.write(json.dumps(answer) + "\n")
