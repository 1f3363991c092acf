"""The change data feed as a DataFrame (spec: Add CDC File)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.session import choose_session, parallelism
from explorer.pipeline.tasks.change_tasks import ReadChanges, build_change_tasks, spark_feed_schema
from explorer.pipeline.tasks.file_tasks import run_groups
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.table_marks import marked_rows
from explorer.pipeline.tasks.task_groups import group_files
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.rows.changes.feed import plan_feed
from explorer.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LABEL = "Reading commits"


def read_changes(  # what is asked for, with what, and who looks on
    table: Table,
    from_version: int,
    to_version: int | None = None,
    spark: Any = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> DataFrame:
    """The rows that changed between two versions, both inclusive, as `explorer.read_changes`
    tells them, in no certain order; `_commit_timestamp` has microseconds.

    The commits of the range are read now, and `progress` and `cancel` are for that; the
    files when an action asks for the rows (see `watching`). A file that has no column in common
    with the table stops the job with an error: a task has no way to tell of it. Raises what
    `explorer.read_changes` raises for what is asked, and `choose_session` for the session.
    """
    watch = Watch(progress=progress, cancel=cancel)
    feed = plan_feed(table, from_version, to_version, watch)
    schema = spark_schema(spark_feed_schema(feed.request))
    session = choose_session(spark)
    check_visible(session, table.store)
    versions = feed.range.versions

    def commits() -> Any:
        for done, version in enumerate(versions):
            watch.step(len(versions) + done, 2 * len(versions), _LABEL)
            yield feed.commit(version)

    tasks = build_change_tasks(commits())
    watch.step(2 * len(versions), 2 * len(versions), _LABEL)
    with clear_errors(f"Reading the changes of {table.uri}"):
        groups = group_files(tasks, parallelism(session))
        read = ReadChanges(store=table.store, request=feed.request, former=feed.former_layouts)
        return marked_rows(run_groups(session, groups, read, schema), table.store)
