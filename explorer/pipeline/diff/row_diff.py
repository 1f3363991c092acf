"""Which rows differ between two versions, by as little reading as can be.

Only files that one of the versions lacks are read, and of files whose deletion vector
changed the rows between the two vectors; or the change data of the commits in between,
where that is far less. A row that only moved to another file is not a difference. Rows of
both versions are seen by the schema of the newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.comparison.schema_changes import schema_changes
from explorer.comparison.versions import VersionDiff
from explorer.errors import InvalidArgumentError, UnsupportedError
from explorer.pipeline.diff._diff_tasks import plan_diff_tasks
from explorer.pipeline.diff._sources import FileSource, RowSource, Side, find_feed, seen_layout
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import watched
from explorer.pipeline.native.pushdown import quoted
from explorer.pipeline.session import choose_session
from explorer.pipeline.tasks.comparable import comparable, is_comparable
from explorer.pipeline.tasks.table_marks import marked_rows
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.known_properties import ROW_TRACKING
from explorer.rows.changes.change_range import CHANGE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.request import RowRequest, build_request
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

DiffMethod = Literal["row ids", "keys", "rows"]
DiffSource = Literal["files", "change data"]
RowKind = Literal["inserted", "deleted", "updated"]

SAMPLE_ROWS: Final = 20
_ROW_ID: Final = "_row_id"
_BREAKING: Final = "type"


@dataclass(frozen=True, kw_only=True)
class RowDiff:
    """How many rows differ between two versions; made by `diff_rows`.

    `method` says what makes two rows the same one: their row ids, the `keys`, or nothing
    but all of their values (``rows``). Then an update cannot be told from a row deleted
    and another inserted: `updated` is None, and both of its sides are counted.

    `moved` are rows that were written again as they were, as far as they were read;
    `num_files` is how many files the two versions do not share, or not with the same
    deletion vector. `source` says what was read: these ``files`` alone, or the
    ``change data`` of the commits from one version to the other.
    """

    older: Snapshot
    newer: Snapshot
    method: DiffMethod
    keys: tuple[str, ...]
    inserted: int
    deleted: int
    updated: int | None
    moved: int
    num_files: int
    source: DiffSource
    rows: DiffRows | None = field(repr=False)
    """None where no file differs."""

    def frame(self, kind: RowKind) -> DataFrame:
        """The rows of one kind as a DataFrame, read again when an action asks for them.

        Inserted and deleted ones have the columns of the newer version; by the method
        ``rows`` also `_copies`, how many of the same there are. Updated ones have two
        structs, `before` and `after`.
        """
        if kind == "updated" and self.updated is None:
            raise InvalidArgumentError(
                "Updated rows cannot be told from others.",
                reason="The two versions have no row ids, and no keys were given.",
                remedy="Name columns whose values tell rows apart: diff_rows(..., keys=['id']).",
            )
        if self.rows is None:
            raise InvalidArgumentError(
                "No row differs.",
                reason="The two versions have the same files with the same deletion vectors.",
                remedy="Look at the counts first.",
            )
        return marked_rows(self.rows.frame(kind), self.newer.store)

    def sample(self, kind: RowKind, limit: int = SAMPLE_ROWS) -> pa.Table:
        """At most `limit` rows of `frame`, whichever come first."""
        frame = self.frame(kind)
        with clear_errors(_doing(self.older, self.newer)):
            return frame.limit(limit).toArrow()


def diff_rows(  # what is asked for, with what, and who looks on
    older: Snapshot,
    newer: Snapshot,
    keys: Sequence[str] | None = None,
    spark: Any = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> RowDiff:
    """Count the rows that were inserted, deleted and updated from one version to another.

    With `keys`, columns whose values tell rows apart, rows belong together by these; else
    by their row ids where both versions track rows, else by all of their values. No
    session is needed where the files do not differ.

    Raises `InvalidArgumentError` for keys that are not columns or occur twice in a
    version, `UnsupportedError` where the schema changed so that old rows cannot be shown
    by the new one, and what `explorer.read_rows` raises for files.
    """
    watch = Watch(progress=progress, cancel=cancel)
    request = _request(older, newer, keys)
    tasks = plan_diff_tasks(VersionDiff(older=older, newer=newer, watch=watch).files, older, newer)
    by_ids = keys is None and _share_row_ids(older, newer) and tasks.have_row_ids
    method: DiffMethod = "keys" if keys is not None else "row ids" if by_ids else "rows"
    if by_ids:
        request = build_request(request.layout, metadata_columns=[_ROW_ID])
    names = tuple(keys or ())
    feed = None if by_ids else find_feed(older, newer, request, tasks, watch)
    if not tasks.num_files:
        counts = {"inserted": 0, "deleted": 0, "moved": 0}
        rows = None
    else:
        session = choose_session(spark)
        check_visible(session, newer.store)
        identity = (_ROW_ID,) if by_ids else names
        files = FileSource(
            store=newer.store,
            request=request,
            tasks=tasks,
            seen_before=seen_layout(older, newer),
            layout_before=layout_of(older),
        )
        rows = DiffRows(spark=session, source=feed or files, identity=identity)
        with watched(session, watch, _doing(older, newer)):
            counts = rows.count()
        _check_keys(names, counts.pop("repeated"))
    updated = counts.pop("updated", 0)
    return RowDiff(
        older=older,
        newer=newer,
        method=method,
        keys=names,
        updated=None if method == "rows" else updated,
        num_files=tasks.num_files,
        source="files" if feed is None else "change data",
        rows=rows,
        **counts,
    )


@dataclass(frozen=True, kw_only=True)
class DiffRows:
    """The rows in which two versions may differ, grouped by what makes them the same:
    the columns `identity`, all of their values where it is empty."""

    spark: SparkSession
    source: RowSource
    identity: tuple[str, ...]

    def count(self) -> dict[str, int]:
        """The counts of `RowDiff`, and how many identities are `repeated` in a version."""
        from pyspark.sql import functions as fn

        found = self._grouped().agg(
            *(fn.sum(count).alias(name) for name, count in self._counts().items())
        )
        row = found.collect()[0]
        return {name: int(row[name] or 0) for name in self._counts()}

    def frame(self, kind: RowKind) -> DataFrame:
        """As `RowDiff.frame`."""
        from pyspark.sql import functions as fn

        count = self._counts()[kind]
        some = self._grouped().withColumn("copies", count).filter(fn.col("copies") > 0)
        if kind == "updated":
            return some.select("before", "after")
        row = "after" if kind == "inserted" else "before"
        columns = [
            fn.col(row).getField(name).alias(name)
            for name in self.source.request.layout.schema.names
        ]
        if self.identity:
            return some.select(*columns)
        return some.select(*columns, fn.col("copies").alias("_copies"))

    def _counts(self) -> dict[str, Column]:
        """What one group adds to each count."""
        from pyspark.sql import functions as fn

        before, after, zero = fn.col("num_before"), fn.col("num_after"), fn.lit(0)
        if not self.identity:
            return {
                "inserted": fn.greatest(after - before, zero),
                "deleted": fn.greatest(before - after, zero),
                "moved": zero if self.source.must_net else fn.least(before, after),
                "repeated": zero,
            }
        both = (before == 1) & (after == 1)
        same = fn.col("min").eqNullSafe(fn.col("max"))
        return {
            "inserted": (before == 0).cast("int"),
            "deleted": (after == 0).cast("int"),
            "updated": (both & ~same).cast("int"),
            "moved": (both & same).cast("int"),
            "repeated": ((before > 1) | (after > 1)).cast("int"),
        }

    def _grouped(self) -> DataFrame:
        """One row for each identity: `num_before` and `num_after`, one row of each version
        or null, and the `min` and `max` of all values where identities are columns."""
        from pyspark.sql import functions as fn

        both = self._netted() if self.source.must_net and self.identity else self._sides()
        is_before = fn.col("side") == "before"
        told: list[Column] = [
            fn.count_if(is_before).alias("num_before"),
            fn.count_if(~is_before).alias("num_after"),
            fn.first(fn.when(is_before, fn.col("row")), ignorenulls=True).alias("before"),
            fn.first(fn.when(~is_before, fn.col("row")), ignorenulls=True).alias("after"),
        ]
        if self.identity:
            told += [fn.min("values").alias("min"), fn.max("values").alias("max")]
        return both.groupBy("identity").agg(*told)

    def _sides(self) -> DataFrame:
        """The rows of both versions: their `side`, `identity`, `values`, and the `row`."""
        return self._side("before").unionAll(self._side("after"))

    def _netted(self) -> DataFrame:
        """`_sides` without the rows that both sides have: each as often as one side has it more
        often than the other."""
        from pyspark.sql import functions as fn

        sign = fn.when(fn.col("side") == "after", 1).otherwise(-1)
        net, surplus = fn.sum(sign).alias("net"), fn.col("net")
        rows = (
            self._sides()
            .groupBy("identity", "values")
            .agg(net, fn.first("row").alias("row"))
            .filter(surplus != 0)
            .withColumn("side", fn.when(surplus > 0, "after").otherwise("before"))
            .withColumn("copy", fn.explode(fn.sequence(fn.lit(1), fn.abs(surplus))))
        )
        return rows.select("side", "identity", "values", "row")

    def _side(self, side: Side) -> DataFrame:
        from pyspark.sql import functions as fn

        frame = self.source.read(self.spark, side)
        names = self.source.request.layout.schema.names
        values = self._comparable(names)
        return frame.select(
            fn.lit(side).alias("side"),
            (self._comparable(self.identity) if self.identity else values).alias("identity"),
            values.alias("values"),
            fn.struct(*(fn.col(quoted(name)).alias(name) for name in names)).alias("row"),
        )

    def _comparable(self, names: Sequence[str]) -> Column:
        """The values of some columns as one that can be grouped and compared."""
        from pyspark.sql import functions as fn

        kinds = {item.name: item.type for item in self.source.request.schema}
        parts = [
            comparable(fn.col(quoted(name)), kinds[name]).alias(f"c{at}")
            for at, name in enumerate(names)
            if is_comparable(kinds[name])
        ]
        return fn.struct(*parts, fn.lit(0).alias("end"))  # a struct needs a field


def _request(older: Snapshot, newer: Snapshot, keys: Sequence[str] | None) -> RowRequest:
    """What is read of both versions, checked against what cannot be compared."""
    if older.uri != newer.uri:
        raise InvalidArgumentError(
            "The two versions are of two tables.",
            reason=f"One is at {older.uri}, the other at {newer.uri}.",
            remedy="Give two snapshots of one table.",
        )
    for change in schema_changes(older, newer):
        if change.kind == _BREAKING:
            raise UnsupportedError(
                f"The rows of version {older.version} cannot be compared with those of version "
                f"{newer.version}: {change.path[:120]} changed its {change.kind}.",
                reason=f"It was {str(change.before)[:120]}, and is {str(change.after)[:120]}: "
                "no rule turns one into the other.",
                remedy="Compare versions before, or after, that change.",
            )
    layout = layout_of(newer)
    clash = [name for name in layout.schema.names if name.lower() in CHANGE_COLUMNS]
    if clash:
        raise UnsupportedError(
            f"The table has a column {clash[0][:60]!r} of its own.",
            reason="Changed rows are described in a column of that name.",
            remedy="Rename the column.",
        )
    _check_columns(keys, layout.schema.names)
    return build_request(layout)


def _check_columns(keys: Sequence[str] | None, names: Sequence[str]) -> None:
    if keys is None:
        return
    if isinstance(keys, str) or not keys:
        raise InvalidArgumentError(
            f"{str(keys)[:60]!r} are not valid keys.",
            reason="Keys are a list of names of columns, at least one.",
            remedy="Write keys=['id'].",
        )
    unknown = [key for key in keys if key not in names]
    if unknown:
        raise InvalidArgumentError(
            f"There is no column {str(unknown[0])[:60]!r} that could be a key.",
            reason=f"There are {', '.join(name[:60] for name in names[:12])}.",
            remedy="Name columns as the newer version has them.",
        )


def _check_keys(keys: tuple[str, ...], repeated: int) -> None:
    if repeated and keys:
        raise InvalidArgumentError(
            f"The keys {', '.join(keys)[:120]} do not tell rows apart.",
            reason=f"{repeated:,} of their values occur more than once in a version, among the "
            "rows that may differ.",
            remedy="Name more columns, or give no keys: then whole rows are compared.",
        )


def _share_row_ids(older: Snapshot, newer: Snapshot) -> bool:
    """Whether a row has one id in both versions, wherever it was moved to."""
    tracked = [
        layout_of(snapshot).tracks_rows and ROW_TRACKING.value_of(snapshot.metadata.configuration)
        for snapshot in (older, newer)
    ]
    columns = {layout_of(snapshot).row_id_column for snapshot in (older, newer)}
    return all(tracked) and len(columns) == 1 and older.metadata.id == newer.metadata.id


def _doing(older: Snapshot, newer: Snapshot) -> str:
    return f"Comparing the rows of versions {older.version} and {newer.version} of {newer.uri}"
