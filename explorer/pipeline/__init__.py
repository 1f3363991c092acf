"""Bulk work on rows with PySpark, on the caller's session or on a local one.

    from explorer import pipeline

    frame = pipeline.read(snapshot)          # a DataFrame, classic or Connect
    pipeline.plan_read(snapshot).reason      # which route it takes, and why

pyspark is imported when a function here is first used.

Folders: `reading` chooses between `native` (Spark's Parquet reader) and `tasks` (file by file);
`column_profile`, `diff` and `rewrite` work on the rows; `writing` writes rows of users, `changing`
changes those that are there, `merging` merges others into them, `removing` takes rows out of their
files, `planned_writes` writes those that are approved of first, and `source` is the format
`delta_explorer`; `large` keeps the state of a long log on Spark; `jobs` reports progress, cancels
jobs and translates errors of Spark. `session` finds or starts the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.front_door import lazy_names

if TYPE_CHECKING:
    from explorer.pipeline.changing.delete import delete
    from explorer.pipeline.changing.update import update
    from explorer.pipeline.column_profile.column_profile import profile
    from explorer.pipeline.column_profile.facts import ColumnProfile
    from explorer.pipeline.diff.row_diff import RowDiff, diff_rows
    from explorer.pipeline.jobs.failures import clear_errors
    from explorer.pipeline.jobs.shipping import ship
    from explorer.pipeline.jobs.watching_jobs import watching
    from explorer.pipeline.large.large_table import Limits, with_spark_state
    from explorer.pipeline.merging.merge import Merge, merge
    from explorer.pipeline.reading.changes import read_changes
    from explorer.pipeline.reading.partition_conditions import evaluate_on_partitions
    from explorer.pipeline.reading.reading import ReadPlan, plan_read, read
    from explorer.pipeline.reading.row_conditions import Violations, find_violations
    from explorer.pipeline.rewrite.file_statistics import measure_files
    from explorer.pipeline.rewrite.rewrite import Rewrite, rewrite_files
    from explorer.pipeline.session import choose_session, prepare_session
    from explorer.pipeline.source.registration import register
    from explorer.pipeline.writing.clone import clone
    from explorer.pipeline.writing.create import create
    from explorer.pipeline.writing.write import write
    from explorer.writing.statements.options import WriteResult

# Name -> the module that defines it, loaded when the name is asked for. No module is
# called like what it defines: importing it would put it in the place of that.
_HOMES = {
    "ColumnProfile": "column_profile.facts",
    "Limits": "large.large_table",
    "Merge": "merging.merge",
    "ReadPlan": "reading.reading",
    "Rewrite": "rewrite.rewrite",
    "RowDiff": "diff.row_diff",
    "Violations": "reading.row_conditions",
    "WriteResult": "writing.write",
    "choose_session": "session",
    "clear_errors": "jobs.failures",
    "clone": "writing.clone",
    "create": "writing.create",
    "delete": "changing.delete",
    "diff_rows": "diff.row_diff",
    "evaluate_on_partitions": "reading.partition_conditions",
    "find_violations": "reading.row_conditions",
    "measure_files": "rewrite.file_statistics",
    "merge": "merging.merge",
    "plan_read": "reading.reading",
    "prepare_session": "session",
    "profile": "column_profile.column_profile",
    "read": "reading.reading",
    "read_changes": "reading.changes",
    "register": "source.registration",
    "rewrite_files": "rewrite.rewrite",
    "ship": "jobs.shipping",
    "update": "changing.update",
    "watching": "jobs.watching_jobs",
    "with_spark_state": "large.large_table",
    "write": "writing.write",
}

__all__ = [
    "ColumnProfile",
    "Limits",
    "Merge",
    "ReadPlan",
    "Rewrite",
    "RowDiff",
    "Violations",
    "WriteResult",
    "choose_session",
    "clear_errors",
    "clone",
    "create",
    "delete",
    "diff_rows",
    "evaluate_on_partitions",
    "find_violations",
    "measure_files",
    "merge",
    "plan_read",
    "prepare_session",
    "profile",
    "read",
    "read_changes",
    "register",
    "rewrite_files",
    "ship",
    "update",
    "watching",
    "with_spark_state",
    "write",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
