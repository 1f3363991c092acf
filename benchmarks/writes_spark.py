"""Rows of users written on Spark, beside delta-spark, in one warm session; `benchmarks.writes`
runs it.

Every write is of the same rows to a table of its own entrant, and a version with the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.pipeline import aggregated, start_session
from benchmarks.writes_here import eight_columns as arrow_rows
from benchmarks.writes_measured import (
    CHECKPOINTS,
    Taken,
    in_turn,
    print_line,
    processor_seconds,
    timed,
    timed_synced,
)
from explorer import pipeline

_PARTITIONS = 20
_MANY_PARTITIONS = 1_000
_WIDE = 1_000
OURS, REFERENCE, PARQUET = "delta-explorer", "delta-spark", "Spark's Parquet alone"
_PROPERTIES = {
    "delta.checkpointInterval": CHECKPOINTS,
    # what delta-spark takes by itself where a table says nothing
    "delta.parquet.compression.codec": "snappy",
}


def eight_columns(spark: SparkSession, rows: int, partitions: int = _PARTITIONS) -> DataFrame:
    """Rows that are made when they are asked for, by two tasks."""
    return spark.range(0, rows, 1, 2).selectExpr(
        "id",
        "id * 0.37 % 1000 as amount",
        "cast(id % 1000 as int) as region",
        f"cast(xxhash64(id) & 1048575 as int) % {partitions} as day",
        "concat('note ', cast(xxhash64(id) % 1000000 as string)) as note",
        "timestamp_micros(1700000000000000 + id * 1000) as at",
        "cast(id % 7 = 0 as boolean) as flag",
        "cast(id % 100000 / 100 as decimal(12, 2)) as price",
    )


@dataclass(frozen=True, kw_only=True)
class SparkWrites:
    """The lines that need Spark: how many rows and rounds, and where the tables are."""

    folder: Path
    rows: int
    rounds: int
    appends: int
    batches: int = 100

    @cached_property
    def spark(self) -> SparkSession:
        """The warm session."""
        return start_session()

    def frames(self) -> None:
        """The append of a DataFrame, unpartitioned."""
        self._frames(f"append of {self.rows:,} rows from a DataFrame", [])

    def by_day(self) -> None:
        """The same by 20 values."""
        title = f"append of {self.rows:,} rows from a DataFrame, {_PARTITIONS} partitions"
        self._frames(title, ["day"])

    def engines(self) -> None:
        """The append of rows of Arrow in this process, and by tasks that they are sent to."""
        rows = arrow_rows(self.rows)
        places = {name: self.folder / f"engine-{name}" for name in ("local", "spark")}
        for place in places.values():
            pipeline.write(rows.slice(0, 1000), place, properties=_PROPERTIES)
        here = lambda: pipeline.write(rows, places["local"], engine="local")  # noqa: E731
        sent = lambda: pipeline.write(rows, places["spark"], engine="spark", spark=self.spark)  # noqa: E731
        entrants = {
            OURS: lambda: timed(here, processor_seconds),
            "the same by Spark": lambda: timed(sent, processor_seconds),
        }
        title = f"append of {self.rows:,} rows of Arrow"
        _print(title, in_turn(self.rounds + 1, entrants))

    def one_row(self) -> None:
        """Appends of one row of Arrow, beside delta-spark's of one row of a DataFrame."""
        row = pa.table({"id": [1], "name": ["a"], "amount": [1.5]})
        frame = self.spark.sql("select 1L id, 'a' name, 1.5D amount")
        places = {name: self._table(f"row-{name}", frame.schema) for name in (OURS, REFERENCE)}
        ours = partial(_again, self.appends, lambda: pipeline.write(row, places[OURS]))
        theirs = partial(_again, self.appends, lambda: _append(frame, places[REFERENCE]))
        taken = in_turn(self.rounds + 1, self._entrants(ours, theirs, places))
        _print(f"append of 1 row, of {self.appends}", taken, self.appends)

    def stream(self) -> None:
        """A stream of small batches, a file in each."""
        source = self.folder / "small-files"
        source.mkdir()
        for number in range(self.batches):
            ids = range(number * 100, number * 100 + 100)
            rows = pa.table({"id": pa.array(ids, pa.int64()), "text": [str(at) for at in ids]})
            pq.write_table(rows, source / f"{number:03}.parquet")
        schema = self.spark.read.parquet(str(source)).schema
        runs = {name: self._streams(name, source, schema) for name in (OURS, REFERENCE)}
        places = {name: self.folder / f"stream-{name}" for name in (OURS, REFERENCE)}
        taken = in_turn(self.rounds + 1, self._entrants(runs[OURS], runs[REFERENCE], places))
        _print(f"a batch of a stream of {self.batches}", taken, self.batches)

    def partitions(self) -> None:
        """A thousand partitions at once: memory of the workers, and how many files."""
        frame = eight_columns(self.spark, self.rows, _MANY_PARTITIONS)
        place = self.folder / "many-partitions"
        taken = timed(lambda: pipeline.write(frame, place, partition_by="day"), processor_seconds)
        files = sum(1 for _ in place.rglob("*.parquet"))
        workers = sorted(_peaks_of_workers())
        print(
            f"| {self.rows:,} rows into {_MANY_PARTITIONS:,} partitions | {taken.wall:.1f} s "
            f"| {files:,} files of 2 tasks | "
            f"workers at most {workers[-1] if workers else 0:.0f} MiB |"
        )

    def wide(self) -> None:
        """Ten rows of many columns that may not be null."""
        columns = ", ".join(f"c{at} BIGINT NOT NULL" for at in range(_WIDE))
        frame = self.spark.range(0, 10, 1, 1).selectExpr(
            *(f"id + {at} c{at}" for at in range(_WIDE))
        )
        places = {name: self.folder / f"wide-{name}" for name in (OURS, REFERENCE)}
        for place in places.values():
            pipeline.create(place, columns, properties=_PROPERTIES)
        ours = lambda: pipeline.write(frame, places[OURS])  # noqa: E731
        theirs = lambda: _append(frame, places[REFERENCE])  # noqa: E731
        taken = in_turn(self.rounds + 1, self._entrants(ours, theirs, places))
        _print(f"10 rows of {_WIDE:,} NOT NULL columns", taken)

    def _frames(self, title: str, names: list[str]) -> None:
        frame = eight_columns(self.spark, self.rows)
        places = {
            name: self._table(f"frame-{len(names)}-{name[:12]}", frame.schema, names)
            for name in (OURS, REFERENCE)
        }
        alone = places[OURS].with_name(f"alone-{len(names)}")
        entrants = self._entrants(
            lambda: pipeline.write(frame, places[OURS]),
            lambda: _append(frame, places[REFERENCE], names),
            places,
        )
        entrants[PARQUET] = lambda: timed_synced(
            lambda: frame.write.mode("append").partitionBy(*names).parquet(str(alone)),
            alone,
            processor_seconds,
        )
        taken = in_turn(self.rounds + 1, entrants)
        found = [
            aggregated(self.spark.read.format("delta").load(str(places[name]))) for name in places
        ]
        if found[0] != found[1]:
            raise SystemExit(f"{title}: the answers differ: {found}")
        _print(title, taken)

    def _table(self, name: str, schema: Any, partition_by: Sequence[str] = ()) -> Path:
        place = self.folder / name
        pipeline.create(place, schema, partition_by=partition_by, properties=_PROPERTIES)
        return place

    def _entrants(
        self, ours: Callable[[], object], theirs: Callable[[], object], places: dict[str, Path]
    ) -> dict[str, Callable[[], Taken]]:
        return {
            OURS: lambda: timed(ours, processor_seconds),
            REFERENCE: lambda: timed_synced(theirs, places[REFERENCE], processor_seconds),
        }

    def _streams(self, name: str, source: Path, schema: Any) -> Callable[[], None]:
        kind = {OURS: "delta_explorer", REFERENCE: "delta"}[name]
        pipeline.register(self.spark)
        place = self._table(f"stream-{name}", schema)

        def run() -> None:
            checkpoint = self.folder / f"checkpoint-{name}-{time.time_ns()}"
            read = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            rows = read.parquet(str(source))
            writer = rows.writeStream.format(kind).option("checkpointLocation", str(checkpoint))
            query = writer.trigger(availableNow=True).start(str(place))
            query.awaitTermination()
            last = query.lastProgress
            if last is None or last["batchId"] < self.batches - 1:
                raise SystemExit(f"{name}: the last batch was {last}")

        return run


def _print(title: str, taken: dict[str, list[Taken]], times: int = 1) -> None:
    """Without the first of each, which warms what it needs."""
    print_line(title, {name: some[1:] for name, some in taken.items()}, times)


def _append(frame: DataFrame, place: Path, partition_by: Sequence[str] = ()) -> None:
    writer = frame.write.format("delta").mode("append")
    writer.partitionBy(*partition_by).save(str(place))


def _again(times: int, work: Callable[[], object]) -> None:
    for _ in range(times):
        work()


def _peaks_of_workers() -> list[float]:
    """MiB that each Python worker of Spark had at most."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            said = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            text = (entry / "status").read_text() if b"pyspark.daemon" in said else ""
        except OSError:  # it ended meanwhile
            continue
        found += [int(row.split()[1]) / 1024 for row in text.splitlines() if row[:5] == "VmHWM"]
    return found
