"""The rows of a snapshot as a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem, UnsupportedError
from explorer.pipeline.jobs.failures import clear_errors
from explorer.pipeline.jobs.visibility import check_visible
from explorer.pipeline.jobs.watching_jobs import current_watch
from explorer.pipeline.large.large_scan import LargeScan, read_on_spark, scan_on_spark
from explorer.pipeline.large.large_table import LargeSnapshot
from explorer.pipeline.native.paths import NativePaths
from explorer.pipeline.native.recent_reads import NativeRead, remember_read
from explorer.pipeline.native.route import Route, choose_route
from explorer.pipeline.native.rows import KeyRows, native_frame
from explorer.pipeline.session import choose_session, parallelism
from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, ReadFiles, run_groups
from explorer.pipeline.tasks.spark_types import spark_schema
from explorer.pipeline.tasks.table_marks import marked_rows
from explorer.pipeline.tasks.task_groups import group_files
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.layout import layout_of
from explorer.rows.request import RowRequest, build_request
from explorer.rows.unrelated_files import UnrelatedFiles, not_shown, tell_unrelated
from explorer.scan.plan import ScanPlan, plan_scan
from explorer.scan.predicate.parse import parse_predicate
from explorer.storage.local import LocalStore
from explorer.table.counts import have
from explorer.table.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MOST_JUDGED: Final = 10_000
"""Files whose statistics are looked at before a job: for more, the tasks see to it."""


@dataclass(frozen=True, kw_only=True)
class ReadPlan:
    """How the rows of a snapshot will be read; made by `plan_read`, which reads none.

    `route` is ``parquet`` or ``files``, and `reason` says why (see `explorer.pipeline.native.route`
    for the rule). `scan` says which files stay after pruning, and why the others go.
    `unrelated` are the paths of files among them that have no column in common with the table,
    as far as their footers were read; `problems` tell it, and what the snapshot had before.
    """

    snapshot: Snapshot
    request: RowRequest
    scan: ScanPlan | LargeScan
    spark: SparkSession = field(repr=False)
    route: Route
    reason: str
    paths: NativePaths | None = field(default=None, repr=False)
    unrelated: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the version, as far as it is known before rows are read."""
        return (*self.snapshot.problems, *self.scan.problems)

    @property
    def files(self) -> pa.Table:
        """The files that are read, with the columns that reading needs."""
        return self.scan.kept.select([*FILE_COLUMNS, NUM_RECORDS])

    def frame(self, keys: KeyRows | None = None) -> DataFrame:
        """The rows; nothing is read before an action asks for them. With `keys` those that have
        none of these may be missing."""
        return marked_rows(self._rows(keys), self.snapshot.store)

    def _rows(self, keys: KeyRows | None = None) -> DataFrame:
        request, what = self.request, f"Reading version {self.snapshot.version}"
        if self.paths is None or isinstance(self.snapshot.store, LocalStore):
            # of another store Spark's own reader says at once what it does not find
            check_visible(self.spark, self.snapshot.store)
        with clear_errors(f"{what} of {self.snapshot.uri}"):
            if not request.schema.names:  # some column must tell how many rows there are
                counted = replace(request, metadata_columns=("_row_index",))
                return replace(self, request=counted)._rows().select()
            if self.paths is not None:
                store, files = self.snapshot.store, self.files
                remember_read(
                    NativeRead(store=store, request=request, files=files, paths=self.paths)
                )
                return native_frame(self.spark, store, request, files, self.paths, keys)
            told = frozenset(self.unrelated)
            read = ReadFiles(store=self.snapshot.store, request=request, told=told)
            schema = spark_schema(request.schema)
            snapshot, scan = self.snapshot, self.scan
            if (
                isinstance(snapshot, LargeSnapshot)
                and isinstance(scan, LargeScan)
                and _is_long(scan)
            ):
                return read_on_spark(snapshot, scan, read, schema)
            groups = group_files(self.files, parallelism(self.spark))
            return run_groups(self.spark, groups, read, schema)


def plan_read(  # noqa: PLR0913  # what is asked for, and with what
    snapshot: Snapshot,
    spark: Any = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    metadata_columns: Sequence[str] = (),
    *,
    route: Route | None = None,
    among: pa.ChunkedArray | None = None,
) -> ReadPlan:
    """Check what is asked for, choose the files and the route, as `read` does.

    The footers of files are read whose statistics show no value of a column of the table: one
    that has none of them is told by `problems`, and by those of the snapshot from then on. Of a
    list of more than `MOST_JUDGED` files none is; there such a file stops the job with an error.

    `among` are the paths of the only files that are read, as in the log.

    Raises what `read` raises before it starts a job.
    """
    predicate = None if where is None else parse_predicate(where, snapshot.schema)
    request = build_request(layout_of(snapshot), columns, metadata_columns, predicate)
    spark_schema(request.schema)  # refuses types that Spark does not have
    session = choose_session(spark)
    scan: ScanPlan | LargeScan
    if isinstance(snapshot, LargeSnapshot):
        scan = scan_on_spark(snapshot, predicate)
    else:
        scan = plan_scan(snapshot, predicate)
        if among is not None:
            is_asked = pc.is_in(scan.kept.column("path"), value_set=among)
            scan = replace(scan, kept=scan.kept.filter(is_asked))
    plan = ReadPlan(
        snapshot=snapshot,
        request=request,
        scan=scan,
        spark=session,
        route="files",
        reason="it was asked for",
    )
    if not scan.num_kept:
        return plan if route == "files" else replace(plan, reason="no file has to be read")
    judged = _judged(plan)
    plan = replace(plan, unrelated=judged.paths)
    if route == "files":
        return plan
    found: NativePaths | str = f"the list of {scan.num_kept:,} files stays on Spark"
    if not _is_long(scan):
        free = route is None and columns is not None
        found = choose_route(session, snapshot.store, request, plan.files, free=free)
    if isinstance(found, NativePaths) and judged.num_left:
        found = f"whether {have(judged.num_left, 'file')} a column of the table is not known"
    if isinstance(found, NativePaths):
        reason = "it was asked for" if route else "nothing speaks against Spark's own reader"
        return replace(plan, route="parquet", reason=reason, paths=found)
    if route is None:
        return replace(plan, reason=found)
    raise UnsupportedError(
        "Spark's own Parquet reader cannot read these rows.",
        reason=f"As the specification says it: {found}.",
        remedy="Leave the choice of the route to plan_read, or ask for the route 'files'.",
    )


def read(  # what is asked for, and with what
    snapshot: Snapshot,
    spark: Any = None,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    metadata_columns: Sequence[str] = (),
    *,
    route: Route | None = None,
) -> DataFrame:
    """The rows of a snapshot as a DataFrame of `spark`, of the active or of a local session.

    Columns, types, `where` and `metadata_columns` mean what they mean to
    `explorer.read_rows`: every value may be null, and a variant is its JSON text. Files
    that cannot hold a matching row are left out before Spark sees a list of them. The
    rows do not depend on the session's settings, and these stay as they are.

    `route` is chosen by the rule of `explorer.pipeline.native.route`, and `plan_read` shows it;
    given, it is taken or refused. Later selections, and filters on most types, reach Parquet
    on the route ``parquet``; on ``files`` name the columns and the condition here.

    A file with rows that has no column in common with the table is told by `snapshot.problems`,
    see `plan_read`, or stops the job with an error; its rows are never NULL without a word.

    Raises what `read_rows` raises for what is asked, and `choose_session` for the session.
    What goes wrong with a file is told when the rows are asked for, as an exception of
    Spark's that holds our message; `clear_errors` makes a `DeltaError` of it.
    """
    return plan_read(snapshot, spark, columns, where, metadata_columns, route=route).frame()


def _judged(plan: ReadPlan) -> UnrelatedFiles:
    """What the footers of the plan's files say, where neither statistics do nor tasks have to;
    the snapshot is told."""
    snapshot, scan, layout = plan.snapshot, plan.scan, plan.request.layout
    stored = [name for name in plan.request.needed.names if name not in layout.partition_columns]
    if not stored or _is_long(scan) or scan.num_kept > MOST_JUDGED:
        return UnrelatedFiles()
    files = scan.kept.select(["path", "size"])
    if not isinstance(snapshot, LargeSnapshot):  # there statistics would take a job
        files = not_shown(snapshot, files)
    return tell_unrelated(snapshot, files, current_watch())


def _is_long(scan: ScanPlan | LargeScan) -> bool:
    """Whether its list of files is not here."""
    return isinstance(scan, LargeScan) and scan.listed is None
