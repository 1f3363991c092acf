"""The format `delta_explorer` for a session."""

from __future__ import annotations

from typing import Any

from explorer.pipeline.session import choose_session
from explorer.pipeline.tasks.task_failures import ErrorMark


def register(spark: Any = None) -> None:
    """Make the format `delta_explorer` known to a session, for its lifetime: to `spark.read`,
    `spark.readStream`, `df.write` and `df.writeStream`.

    ``.option("versionAsOf", 12)``, ``.option("timestampAsOf", "2026-11-01T00:00:00Z")``, or
    ``.option("readChangeFeed", "true").option("startingVersion", 3)``. A convenience: all
    columns are read. Storage options come from a ``profile`` in the environment of the driver.
    """
    session = choose_session(spark)
    from explorer.pipeline.source._data_source import source_for  # noqa: PLC0415  # it needs pyspark

    session.dataSource.register(source_for(ErrorMark()))
