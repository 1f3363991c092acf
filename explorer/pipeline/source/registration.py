"""The format `delta_explorer` for a session."""

from __future__ import annotations

from typing import Any

from explorer.pipeline.session import choose_session
from explorer.pipeline.tasks.task_failures import ErrorMark


def register(spark: Any = None) -> None:
    """Make `spark.read.format("delta_explorer")` known to a session, for its lifetime.

    ``.option("versionAsOf", 12)``, ``.option("timestampAsOf", "2026-11-01T00:00:00Z")``, or
    ``.option("readChangeFeed", "true").option("startingVersion", 3)``. A convenience: all
    columns are read, and paths are those that the workers see without storage options.
    """
    session = choose_session(spark)
    from explorer.pipeline.source._data_source import source_for  # noqa: PLC0415  # it needs pyspark

    session.dataSource.register(source_for(ErrorMark()))
