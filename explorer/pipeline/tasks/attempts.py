"""Which task a function runs in, and which attempt of it."""

from __future__ import annotations

import sys
from typing import Any


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


def _context() -> Any:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import TaskContext  # a worker of Spark has it

    return TaskContext.get()
