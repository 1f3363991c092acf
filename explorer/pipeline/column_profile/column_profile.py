"""Exact figures of columns: from the log where it has them, else from all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa

from explorer.errors import InvalidArgumentError
from explorer.pipeline.column_profile._log import profile_by_statistics, profile_partition_column
from explorer.pipeline.column_profile._values import (
    COUNT,
    NUMBER,
    CountValues,
    has_numbers,
    is_nested,
)
from explorer.pipeline.column_profile.facts import (
    ALL_MEASURES,
    QUANTILES,
    ColumnProfile,
    Measure,
    ProfileRequest,
    bins_of,
    only_wanted,
)
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import current_watch, watched
from explorer.pipeline.large.large_scan import read_on_spark
from explorer.pipeline.large.large_table import LargeSnapshot
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import choose_session, parallelism
from explorer.pipeline.tasks.comparable import comparable
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, ReadFiles, run_groups
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.task_groups import group_files
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.schema import StructField
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.python_values import python_values
from explorer.rows.request import build_request
from explorer.rows.unrelated_files import not_shown, tell_unrelated
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType as SparkSchema

Place: TypeAlias = tuple[Any, ...]
"""The values by which one partition is known; the empty tuple where all rows are one."""

_MOST: Final = 1000
"""Bins, and most frequent values, that can be asked for."""


def profile(  # noqa: PLR0913  # what is asked for, with what, and who looks on
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    spark: Any = None,
    *,
    measures: Sequence[Measure] = ALL_MEASURES,
    by_partition: bool = False,
    bins: int = 20,
    top: int = 10,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> tuple[ColumnProfile, ...]:
    """The figures of some columns, of all where None: one entry a column, or with
    `by_partition` one a column and partition.

    Each column is read once, by itself; where the log answers, no row is, and without any
    other column no session is needed: always the number of rows where statistics have it,
    everything of partition columns, and without deletion vectors nulls, and extremes of
    whole numbers and dates, where statistics have them for every file.

    Files that have no column in common with the table count as nulls, and are told by
    `snapshot.problems` (see `read`). Raises `InvalidArgumentError` for what cannot be meant, and
    what `read` raises.
    """
    request = _checked(measures, bins, top)
    watch = Watch(progress=progress, cancel=cancel)
    items = _items(snapshot, columns, by_partition=by_partition)
    found: dict[str, list[ColumnProfile]] = {}
    for item in () if by_partition else items:
        known = _from_log(snapshot, item, request)
        if known is not None:
            found[item.name] = [known]
    left = [item.name for item in items if item.name not in found]
    if left:
        session = choose_session(spark)
        check_visible(session, snapshot.store)
        partitions = snapshot.metadata.partition_columns if by_partition else ()
        rows = ProfiledRows(
            spark=session, snapshot=snapshot, request=request, partitions=partitions
        )
        doing = f"Profiling version {snapshot.version} of {snapshot.uri}"
        with watched(session, watch, doing):
            for name in left:
                if cancel is not None:
                    cancel.check()
                found[name] = list(rows.profile(name))
    entries = (entry for item in items for entry in found[item.name])
    return tuple(only_wanted(entry, request) for entry in entries)


@dataclass(frozen=True, kw_only=True)
class ProfiledRows:
    """All rows of a snapshot, column by column; `partitions` are what it is partitioned by
    where each partition is wanted by itself."""

    spark: SparkSession
    snapshot: Snapshot
    request: ProfileRequest
    partitions: tuple[str, ...] = ()

    def profile(self, name: str) -> Iterator[ColumnProfile]:
        """The figures of one column, in no certain order of partitions."""
        kind = build_request(layout_of(self.snapshot), [name]).schema.field(0).type
        counts = self._counts(name).persist()
        try:
            summaries = self._summaries(counts, kind)
            quantiles = self._quantiles(counts, kind)
            histograms = self._histograms(counts, kind)
            tops = self._tops(counts, kind)
        finally:
            counts.unpersist()
        for place, told in summaries.items():
            bins = histograms.get(place)
            yield ColumnProfile(
                column=name,
                partition=dict(zip(self.partitions, place, strict=True)) or None,
                rows=told["rows"] or 0,
                nulls=told["nulls"] or 0,
                distinct=told["distinct"],
                minimum=told.get("minimum"),
                maximum=told.get("maximum"),
                quantiles=None if quantiles is None else tuple(sorted(quantiles.get(place, ()))),
                histogram=bins_of(bins, told["low"], told["high"], self.request.bins)
                if bins
                else None,
                top=None if tops is None else tuple(tops.get(place, ())),
            )

    def _counts(self, name: str) -> DataFrame:
        """How often each value occurs: the partition's, `value`, `count` and `number`."""
        from pyspark.sql import functions as fn

        columns = tuple(dict.fromkeys((*self.partitions, name)))
        request = build_request(layout_of(self.snapshot), columns)
        read = ReadFiles(store=self.snapshot.store, request=request, told=self._told)
        task = CountValues(read=read, name=name, partitions=self.partitions)
        frame = self._run(task, spark_schema(task.schema))
        value = comparable(fn.col(quoted(name)), task.schema.field(name).type)
        parts = [fn.col(quoted(part)).alias(_part(at)) for at, part in enumerate(self.partitions)]
        some = frame.select(
            *parts,
            value.alias("value"),
            fn.col(quoted(COUNT)).alias("count"),
            fn.col(quoted(NUMBER)).alias("number"),
        )
        # one value may have several numbers: zero and minus zero
        told = [fn.sum("count").alias("count"), fn.max("number").alias("number")]
        return some.groupBy(*self._parts, "value").agg(*told)

    @cached_property
    def _told(self) -> frozenset[str]:
        """Files that have no column in common with the table, of which the snapshot tells."""
        if isinstance(self.snapshot, LargeSnapshot):
            return frozenset()  # the list stays on Spark, where one stops the job
        files = not_shown(self.snapshot, self.snapshot.files(["path", "size"]))
        return frozenset(tell_unrelated(self.snapshot, files, current_watch()).paths)

    def _run(self, task: CountValues, schema: SparkSchema) -> DataFrame:
        if isinstance(self.snapshot, LargeSnapshot):
            return read_on_spark(self.snapshot, None, task, schema)
        files = self.snapshot.files([*FILE_COLUMNS, NUM_RECORDS])
        return run_groups(self.spark, group_files(files, parallelism(self.spark)), task, schema)

    @property
    def _parts(self) -> list[str]:
        return [_part(at) for at in range(len(self.partitions))]

    def _places(self) -> list[Column]:
        """What windows are partitioned by: without partitions by what is the same for all
        counts, because of a window over everything Spark warns, and here it is meant."""
        from pyspark.sql import functions as fn

        return [fn.col(part) for part in self._parts] or [fn.col("count").isNull()]

    def _summaries(self, counts: DataFrame, kind: pa.DataType) -> dict[Place, dict[str, Any]]:
        from pyspark.sql import functions as fn

        value, count = fn.col("value"), fn.col("count")
        told = [
            fn.sum(count).alias("rows"),
            fn.sum(fn.when(value.isNull(), count)).alias("nulls"),
            fn.count(value).alias("distinct"),
            fn.min("number").alias("low"),
            fn.max("number").alias("high"),
        ]
        if not is_nested(kind):
            told += [fn.min(value).alias("minimum"), fn.max(value).alias("maximum")]
        return dict(self._collected(counts.groupBy(*self._parts).agg(*told)))

    def _quantiles(
        self, counts: DataFrame, kind: pa.DataType
    ) -> dict[Place, list[tuple[float, Any]]] | None:
        from pyspark.sql import Window
        from pyspark.sql import functions as fn

        if not self.request.wants("quantiles") or is_nested(kind):
            return None
        valued = counts.filter(fn.col("value").isNotNull())
        inside = Window.partitionBy(*self._places())
        before = inside.orderBy("value").rowsBetween(Window.unboundedPreceding, 0)
        passed, total = fn.sum("count").over(before), fn.sum("count").over(inside)
        ranked = valued.select(
            *self._parts, "value", "count", passed.alias("passed"), total.alias("total")
        )
        hits = []
        for part in QUANTILES:
            rank = fn.greatest(fn.lit(1), fn.ceil(fn.lit(part) * fn.col("total")))
            first = fn.col("passed") - fn.col("count")
            hits.append((fn.col("passed") >= rank) & (first < rank))
        some = ranked.filter(reduce(or_, hits)).select(
            *self._parts, "value", fn.array(*hits).alias("hits")
        )
        found: dict[Place, list[tuple[float, Any]]] = {}
        for place, row in self._collected(some):
            told = zip(QUANTILES, row["hits"], strict=True)
            found.setdefault(place, []).extend((part, row["value"]) for part, hit in told if hit)
        return found

    def _histograms(self, counts: DataFrame, kind: pa.DataType) -> dict[Place, dict[int, int]]:
        from pyspark.sql import Window
        from pyspark.sql import functions as fn

        if not self.request.wants("histogram") or not has_numbers(kind):
            return {}
        number, inside = fn.col("number"), Window.partitionBy(*self._places())
        low, high = fn.min(number).over(inside), fn.max(number).over(inside)
        bins = self.request.bins
        at = fn.floor((number - fn.col("low")) / (fn.col("high") - fn.col("low")) * bins)
        placed = counts.filter(number.isNotNull()).select(
            *self._parts, "count", "number", low.alias("low"), high.alias("high")
        )
        within = fn.when(fn.col("low") < fn.col("high"), fn.least(at, fn.lit(bins - 1)))
        binned = placed.select(*self._parts, "count", fn.coalesce(within, fn.lit(0)).alias("bin"))
        found: dict[Place, dict[int, int]] = {}
        grouped = binned.groupBy(*self._parts, "bin").agg(fn.sum("count").alias("count"))
        for place, row in self._collected(grouped):
            found.setdefault(place, {})[int(row["bin"])] = row["count"]
        return found

    def _tops(
        self, counts: DataFrame, kind: pa.DataType
    ) -> dict[Place, list[tuple[Any, int]]] | None:
        from pyspark.sql import Window
        from pyspark.sql import functions as fn

        if not self.request.wants("top") or is_nested(kind):
            return None
        order = [fn.col("count").desc(), fn.col("value")]
        valued = counts.filter(fn.col("value").isNotNull())
        some = valued.orderBy(*order).limit(self.request.top)
        if self.partitions:
            rank = fn.row_number().over(Window.partitionBy(*self._parts).orderBy(*order))
            some = valued.withColumn("rank", rank).filter(fn.col("rank") <= self.request.top)
            some = some.orderBy("rank")
        found: dict[Place, list[tuple[Any, int]]] = {}
        for place, row in self._collected(some):
            found.setdefault(place, []).append((row["value"], row["count"]))
        return found

    def _collected(self, frame: DataFrame) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Rows by their partition; as Arrow has them, so that times keep their zone."""
        found = frame.toArrow()
        columns = (python_values(column) for column in found.columns)
        for values in zip(*columns, strict=True):
            row = dict(zip(found.column_names, values, strict=True))
            yield tuple(row.pop(part) for part in self._parts), row


def _part(at: int) -> str:
    return f"part{at}"


def _items(
    snapshot: Snapshot, columns: Sequence[str] | None, *, by_partition: bool
) -> list[StructField]:
    layout = layout_of(snapshot)
    if by_partition and not layout.partition_columns:
        raise InvalidArgumentError(
            "The table has no partitions.",
            reason="It is not partitioned by any column.",
            remedy="Leave by_partition out.",
        )
    if columns is None and by_partition:
        columns = [item.name for item in layout.stored]
    request = build_request(layout, columns)
    inside = [name for name in request.columns if name in layout.partition_columns]
    if by_partition and inside:
        raise InvalidArgumentError(
            f"{inside[0][:120]!r} has one value in each partition.",
            reason="The table is partitioned by it.",
            remedy="Leave it out, or leave by_partition out.",
        )
    return list(request.needed.fields)


def _from_log(
    snapshot: Snapshot, item: StructField, request: ProfileRequest
) -> ColumnProfile | None:
    if item.name in snapshot.metadata.partition_columns:
        return profile_partition_column(snapshot, item, request)
    return profile_by_statistics(snapshot, item, request)


def _checked(measures: Sequence[Measure], bins: int, top: int) -> ProfileRequest:
    unknown = [name for name in measures if name not in ALL_MEASURES]
    if unknown or not measures or isinstance(measures, str):
        raise InvalidArgumentError(
            f"{str(unknown[0] if unknown else measures)[:60]!r} is not a measure of a profile.",
            reason=f"There are {', '.join(ALL_MEASURES)}.",
            remedy="Name some of them in a list.",
        )
    for name, number in (("bins", bins), ("top", top)):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= _MOST:
            raise InvalidArgumentError(
                f"{str(number)[:40]} is not a valid number of {name}.",
                reason=f"It must be a whole number from 1 to {_MOST}.",
                remedy="Leave it out for the usual one.",
            )
    return ProfileRequest(measures=frozenset(measures), bins=bins, top=top)
