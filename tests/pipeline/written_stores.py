"""Rows written to a store by each door, with whatever session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from explorer import pipeline
from explorer.errors import StorageError
from explorer.pipeline.session import is_connect

FORMAT: Final = "delta_explorer"
_STARTS: Final = 5
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
        self._write(self.frame(ids), uri, mode, "spark")

    def by_format(self, ids: range, uri: str, mode: str) -> None:
        """A frame, by Spark's own writer."""
        self.enter_thread()
        with pipeline.clear_errors("Writing"):
            writer = self.frame(ids).write.format(FORMAT).mode(mode)
            writer.options(**self.named).save(uri)

    def by_stream(self, ids: range, uri: str, mode: str) -> None:
        """A query with one batch."""
        self.enter_thread()
        self._start(ids, uri, mode)

    def _start(self, ids: range, uri: str, mode: str) -> None:
        scratch = self.scratch / f"stream-{next(_NUMBERS)}"
        self.frame(ids).write.parquet(str(scratch))
        frame = self.spark.readStream.schema("id long").parquet(str(scratch))
        if mode == "overwrite":
            frame = frame.groupBy("id").count().select("id")
        self.run(frame, uri, "complete" if mode == "overwrite" else "append")

    def run(self, frame: DataFrame, uri: str, output: str) -> None:
        """A query to its end. One for which a busy machine starts no Python process in the ten
        seconds that Spark waits is started again, as the error says."""
        kept = self.scratch / f"checkpoint-{next(_NUMBERS)}"
        writer = frame.writeStream.format(FORMAT).options(**self.named).outputMode(output)
        writer = writer.option("checkpointLocation", str(kept)).trigger(availableNow=True)
        for _ in range(_STARTS):
            try:
                with pipeline.clear_errors("Streaming"):
                    writer.start(uri).awaitTermination()
            except StorageError as error:
                if "not ready within ten seconds" not in error.reason:
                    raise
            else:
                return
        raise AssertionError("the machine starts no process in ten seconds")

    def enter_thread(self) -> None:
        """Spark looks for a registered format in the session that is active in the thread alone."""
        if not is_connect(self.spark):
            java: Any = self.spark._jvm
            java.SparkSession.setActiveSession(self.spark._jsparkSession)

    @property
    def named(self) -> dict[str, str]:
        """The option of Spark that names the profile."""
        return {} if self.profile is None else {"profile": self.profile}

    def frame(self, ids: range) -> DataFrame:
        """Rows with these ids, in two parts."""
        return self.spark.range(ids.start, ids.stop, 1, 2)

    def _write(self, data: Any, uri: str, mode: Any, engine: Any) -> None:
        pipeline.write(data, uri, mode=mode, engine=engine, storage_options=self.options)

    def create(self, ids: range, uri: str) -> None:
        """By one who does not want a table that is there."""
        self._write(self.frame(ids), uri, "error", "spark")


_NUMBERS = count()
