"""The contract of the pipeline in a session of another kind; run as a program.

    python -m tests.pipeline.elsewhere connect|cluster FOLDER

`connect` starts a local Connect server, `cluster` two workers whose Python does not find
this package. FOLDER is where a small table is written. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import explorer
from explorer import pipeline
from explorer.errors import CancelledError, DeltaError
from explorer.pipeline.writing.spark_gate import apply_gate, given_schema_of
from explorer.progress import Cancel, Progress
from explorer.protocol.schema import ArrayType, parse_type_name
from explorer.storage.local import LocalStore
from tests.change_feeds import Feed, hiding
from tests.gate_tables import GateTable, column
from tests.row_values import counted_rows
from tests.tables import add, remove
from widgets import TableExplorer
from widgets.ui.live_html import LiveHtml

_HERE = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.log.level": "OFF",
}
_SECRET = "open-sesame-5b1d"
_OTHERS = {
    # else the server hears every interface, without asking who speaks
    "connect": {"spark.connect.grpc.binding.address": "127.0.0.1"},
    "cluster": {
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
    },
}
_MASTERS = {"connect": "local[2]", "cluster": "local-cluster[2,1,512]"}


def start(kind: str) -> SparkSession:
    """The session of that kind."""
    builder: Any = SparkSession.builder
    builder = (
        builder.remote(_MASTERS[kind]) if kind == "connect" else builder.master(_MASTERS[kind])
    )
    for name, value in (_HERE | _OTHERS[kind]).items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def written(folder: Path) -> explorer.Table:
    """Version 1 adds two files, 2 hides a row."""
    feed = Feed(folder / "t")
    feed.file("a", id=[1, 2, 3])
    feed.file("b", id=[4])
    stats = {"stats": '{"numRecords":3}'}
    feed.commit(add("a", **stats), add("b"))
    feed.commit(remove("a"), add("a", **stats, **hiding(1)))
    return explorer.open_table(feed.folder.root)


def same(found: pa.Table, wanted: pa.Table) -> bool:
    names = wanted.column_names
    return found.column_names == names and counted_rows(found) == counted_rows(wanted)


class SlowStore(LocalStore):
    """A local folder whose data files take a minute to open for a task; says where one does."""

    def open_input(self, path: str) -> pa.NativeFile:
        """The file, after a minute; whoever plans looks at its footer at once."""
        if TaskContext.get() is not None and not path.startswith("_delta_log"):
            self._told().touch()
            time.sleep(60)
        return super().open_input(path)

    def hear(self) -> bool:
        """Whether a data file was asked for since the last time."""
        heard = self._told().exists()
        self._told().unlink(missing_ok=True)
        return heard

    def _told(self) -> Path:
        return Path(self.uri) / "asked.tmp"


def cancelled_within(spark: SparkSession, table: explorer.Table) -> dict[str, float]:
    """By call, seconds from the flag to its end where it would take a minute; and how long a
    job takes then, which finds no slot where anything was left behind."""
    store = SlowStore(table.uri)
    slow = explorer.Table(store)
    older, newer = slow.snapshot(version=1), slow.snapshot()

    def read(cancel: Cancel) -> None:
        with pipeline.watching(spark, cancel=cancel):
            pipeline.read(newer, spark, route="files").collect()

    def changes(cancel: Cancel) -> None:
        with pipeline.watching(spark, cancel=cancel):
            pipeline.read_changes(slow, 1, spark=spark).collect()

    calls: dict[str, Callable[[Cancel], object]] = {
        "read": read,
        "read_changes": changes,
        "diff_rows": lambda cancel: pipeline.diff_rows(older, newer, ["id"], spark, cancel=cancel),
        "profile": lambda cancel: pipeline.profile(newer, ["id"], spark, cancel=cancel),
    }
    taken = {name: _stopped(call, store) for name, call in calls.items()}
    start = time.monotonic()
    assert spark.range(0, 4, 1, 4).count() == 4
    return taken | {"job after them": time.monotonic() - start}


def _stopped(call: Callable[[Cancel], object], store: SlowStore) -> float:
    cancel, pressed = Cancel(), list[float]()

    def press() -> None:
        deadline = time.monotonic() + 60
        while not store.hear() and time.monotonic() < deadline:
            time.sleep(0.05)
        pressed.append(time.monotonic())
        cancel.cancel()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        call(cancel)
    except CancelledError:
        return time.monotonic() - pressed[0]
    finally:
        thread.join()
        store.hear()
    return float("inf")


def executors() -> list[int]:
    """The processes of this program's cluster that run tasks."""
    lines = subprocess.run(
        ["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True, check=False
    ).stdout.split()
    ours = f"--driver-url spark://CoarseGrainedScheduler@127.0.0.1:{_driver_port()}"
    found = []
    for pid in map(int, lines):
        command = Path(f"/proc/{pid}/cmdline")
        if command.exists() and ours in command.read_text().replace("\0", " "):
            found.append(pid)
    return found


def _driver_port() -> str:
    session = SparkSession.getActiveSession()
    return "" if session is None else str(session.conf.get("spark.driver.port"))


def rows_after_a_loss(spark: SparkSession, table: explorer.Table) -> list[int]:
    """The rows that arrive where a process that works on them is killed meanwhile, and
    whether one was."""
    before = executors()

    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        time.sleep(4)

    def kill() -> None:
        for pid in before:
            os.kill(pid, signal.SIGKILL)

    frame = pipeline.read(table.snapshot(), spark, ["id"], route="files")
    threading.Timer(2, kill).start()
    with pipeline.watching(spark):
        rows = frame.mapInArrow(slowly, "id bigint").collect()
    gone = set(before) - set(executors())
    return [len(gone) > 0, *sorted(row["id"] for row in rows)]


def told(spark: SparkSession, table: explorer.Table) -> dict[str, Any]:
    """What was found."""
    snapshot, seen = table.snapshot(), list[Progress]()
    with pipeline.watching(spark, progress=seen.append):
        counted = pipeline.read(snapshot, spark, route="files").count()
    difference = pipeline.diff_rows(table.snapshot(version=1), snapshot, ["id"], spark)
    (figures,) = pipeline.profile(snapshot, ["id"], spark)
    changes = pipeline.read_changes(table, 1, spark=spark).drop("_commit_timestamp").toArrow()
    expected = explorer.read_changes(table, 1).drop_columns(["_commit_timestamp"])
    return {
        "module": type(spark).__module__,
        "rows": {
            route: same(
                pipeline.read(snapshot, spark, route=route).toArrow(), explorer.read_rows(snapshot)
            )
            for route in ("parquet", "files")
        },
        "counted": counted,
        "reported": bool(seen) and seen[-1].done == seen[-1].total,
        "changes": same(changes, expected),
        "large": large(spark, table),
        "diff": [difference.inserted, difference.deleted, difference.updated],
        "distinct": figures.distinct,
        "gated": gated(spark),
    }


def large(spark: SparkSession, table: explorer.Table) -> bool:
    """Whether a log that is reconciled on Spark has the same rows."""
    limits = pipeline.Limits(actions=0, commit_bytes=0)
    found = pipeline.with_spark_state(table, spark, limits).snapshot()
    rows = pipeline.read(found, spark).toArrow()
    return type(found) is not explorer.Snapshot and same(rows, explorer.read_rows(table.snapshot()))


def gated(spark: SparkSession) -> list[Any]:
    """What becomes of rows at the gate, with the numbers that they get; and of one that breaks a
    rule."""
    table = GateTable(
        column("n", "long", start=1, step=1, explicit=False),
        column("id", "byte"),
        column("list", ArrayType(element_type=parse_type_name("byte"), contains_null=False)),
        checks={"small": "exists(list, x -> x < 100)"},
    )
    frame = spark.range(99, 101, 1, 1).selectExpr("id", "array(id) list")
    plan = table.plan(given_schema_of(frame))
    (row,) = apply_gate(frame.filter("id < 100"), plan, partitions=1).collect()
    return [row["n"], row["id"], row["list"], _kind(apply_gate(frame, plan).collect)]


def blamed(spark: SparkSession, table: explorer.Table) -> dict[str, str]:
    """By what goes wrong, the kind of the error: mistakes of the caller, a file with more rows
    than the log says, found by the guard of Spark's own reader, and one that is cut."""
    snapshot = table.snapshot()
    frame = pipeline.read(snapshot, spark, route="parquet")
    place = Path(table.uri) / "a"
    data = place.read_bytes()
    kinds = {
        "a misspelt column": _kind(lambda: frame.filter("nosuch = 1").collect()),
        "a division by zero": _kind(lambda: frame.filter("1 / (id - id) > 1").collect()),
    }
    pq.write_table(pa.table({"id": [1, 2, 3, 5]}), place)
    kinds["more rows"] = _kind(lambda: frame.filter("id > 4").collect())
    place.write_bytes(data[: len(data) // 2])
    kinds["a cut file"] = _kind(frame.collect)
    place.unlink()
    kinds["no file"] = _kind(frame.collect)
    place.write_bytes(data)
    return kinds


def _kind(work: Callable[[], object]) -> str:
    try:
        with pipeline.clear_errors("Counting"):
            work()
    except DeltaError as error:
        return str(error.kind)
    return "none"


def refused(spark: SparkSession, table: explorer.Table) -> str | None:
    """The kind of the error before the package is there; None where none comes."""
    try:
        pipeline.read(table.snapshot(), spark, route="files").count()
    except DeltaError as error:
        return error.kind
    return None


def unseen(spark: SparkSession) -> str | None:
    """What is said of a table that this process alone sees."""
    memory = fsspec.filesystem("memory")
    memory.makedirs("/only-here/_delta_log", exist_ok=True)
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "x",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": '{"type":"struct","fields":[]}',
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    memory.pipe(
        "/only-here/_delta_log/00000000000000000000.json",
        "\n".join(map(json.dumps, actions)).encode(),
    )
    try:
        pipeline.read(explorer.open_table("memory://only-here").snapshot(), spark)
    except DeltaError as error:
        return error.kind
    return None


def rows_by_a_secret(spark: SparkSession, table: explorer.Table) -> list[int]:
    """The rows where the store was opened with an option that nobody else may see."""
    options = {"file": {"token": _SECRET}}
    opened = explorer.open_table(f"simplecache::file://{table.uri}", options)
    frame = pipeline.read(opened.snapshot(), spark, ["id"], "id > 0")
    assert _SECRET not in frame._jdf.queryExecution().toString()
    return sorted(row["id"] for row in frame.collect())


def merged(spark: SparkSession, place: Path) -> dict[str, Any]:
    """A merge on that session, of a source that has another answer each time, and what the feed
    says of it."""
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    pipeline.create(place, "id BIGINT, v DOUBLE", properties=properties)
    pipeline.write(pa.table({"id": [1, 2, 3], "v": [0.0] * 3}), place)
    source = spark.range(2, 6).select("id", (fn.rand() + 1).alias("v"))
    merging = pipeline.merge(place, source, "target.id = source.id", engine="spark", spark=spark)
    merging = merging.when_matched_delete("source.id = 2")
    merging = merging.when_matched_update({"v": fn.col("source.v") + fn.lit(1)})
    result = merging.when_not_matched_insert_all().execute()
    table = explorer.open_table(place)
    changes = explorer.read_changes(table, 2, 2).column("_change_type").to_pylist()
    rows = explorer.read_rows(table.snapshot()).to_pylist()
    return {
        "ids": sorted(row["id"] for row in rows),
        "drawn": sorted(row["id"] for row in rows if row["v"] > 0),
        "changes": sorted(changes),
        "inserted": result.metrics["numTargetRowsInserted"],
    }


def told_in_events(folder: Path) -> list[bool]:
    """Whether the event log has jobs, and whether it has the secret."""
    written = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [b"SparkListenerTaskEnd" in written, _SECRET.encode() in written]


def shown(spark: SparkSession, table: explorer.Table) -> dict[str, bool]:
    """What the explorer of a notebook says of rows that it reads through the active session,
    and whether that is this one."""
    page = TableExplorer(table)
    frame: Any = page.__panel__()

    def do(action: str) -> str:
        parts = frame.select(LiveHtml)
        part = next(part for part in parts if f'data-do="{action}"' in part.html)
        part._handle_msg({"action": action, "value": ""})
        return "".join(part.html for part in frame.select(LiveHtml))

    page._state.param.update(view="statistics", column="id")
    profile = do("profile")
    page._state.param.update(view="compare", older=1, version=2)
    return {
        "profile": "The exact figures come from every row" in profile,
        "compare": "Exactly: 1 deleted." in do("exact"),
        "is_ours": pipeline.choose_session() is spark,
    }


def main(kind: str, folder: Path) -> None:
    """All of it."""
    events = folder / "events"
    events.mkdir()
    _OTHERS["cluster"]["spark.eventLog.dir"] = events.as_uri()
    spark, table = start(kind), written(folder)
    found: dict[str, Any] = {"before": refused(spark, table)} if kind == "cluster" else {}
    pipeline.ship(spark)
    pipeline.ship(spark)  # once is enough, twice does no harm
    found |= told(spark, table) | {"unseen": unseen(spark), "blamed": blamed(spark, table)}
    if kind == "cluster":
        found["by_a_secret"] = rows_by_a_secret(spark, table)
        found["after_a_loss"] = rows_after_a_loss(spark, table)
    found["merged"] = merged(spark, folder / "merged")
    if kind == "connect":
        found["page"] = shown(spark, table)
        found["stopped_within"] = cancelled_within(spark, table)
    spark.stop()
    if kind == "cluster":
        found["events"] = told_in_events(events)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
