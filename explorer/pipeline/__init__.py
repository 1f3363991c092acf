"""Bulk work on rows, by PySpark: on the caller's session, or on a local one.

    from explorer import pipeline

    frame = pipeline.read(snapshot)          # a DataFrame, classic or Connect
    pipeline.plan_read(snapshot).reason      # which route it takes, and why

pyspark is loaded when rows are asked for, not before.

Rooms: `reading` chooses between `native` (Spark's own Parquet reader) and `tasks` (file by file);
`column_profile`, `diff` and `rewrite` work on what it reads; `writing` writes rows of users,
`planned_writes` those that somebody approves of first; `source` is Spark's format of this package;
`large` keeps the log itself on Spark; `jobs` watches what runs, on the session of `session`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from explorer.pipeline.column_profile.column_profile import profile
    from explorer.pipeline.column_profile.facts import ColumnProfile
    from explorer.pipeline.diff.row_diff import RowDiff, diff_rows
    from explorer.pipeline.jobs.failures import clear_errors
    from explorer.pipeline.jobs.shipping import ship
    from explorer.pipeline.jobs.watching_jobs import watching
    from explorer.pipeline.large.large_table import Limits, with_spark_state
    from explorer.pipeline.reading.changes import read_changes
    from explorer.pipeline.reading.partition_conditions import evaluate_on_partitions
    from explorer.pipeline.reading.reading import ReadPlan, plan_read, read
    from explorer.pipeline.reading.row_conditions import Violations, find_violations
    from explorer.pipeline.rewrite.file_statistics import measure_files
    from explorer.pipeline.rewrite.rewrite import Rewrite, rewrite_files
    from explorer.pipeline.session import choose_session, prepare_session
    from explorer.pipeline.source.registration import register
    from explorer.pipeline.writing.create import create
    from explorer.pipeline.writing.write import write
    from explorer.writing.statements.options import WriteResult

# Name -> the module that defines it, loaded when the name is asked for. No module is
# called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "ColumnProfile": "column_profile.facts",
    "Limits": "large.large_table",
    "ReadPlan": "reading.reading",
    "Rewrite": "rewrite.rewrite",
    "RowDiff": "diff.row_diff",
    "Violations": "reading.row_conditions",
    "WriteResult": "writing.write",
    "choose_session": "session",
    "clear_errors": "jobs.failures",
    "create": "writing.create",
    "diff_rows": "diff.row_diff",
    "evaluate_on_partitions": "reading.partition_conditions",
    "find_violations": "reading.row_conditions",
    "measure_files": "rewrite.file_statistics",
    "plan_read": "reading.reading",
    "prepare_session": "session",
    "profile": "column_profile.column_profile",
    "read": "reading.reading",
    "read_changes": "reading.changes",
    "register": "source.registration",
    "rewrite_files": "rewrite.rewrite",
    "ship": "jobs.shipping",
    "watching": "jobs.watching_jobs",
    "with_spark_state": "large.large_table",
    "write": "writing.write",
}

__all__ = [
    "ColumnProfile",
    "Limits",
    "ReadPlan",
    "Rewrite",
    "RowDiff",
    "Violations",
    "WriteResult",
    "choose_session",
    "clear_errors",
    "create",
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
    "write",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
