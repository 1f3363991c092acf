"""Which attempt of its task a function runs in."""

from __future__ import annotations

import sys


def attempt_number() -> int:
    """Which attempt of its task this is; 0 outside of one."""
    if "pyspark" not in sys.modules:
        return 0
    from pyspark import TaskContext  # a worker of Spark has it

    context = TaskContext.get()
    return 0 if context is None else int(context.attemptNumber())
