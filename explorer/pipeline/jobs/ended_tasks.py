"""The end of the tasks of a job that failed: until then they may make another file."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from explorer.pipeline.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LONGEST_END: Final = 3.0
"""Seconds until Spark has ended the tasks of a job that failed: a worker that does not heed it is
killed after two."""


def await_tasks(session: SparkSession) -> None:
    """Wait, not for long, until no task of a failed job can make another file. A Connect server
    does not say what it still does."""
    if is_connect(session):
        return
    until = time.monotonic() + _LONGEST_END
    with contextlib.suppress(Exception):  # the session may have been stopped
        while time.monotonic() < until and any(_running(session)):
            time.sleep(0.05)


def _running(session: SparkSession) -> Iterator[bool]:
    """Whether each executor has tasks, of whatever job."""
    for info in session.sparkContext._jsc.sc().statusTracker().getExecutorInfos():
        yield info.numRunningTasks() > 0
