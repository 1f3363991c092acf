"""Bulk work on rows, by PySpark: on the caller's session, or on a local one.

    from explorer import pipeline

    frame = pipeline.read(snapshot)          # a DataFrame, classic or Connect
    pipeline.plan_read(snapshot).reason      # which route it takes, and why

pyspark is loaded when rows are asked for, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.pipeline.changes import read_changes
    from explorer.pipeline.column_profile import profile
    from explorer.pipeline.failures import clear_errors
    from explorer.pipeline.file_statistics import measure_files
    from explorer.pipeline.large_table import Limits, with_spark_state
    from explorer.pipeline.partition_conditions import evaluate_on_partitions
    from explorer.pipeline.profile_facts import ColumnProfile
    from explorer.pipeline.reading import ReadPlan, plan_read, read
    from explorer.pipeline.registration import register
    from explorer.pipeline.rewrite import Rewrite, rewrite_files
    from explorer.pipeline.row_conditions import Violations, find_violations
    from explorer.pipeline.row_diff import RowDiff, diff_rows
    from explorer.pipeline.session import choose_session, prepare_session
    from explorer.pipeline.shipping import ship
    from explorer.pipeline.watching_jobs import watching

# Name -> the module that defines it, loaded when the name is asked for. No module is
# called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "ColumnProfile": "profile_facts",
    "Limits": "large_table",
    "ReadPlan": "reading",
    "Rewrite": "rewrite",
    "RowDiff": "row_diff",
    "Violations": "row_conditions",
    "choose_session": "session",
    "clear_errors": "failures",
    "diff_rows": "row_diff",
    "evaluate_on_partitions": "partition_conditions",
    "find_violations": "row_conditions",
    "measure_files": "file_statistics",
    "plan_read": "reading",
    "prepare_session": "session",
    "profile": "column_profile",
    "read": "reading",
    "read_changes": "changes",
    "register": "registration",
    "rewrite_files": "rewrite",
    "ship": "shipping",
    "watching": "watching_jobs",
    "with_spark_state": "large_table",
}

__all__ = [
    "ColumnProfile",
    "Limits",
    "ReadPlan",
    "Rewrite",
    "RowDiff",
    "Violations",
    "choose_session",
    "clear_errors",
    "diff_rows",
    "evaluate_on_partitions",
    "find_violations",
    "measure_files",
    "plan_read",
    "prepare_session",
    "profile",
    "read",
    "read_changes",
    "register",
    "rewrite_files",
    "ship",
    "watching",
    "with_spark_state",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
