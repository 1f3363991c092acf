"""Rows of a source merged into a table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from explorer.errors import UnsupportedError
from explorer.pipeline.merging._choice import FewRows, choose_local
from explorer.pipeline.merging._local_merge import LocalMerge
from explorer.pipeline.merging._spans import MergeSpans
from explorer.pipeline.removing.attempts import run_until_committed
from explorer.pipeline.removing.workplace import Engine, check_engine
from explorer.pipeline.writing.given_data import ArrowRows, SparkRows, rows_given
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.scan.sql.table_expressions import StatementTime
from explorer.storage.ports import WriteStore
from explorer.table.table import Table
from explorer.table.times import utc_time
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_version import read_version_of
from explorer.writing.merging.clauses import MergeClause, MergeRequest, check_request
from explorer.writing.merging.keys import asked_pairs, read_conditions
from explorer.writing.merging.names import Names
from explorer.writing.merging.resolving import ResolvedMerge, resolve_merge
from explorer.writing.merging.told import MERGE, merge_parameters
from explorer.writing.statements.change_statement import (
    ChangeOptions,
    ChangeStatement,
    begin_change,
    is_done_already,
)
from explorer.writing.statements.options import WriteResult

if TYPE_CHECKING:
    from explorer.pipeline.merging._source import SparkSource

_LABEL: Final = "Merging rows"


def merge(  # noqa: PLR0913  # what is said of every statement
    table_or_uri: Table | str | os.PathLike[str],
    source: Any,
    on: str,
    source_alias: str = "source",
    target_alias: str = "target",
    *,
    merge_schema: bool = False,
    transaction: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    target_file_size: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    engine: Engine = "auto",
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> Merge:
    """Begin a merge: rows of `source` change, delete and add rows of a table.

    `source` is whatever `pipeline.write` takes. `on` pairs rows; in it and in the clauses the
    table is called `target_alias` and the source `source_alias`. Clauses follow, and `execute`::

        merging = pipeline.merge(uri, rows, "target.id = source.id")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()

    Conditions are SQL over the columns of both, and pass the same gate as a CHECK constraint;
    values are SQL too, or Columns of Spark such as `col("source.price")`. `merge_schema` adds
    columns of the source that the table does not have. The other options are those of
    `pipeline.write`.

    Raises `InvalidArgumentError` for what is neither, or cannot be written.
    """
    return Merge(
        store=open_place(table_or_uri, storage_options),
        rows=rows_given(source),
        request=MergeRequest(
            on=on,
            source_alias=source_alias,
            target_alias=target_alias,
            merge_schema=merge_schema,
        ),
        options=ChangeOptions(
            transaction=transaction,
            user_metadata=user_metadata,
            user_name=user_name,
            target_file_size=target_file_size,
        ),
        engine=engine,
        spark=spark,
        watch=Watch(progress=progress, cancel=cancel),
    )


@dataclass(frozen=True, kw_only=True)
class Merge:
    """A merge that gathers clauses; each call gives another one, and this one stays as it is.

    Of the clauses of one kind the first whose condition is true takes a row; only the last may
    have none, and a null counts as false. A row that no clause takes stays as it is.
    """

    store: WriteStore = field(repr=False)
    rows: ArrowRows | SparkRows = field(repr=False)
    request: MergeRequest
    options: ChangeOptions = field(default_factory=ChangeOptions)
    engine: Engine = "auto"
    spark: Any = field(default=None, repr=False)
    watch: Watch = field(default=UNWATCHED, repr=False)

    def when_matched_update(self, set: Mapping[str, Any], where: str | None = None) -> Merge:  # noqa: A002  # as in Delta
        """Set columns of rows with a partner, by their names; a field as `place.city`."""
        return self._with(MergeClause(kind="matched", action="update", where=where, values=set))

    def when_matched_update_all(self, where: str | None = None) -> Merge:
        """Set every column of rows with a partner to the source's of the same name."""
        return self._with(MergeClause(kind="matched", action="update", where=where))

    def when_matched_delete(self, where: str | None = None) -> Merge:
        """Delete rows with a partner."""
        return self._with(MergeClause(kind="matched", action="delete", where=where))

    def when_not_matched_insert(self, values: Mapping[str, Any], where: str | None = None) -> Merge:
        """Add rows of the source without a partner, with these values by the names of columns."""
        return self._with(
            MergeClause(kind="not matched", action="insert", where=where, values=values)
        )

    def when_not_matched_insert_all(self, where: str | None = None) -> Merge:
        """Add rows of the source without a partner, with all their columns."""
        return self._with(MergeClause(kind="not matched", action="insert", where=where))

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Any],  # noqa: A002  # as in Delta
        where: str | None = None,
    ) -> Merge:
        """Set columns of rows that have no partner in the source."""
        return self._with(
            MergeClause(kind="not matched by source", action="update", where=where, values=set)
        )

    def when_not_matched_by_source_delete(self, where: str | None = None) -> Merge:
        """Delete rows that have no partner in the source."""
        return self._with(MergeClause(kind="not matched by source", action="delete", where=where))

    def execute(self) -> WriteResult:
        """Merge, as one version; None as `version` of the result where no row was to change.

        The source is read once. A merge that lost against another commit runs again upon the newer
        version with the rows that were read, a few times; not where these came from the table.

        Raises `InvalidArgumentError` for clauses that cannot be meant, of kind `schema_mismatch`
        for columns that do not fit, of kind `rows_refused` for a row that breaks a rule of the
        table and for a row of the table that several of the source would change;
        `UnsupportedError` for what the table's features forbid, `ConflictError` where others are
        in the way again and again, and `StorageError`; of the kind `outcome_unknown` the version
        may be there, and nothing was deleted. After every other error nothing has changed.
        """
        check_engine(self.engine)
        check_request(self.request)
        with contextlib.ExitStack() as stack:
            return _Job(merge=self, stack=stack, rows=self.rows).execute()

    def _with(self, clause: MergeClause) -> Merge:
        request = replace(self.request, clauses=(*self.request.clauses, clause))
        return replace(self, request=request)


@dataclass(kw_only=True)
class _Job:
    """One merge, which may be run again upon a newer version. What belongs to it as long as it
    runs is on the `stack`."""

    merge: Merge
    stack: contextlib.ExitStack
    rows: ArrowRows | SparkRows
    few: FewRows | None = None
    source: SparkSource | None = None
    reads_target: bool | None = None

    def execute(self) -> WriteResult:
        merge, rows = self.merge, self.rows
        if isinstance(rows, SparkRows):
            # nobody who merges rows of Arrow has to have pyspark
            from explorer.pipeline.writing.self_reading import reads_table  # noqa: PLC0415

            self.reads_target = reads_table(rows.frame, merge.store)
        is_rereadable = not self.reads_target
        return run_until_committed(self.run, merge.watch, is_rereadable=is_rereadable)

    def run(self) -> WriteResult | Conflict:
        """Merge into the newest version."""
        merge = self.merge
        spans = MergeSpans()
        merge.watch.step(0, None, _LABEL)
        statement = begin_change(merge.store, MERGE, merge.options)
        if is_done_already(statement):
            return statement.repeated()
        resolved = resolve_merge(
            read_version_of(statement.snapshot), merge.request, self._names(statement)
        )
        statement = replace(statement, parameters=merge_parameters(merge.request))
        if (change := resolved.change) is not None:
            statement = replace(
                statement,
                protocol=change.protocol,
                metadata=change.metadata,
                actions=change.actions,
                kept_domains=change.kept_domains,
            )
        statement.check()
        return self._run(statement, resolved, spans)

    def _names(self, statement: ChangeStatement) -> Names:
        request = self.merge.request
        return Names(
            target=statement.snapshot.schema,
            source=self.rows.schema,
            target_alias=request.target_alias,
            source_alias=request.source_alias,
            time=StatementTime(moment=utc_time(statement.clock())),
        )

    def _run(
        self, statement: ChangeStatement, resolved: ResolvedMerge, spans: MergeSpans
    ) -> WriteResult | Conflict:
        merge, rows = self.merge, self.rows
        if merge.engine == "spark" or self.source is not None:
            local: LocalMerge | str = "Spark was asked for."
        elif isinstance(rows, SparkRows):
            local = "The rows are those of a DataFrame of Spark."
        else:
            few = self.few = self.few or FewRows(given=rows, has_to_fit=merge.engine != "local")
            local = choose_local(statement, resolved, few, merge.watch, spans)
            self.rows = few.given
        if isinstance(local, LocalMerge):
            return local.run()
        if merge.engine == "local":
            raise UnsupportedError(
                "This merge cannot be carried out in this process.",
                reason=local,
                remedy='Use engine="auto" or engine="spark", which need pyspark and Java.',
                kind="missing_dependency",
            )
        # nobody who merges a few rows of Arrow has to have pyspark
        from explorer.pipeline.merging._spark_merge import SparkMerge  # noqa: PLC0415

        with spans.reading_source():
            source = self._source(resolved)
        return SparkMerge(
            statement=statement,
            merge=resolved,
            source=source,
            reads_target=bool(self.reads_target),
            may_work_here=merge.engine == "auto" and isinstance(rows, SparkRows),
            watch=merge.watch,
            spans=spans,
        ).run()

    def _source(self, resolved: ResolvedMerge) -> SparkSource:
        """The rows of the source, which are read when they are first asked for."""
        if self.source is None:
            from explorer.pipeline.jobs.visibility import check_visible  # noqa: PLC0415
            from explorer.pipeline.merging._source import read_once  # noqa: PLC0415
            from explorer.pipeline.session import choose_watched  # noqa: PLC0415

            merge, rows = self.merge, self.rows
            session = (
                rows.frame.sparkSession
                if isinstance(rows, SparkRows)
                else choose_watched(merge.spark, merge.watch)
            )
            check_visible(session, merge.store)
            name = str(uuid4())
            pairs = asked_pairs(read_conditions(resolved.on, resolved.names), resolved.names)
            reading = read_once(session, merge.store, name, rows, pairs, merge.watch)
            self.source = self.stack.enter_context(reading)
        return self.source
