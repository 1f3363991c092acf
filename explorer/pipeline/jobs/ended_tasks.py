"""The end of the tasks of a job: until then they may make another file, and so may a second run of
a task of which nobody hears."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from explorer.pipeline.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST_END: Final = 3.0
"""Seconds until Spark has ended the tasks that a job does not need any more: a worker that does not
heed it is killed after two."""

_SPECULATION: Final = "spark.speculation"


def await_tasks(session: SparkSession) -> None:
    """Wait, not for long, until no task of a job that has ended can make another file. A Connect
    server does not say what it still does."""
    if is_connect(session):
        time.sleep(LONGEST_END)
        return
    until = time.monotonic() + LONGEST_END
    with contextlib.suppress(Exception):  # the session may have been stopped
        while time.monotonic() < until and any(_running(session)):
            time.sleep(0.05)


def speculates(session: SparkSession) -> bool:
    """Whether Spark runs a task twice at once where it is slow. Of the run that loses nobody hears
    which files it made."""
    return str(session.conf.get(_SPECULATION, "false")).lower() == "true"


def _running(session: SparkSession) -> Iterator[bool]:
    """Whether each executor has tasks, of whatever job."""
    for info in session.sparkContext._jsc.sc().statusTracker().getExecutorInfos():
        yield info.numRunningTasks() > 0
