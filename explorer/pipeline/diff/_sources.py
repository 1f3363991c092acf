"""Where the rows come from that two versions may not share: their files, or the change feed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

import pyarrow as pa

from explorer.errors import DeltaError
from explorer.pipeline.diff._diff_tasks import DiffTasks
from explorer.pipeline.session import parallelism
from explorer.pipeline.tasks.change_tasks import ReadChanges, build_change_tasks, spark_feed_schema
from explorer.pipeline.tasks.file_tasks import run_groups
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_groups import group_files
from explorer.progress import Watch
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.rows.changes.feed import ChangeFeed, CommitChanges, plan_feed
from explorer.rows.layout import RowLayout, layout_of
from explorer.rows.older_columns import columns_as_in
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Side = Literal["before", "after"]

_TYPES: Final = {
    "before": ("delete", "update_preimage"),
    "after": ("insert", "update_postimage"),
}

WORTH: Final = 2
"""The feed is read where it has fewer bytes than the files by this factor: it must be
netted, because a row may have come and gone between the two versions."""


class RowSource(Protocol):
    """Rows of two versions, seen by the schema of the newer one."""

    @property
    def request(self) -> RowRequest:
        """What is read of them."""
        ...

    def read(self, spark: SparkSession, side: Side) -> DataFrame:
        """The rows of one version that the other one may not have."""
        ...

    @property
    def must_net(self) -> bool:
        """Whether one row may stand on both sides, for it was added and removed in between."""
        ...


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """Files, and vectors of files, that the two versions do not share."""

    store: ReadStore
    request: RowRequest
    tasks: DiffTasks
    seen_before: RowLayout
    """How files of the older version hold the columns of the newer one."""
    layout_before: RowLayout
    """How these files were written: the newer version may have none of their columns."""
    must_net: bool = False

    def read(self, spark: SparkSession, side: Side) -> DataFrame:
        """See `RowSource.read`."""
        tasks = self.tasks.before if side == "before" else self.tasks.after
        read = ReadChanges(
            store=self.store,
            request=replace(self.request, layout=self.seen_before)
            if side == "before"
            else self.request,
            only="delete" if side == "before" else "insert",
            former=(self.layout_before,) if side == "before" else (),
        )
        groups = group_files(tasks, parallelism(spark))
        return run_groups(spark, groups, read, spark_schema(spark_feed_schema(self.request)))


@dataclass(frozen=True, kw_only=True)
class FeedSource:
    """The changes that the commits between the two versions recorded (spec: Add CDC File)."""

    store: ReadStore
    request: RowRequest
    tasks: pa.Table
    former: tuple[RowLayout, ...]
    must_net: bool = True

    def read(self, spark: SparkSession, side: Side) -> DataFrame:
        """See `RowSource.read`."""
        from pyspark.sql import functions as fn

        read = ReadChanges(
            store=self.store, request=self.request, knows_types=True, former=self.former
        )
        groups = group_files(self.tasks, parallelism(spark))
        frame = run_groups(spark, groups, read, spark_schema(spark_feed_schema(self.request)))
        return frame.filter(fn.col(CHANGE_COLUMNS[0]).isin(*_TYPES[side]))


def find_feed(
    older: Snapshot, newer: Snapshot, request: RowRequest, tasks: DiffTasks, watch: Watch
) -> FeedSource | None:
    """The change feed from one version to the other, where every commit in between has one,
    it can be told by the schema of the newer version, and it has far fewer bytes than the
    files; else None."""
    if newer.version <= older.version:
        return None
    try:
        feed = plan_feed(Table(newer.store), older.version + 1, newer.version, watch)
        found = build_change_tasks(_commits(feed, watch))
    except DeltaError:  # then the files say it
        return None
    if found.column("size").null_count:  # a removed file need not say how large it was
        return None
    sizes = [sum_of(side.column("size")) for side in (found, tasks.before, tasks.after)]
    if WORTH * sizes[0] >= sizes[1] + sizes[2]:
        return None
    return FeedSource(store=newer.store, request=request, tasks=found, former=feed.former_layouts)


def seen_layout(older: Snapshot, newer: Snapshot) -> RowLayout:
    """How files of the older version hold the columns of the newer one."""
    protocol, metadata = columns_as_in(older, newer)
    return replace(layout_of(older.described_by(protocol, metadata)), version=newer.version)


def _commits(feed: ChangeFeed, watch: Watch) -> Iterator[CommitChanges]:
    versions = feed.range.versions
    for done, version in enumerate(versions):
        watch.step(done, len(versions), "Looking for change data")
        yield feed.commit(version)
