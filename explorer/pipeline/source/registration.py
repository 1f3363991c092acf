"""The format `delta_explorer` for a session."""

from __future__ import annotations

from typing import Any, Final

from explorer.errors import UnsupportedError
from explorer.pipeline.jobs.ended_tasks import speculates
from explorer.pipeline.session import choose_session
from explorer.pipeline.tasks.task_failures import ErrorMark

_NEEDED: Final = ("DataSourceArrowWriter", "DataSourceStreamArrowWriter")
"""Of pyspark's Python Data Source API: by them tasks write rows as Arrow."""


def register(spark: Any = None) -> None:
    """Make the format `delta_explorer` known to a session, for its lifetime: to `spark.read`,
    `spark.readStream`, `df.write` and `df.writeStream`.

    ``.option("versionAsOf", 12)``, ``.option("timestampAsOf", "2026-11-01T00:00:00Z")``, or
    ``.option("readChangeFeed", "true").option("startingVersion", 3)``. A convenience: all
    columns are read. Storage options come from a ``profile`` in the environment of the driver.

    Raises `UnsupportedError` (`missing_dependency`) for a pyspark that is too old for it.
    """
    session = choose_session(spark)
    _check_pyspark()
    from explorer.pipeline.source._data_source import source_for  # noqa: PLC0415  # it needs pyspark

    session.dataSource.register(source_for(ErrorMark(), twice=speculates(session)))


def _check_pyspark() -> None:
    import pyspark  # it is optional
    from pyspark.sql import datasource  # as above

    missing = [name for name in _NEEDED if not hasattr(datasource, name)]
    if missing:
        raise UnsupportedError(
            "The format delta_explorer needs a newer pyspark.",
            reason=f"pyspark {pyspark.__version__[:20]} has no {missing[0]}, by which tasks write "
            "rows as Arrow; the version that is tested is 4.2.",
            remedy='Install a newer one: pip install "pyspark>=4.2,<5". pipeline.read and '
            "pipeline.write do without the format.",
            kind="missing_dependency",
        )
