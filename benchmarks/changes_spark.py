"""Rows changed on Spark, beside delta-spark, in one warm session; `benchmarks.changes` runs it."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import explorer
from benchmarks.pipeline import aggregated, start_session
from benchmarks.writes_here import columns_of
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
from explorer.pipeline.removing.workplace import Engine
from explorer.progress import Progress

_PARTS = 10
_SOURCE = 100_000
OURS, REFERENCE = "delta-explorer", "delta-spark"
_ROWS = "region < 10"
"""True for a hundredth of the rows of each file; no statistics of a file say so."""

Step = Callable[["SparkChanges", Path], object]


@dataclass(frozen=True, kw_only=True)
class SparkChanges:
    """The lines that need Spark. `folder` keeps the tables, `scratch` their copies."""

    folder: Path
    scratch: Path
    rows: int
    rounds: int
    engine: Engine = "spark"
    spans: list[str] = field(default_factory=list)
    _copies: Any = field(default_factory=count)
    _heard: list[tuple[float, str]] = field(default_factory=list)

    @cached_property
    def spark(self) -> SparkSession:
        """The warm session."""
        return start_session()

    def run(self, case: str) -> None:
        """One line."""
        name = case.removesuffix("-rewriting")
        way = "feed" if case == "feed" else "vectors" if case == name else "rewriting"
        title = f"{_TITLES[name]}, {self.rows:,} rows, {_WAYS[way]}"
        place = self._table(way)
        parts: dict[str, list[Mapping[str, float]]] = {OURS: [], REFERENCE: []}
        last: dict[str, Path] = {}

        def entrant(who: str, step: Step) -> Callable[[], Taken]:
            def once() -> Taken:
                copy = last[who] = self._copy(place)
                self._warm(copy, who)
                work = lambda: step(self, copy)  # noqa: E731
                if who == OURS:
                    self._heard.clear()
                    taken = timed(work, processor_seconds)
                    parts[who].append(self._said(taken.wall))
                else:
                    taken = timed_synced(work, copy, processor_seconds)
                    parts[who].append(self._metrics(copy))
                return taken

            return once

        ours, theirs = _STEPS[name]
        taken = in_turn(
            self.rounds + 1, {OURS: entrant(OURS, ours), REFERENCE: entrant(REFERENCE, theirs)}
        )
        found = [
            aggregated(self.spark.read.format("delta").load(str(last[who])))
            for who in (OURS, REFERENCE)
        ]
        if found[0] != found[1]:
            raise SystemExit(f"{title}: the answers differ: {found}")
        # the first of each warms what it needs
        print_line(title, {who: some[1:] for who, some in taken.items()})
        for who, some in parts.items():
            names = dict.fromkeys(name for one in some[1:] for name in one)
            told = (
                f"{name} {statistics.median(one.get(name, 0) for one in some[1:]):.2f}"
                for name in names
            )
            self.spans.append(f"- {title}, {who}: {', '.join(told)}")
        for copy in self.scratch.iterdir():
            shutil.rmtree(copy)

    def source(self, *, part: int | None = None) -> DataFrame:
        """Rows of which two thirds are in the table, all in one partition where `part` says so."""
        known = _SOURCE * 2 // 3
        stride = self.rows // known
        while stride % 2 == 0 or stride % 5 == 0:
            stride -= 1  # so that every file is met
        ids = f"CASE WHEN id < {known} THEN id * {stride} ELSE {self.rows} + id END"
        if part is not None:
            ids = f"CASE WHEN id < {known} THEN {_id_of(part)} ELSE {self.rows} + id END"
        day = f"CAST({_PART} AS INT)" if part is None else f"{part}"
        frame = self.spark.range(0, _SOURCE, 1, 2).selectExpr(f"{ids} AS id")
        return frame.selectExpr(
            "id",
            "id * 0.5D AS amount",
            "CAST(id % 1000 AS INT) AS region",
            f"{day} AS day",
            "concat('note ', id) AS note",
            "timestamp_micros(1700000000000000 + id) AS at",
            "true AS flag",
            "CAST(id % 100 AS DECIMAL(12, 2)) AS price",
        )

    def progress(self, report: Progress) -> None:
        """Hears what our statement does next."""
        self._heard.append((time.perf_counter(), report.label))

    def sql(self, text: str) -> None:
        """Runs a statement of delta-spark."""
        self.spark.sql(text).collect()

    def _said(self, wall: float) -> Mapping[str, float]:
        """Seconds by what was reported, from the first report to the end."""
        found: dict[str, float] = {}
        now = time.perf_counter()
        if self._heard:
            found["before"] = wall - (now - self._heard[0][0])
        ends = [*(at for at, _ in self._heard[1:]), now]
        for (at, label), end in zip(self._heard, ends, strict=False):
            found[label] = found.get(label, 0) + end - at
        return found

    def _metrics(self, place: Path) -> Mapping[str, float]:
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{place}` LIMIT 1")
        told = history.select("operationMetrics").collect()[0][0]
        names = ("materializeSourceTimeMs", "scanTimeMs", "rewriteTimeMs", "executionTimeMs")
        return {name: int(told[name]) / 1000 for name in names if told.get(name)}

    def _warm(self, place: Path, who: str) -> None:
        """The peer keeps a table's state between statements; our workers of Python end where
        nothing was asked of them for a minute, as by a benchmark on a busy machine."""
        if who == REFERENCE:
            self.spark.read.format("delta").load(str(place)).filter("id < 0").count()
        else:
            snapshot = explorer.open_table(place).snapshot()
            pipeline.read(snapshot, self.spark, ["id"], "id < 1000", route="files").count()

    def _copy(self, place: Path) -> Path:
        """A copy, whose data files are links: nobody writes into one."""
        copy = self.scratch / f"table-{next(self._copies)}"
        shutil.copytree(place / "_delta_log", copy / "_delta_log")
        for path in place.rglob("*.parquet"):
            if "_delta_log" not in path.parts:
                link = copy / path.relative_to(place)
                link.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, link)
        return copy

    def _table(self, way: str) -> Path:
        place = self.folder / f"changes-2-{self.rows}-{way}"
        if place.exists():
            return place
        made = place.with_name(f"{place.name}.new")
        shutil.rmtree(made, ignore_errors=True)
        properties = {
            "delta.checkpointInterval": CHECKPOINTS,
            "delta.parquet.compression.codec": "snappy",
            "delta.enableDeletionVectors": str(way != "rewriting").lower(),
            "delta.enableChangeDataFeed": str(way == "feed").lower(),
        }
        each = self.rows // _PARTS
        for at in range(_PARTS):
            rows = columns_of(range(at, self.rows, _PARTS), parts=_PARTS)
            assert rows.num_rows == each
            pipeline.write(rows, made, partition_by="day", properties=properties, engine="local")
            properties = {}
        made.rename(place)
        return place


_RUN = 1000
_PART = f"id DIV {_RUN} % {_PARTS}"


def _id_of(part: int) -> str:
    """The id of the n-th row of a partition."""
    return f"(id DIV {_RUN} * {_RUN * _PARTS} + {part * _RUN} + id % {_RUN})"


def _delete(bench: SparkChanges, place: Path) -> None:
    pipeline.delete(place, _ROWS, engine=bench.engine, spark=bench.spark, progress=bench.progress)


def _delete_partition(bench: SparkChanges, place: Path) -> None:
    pipeline.delete(place, "day = 3", spark=bench.spark, progress=bench.progress)


def _update(bench: SparkChanges, place: Path) -> None:
    pipeline.update(
        place,
        {"amount": "amount * 2"},
        _ROWS,
        engine=bench.engine,
        spark=bench.spark,
        progress=bench.progress,
    )


def _update_by_reference(bench: SparkChanges, place: Path) -> None:
    bench.sql(f"UPDATE delta.`{place}` SET amount = amount * 2 WHERE {_ROWS}")


def _merge(part: int | None) -> Step:
    def step(bench: SparkChanges, place: Path) -> None:
        merging = pipeline.merge(
            place,
            bench.source(part=part),
            _on(part),
            engine=bench.engine,
            spark=bench.spark,
            progress=bench.progress,
        )
        merging.when_matched_update_all().when_not_matched_insert_all().execute()

    return step


def _merge_by_reference(part: int | None) -> Step:
    def step(bench: SparkChanges, place: Path) -> None:
        bench.source(part=part).createOrReplaceTempView("merged")
        bench.sql(
            f"MERGE INTO delta.`{place}` AS target USING merged AS source ON {_on(part)} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    return step


def _on(part: int | None) -> str:
    same = "target.id = source.id"
    return same if part is None else f"{same} AND target.day = source.day"


_STEPS: Mapping[str, tuple[Step, Step]] = {
    "delete": (_delete, lambda on, place: on.sql(f"DELETE FROM delta.`{place}` WHERE {_ROWS}")),
    "partition": (
        _delete_partition,
        lambda on, place: on.sql(f"DELETE FROM delta.`{place}` WHERE day = 3"),
    ),
    "update": (_update, _update_by_reference),
    "feed": (_update, _update_by_reference),
    "merge": (_merge(None), _merge_by_reference(None)),
    "merge-partition": (_merge(3), _merge_by_reference(3)),
}
_TITLES = {
    "delete": "delete of 1 % of rows",
    "partition": "delete of one partition of ten",
    "update": "update of 1 % of rows",
    "feed": "update of 1 % of rows",
    "merge": f"merge of {_SOURCE:,} rows, a third new",
    "merge-partition": f"merge of {_SOURCE:,} rows into one partition of ten",
}
_WAYS = {"vectors": "vectors", "feed": "vectors and change data", "rewriting": "rewriting files"}
