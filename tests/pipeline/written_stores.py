"""Rows written to a store by each door, with whatever session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import explorer
from explorer import pipeline
from explorer.errors import DeltaError
from explorer.pipeline.session import is_connect

FORMAT: Final = "delta_explorer"
AT_ONCE: Final = 3
"""Writers that create one table."""

Write = Callable[[range, str, str], None]
"""Rows with these ids, where to, and the mode: `append` or `overwrite`."""


@dataclass(frozen=True, kw_only=True)
class Doors:
    """What writes through one session. `profile` is the name of that with the same storage
    `options`, in the environment of the side that commits; `scratch` is for streams."""

    spark: SparkSession
    options: Mapping[str, Any] | None
    profile: str | None
    scratch: Path

    def by_name(self) -> dict[str, Write]:
        """Every door."""
        return {
            "this process": self.here,
            "spark": self.on_spark,
            "format": self.by_format,
            "stream": self.by_stream,
        }

    def here(self, ids: range, uri: str, mode: str) -> None:
        """Rows of Arrow, in this process."""
        self._write(pa.table({"id": pa.array(ids, pa.int64())}), uri, mode, "local")

    def on_spark(self, ids: range, uri: str, mode: str) -> None:
        """A frame, by tasks."""
        self._write(self._frame(ids), uri, mode, "spark")

    def by_format(self, ids: range, uri: str, mode: str) -> None:
        """A frame, by Spark's own writer."""
        self._enter_thread()
        with pipeline.clear_errors("Writing"):
            writer = self._frame(ids).write.format(FORMAT).mode(mode)
            writer.options(**self._named).save(uri)

    def by_stream(self, ids: range, uri: str, mode: str) -> None:
        """A query with one batch."""
        self._enter_thread()
        with pipeline.clear_errors("Streaming"):
            self._start(ids, uri, mode)

    def _start(self, ids: range, uri: str, mode: str) -> None:
        scratch = self.scratch / f"stream-{next(_NUMBERS)}"
        self._frame(ids).write.parquet(str(scratch / "source"))
        frame = self.spark.readStream.schema("id long").parquet(str(scratch / "source"))
        if mode == "overwrite":
            frame = frame.groupBy("id").count().select("id")
        writer = frame.writeStream.format(FORMAT).options(**self._named)
        writer = writer.outputMode("complete" if mode == "overwrite" else "append")
        writer = writer.option("checkpointLocation", str(scratch / "checkpoint"))
        writer.trigger(availableNow=True).start(uri).awaitTermination()

    def _enter_thread(self) -> None:
        """Spark looks for a registered format in the session that is active in the thread alone."""
        if not is_connect(self.spark):
            java: Any = self.spark._jvm
            java.SparkSession.setActiveSession(self.spark._jsparkSession)

    @property
    def _named(self) -> dict[str, str]:
        return {} if self.profile is None else {"profile": self.profile}

    def _frame(self, ids: range) -> DataFrame:
        return self.spark.range(ids.start, ids.stop, 1, 2)

    def _write(self, data: Any, uri: str, mode: Any, engine: Any) -> None:
        pipeline.write(data, uri, mode=mode, engine=engine, storage_options=self.options)

    def create(self, uri: str) -> str:
        """By one who does not want a table that is there; how it ended."""
        try:
            self._write(self._frame(range(3)), uri, "error", "spark")
        except DeltaError as error:
            return str(error.kind)
        return "created"

    def ids(self, uri: str) -> list[int]:
        """The rows of the newest version."""
        snapshot = explorer.open_table(uri, self.options).snapshot()
        found: list[int] = explorer.read_rows(snapshot).column("id").to_pylist()
        return sorted(found)

    def files(self, uri: str) -> tuple[int, int]:
        """How many data files there are, and how many of them a version added."""
        table = explorer.open_table(uri, self.options)
        added = {
            path
            for version in range(table.latest_version() + 1)
            for path in table.snapshot(version=version).files(["path"])["path"].to_pylist()
        }
        names = table.store.list_names("")
        return sum(name.endswith(".parquet") for name in names), len(added)


_NUMBERS = count()


def appended_and_overwritten(doors: Doors, name: str, uri: str) -> list[list[int]]:
    """The rows after a table was created, appended to and overwritten through one door."""
    write, found = doors.by_name()[name], []
    for ids, mode in ((range(4), "append"), (range(4, 7), "append"), (range(9, 12), "overwrite")):
        write(ids, uri, mode)
        found.append(doors.ids(uri))
    return found


AFTER_EACH: Final = [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6], [9, 10, 11]]


def created_at_once(doors: Doors, name: str, uri: str) -> list[int]:
    """The rows where some append to a place without a table at the same time: one of them creates
    it, the others follow."""
    write, gate = doors.by_name()[name], threading.Barrier(AT_ONCE)

    def one(number: int) -> None:
        gate.wait()
        write(range(3 * number, 3 * number + 3), uri, "append")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, range(AT_ONCE)))
    return doors.ids(uri)


def created_by_one(doors: Doors, uri: str) -> list[str]:
    """How those end who each want to create the same table at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sorted(pool.map(lambda _: doors.create(uri), range(AT_ONCE)))
