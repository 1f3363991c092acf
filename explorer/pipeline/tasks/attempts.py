"""Which task a function runs in, which attempt of it, and what the driver is told of attempts."""

from __future__ import annotations

import sys
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_BATCH: Final = "streaming.sql.batchId"
"""Under which name Spark tells tasks of a stream which of its batches they work on."""


def told_by(attempt: int, written: pa.RecordBatch) -> pa.RecordBatch:
    """What an attempt of a task tells: its new files, with the columns `path` and `attempt`. For
    none one row without a path, where the task was tried again: the attempt before it may have left
    some."""
    if written.num_rows or not attempt:
        return written
    return pa.RecordBatch.from_pylist([{"attempt": attempt}], written.schema)


class Retries:
    """Whether tasks of a statement were tried again, as far as they were heard."""

    def __init__(self) -> None:
        self.seen = False

    def hear(self, told: pa.Table) -> pa.Table:
        """The new files that tasks tell of, in rows as `told_by` has them."""
        self.seen = self.seen or bool(pc.max(told.column("attempt")).as_py())
        return told.filter(pc.is_valid(told.column("path")))


def attempt_number() -> int:
    """Which attempt of its task this is; 0 outside of one."""
    context = _context()
    return 0 if context is None else int(context.attemptNumber())


def run_number() -> int:
    """A number that no other run of a task has within one application of Spark; 0 outside of one.

    It is what names of new files are made of. Attempts do not tell runs apart: they are counted
    from 0 again where Spark runs a stage again because files of its shuffle were lost, and a task
    of the stage before may write still.
    """
    context = _context()
    return 0 if context is None else int(context.taskAttemptId())


def part_number() -> int:
    """Which part of its frame a task works on; 0 outside of one."""
    context = _context()
    return 0 if context is None else int(context.partitionId())


def batch_number() -> str | None:
    """Which batch of its stream a task works on; None outside of one."""
    context = _context()
    return None if context is None else context.getLocalProperty(_BATCH)


def _context() -> Any:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import TaskContext  # a worker of Spark has it

    return TaskContext.get()
