"""Rows written to a table: appended, or in the place of others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa

from explorer.errors import UnsupportedError
from explorer.pipeline.removing.workplace import Engine, check_engine
from explorer.pipeline.writing._replaced_rows import rows_to_replace
from explorer.pipeline.writing.given_data import ArrowRows, SparkRows, Written, rows_given
from explorer.pipeline.writing.places import open_place
from explorer.pipeline.writing.self_reading import reads_table
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.storage.ports import WriteStore
from explorer.table.table import Table
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
from explorer.writing.files.row_files import RowFiles
from explorer.writing.gate.arrow_gate import ArrowGate
from explorer.writing.statements.begin import begin_write
from explorer.writing.statements.options import Mode, PartitionOverwrite, WriteOptions, WriteResult
from explorer.writing.statements.row_statement import RowStatement, Target, open_target

Approve: TypeAlias = Callable[[Target, RowStatement | WriteResult], None]
"""Given the table and what would be done to it."""

_TRIES: Final = 3
"""Of a statement whose files have to be made again: another changed what the table is."""

_LABEL: Final = "Writing rows"


def write(  # noqa: PLR0913  # the options of a write are Delta's
    data: Any,
    table_or_uri: Table | str | os.PathLike[str],
    *,
    mode: Mode = "append",
    replace_where: str | None = None,
    partition_overwrite: PartitionOverwrite = "static",
    merge_schema: bool = False,
    overwrite_schema: bool = False,
    partition_by: Sequence[str] | str = (),
    cluster_by: Sequence[str] | str = (),
    properties: Mapping[str, str] | None = None,
    transaction: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    target_file_size: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    engine: Engine = "auto",
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> WriteResult:
    """Write rows to a Delta table, which is created where there is none.

    `data` is a DataFrame of Spark (classic or Connect), a table, batch or reader of Arrow, or a
    frame of pandas. Columns are matched by name; values are taken into the table's types as ANSI
    SQL stores them, so that none is changed silently. Rows keep every rule of the table.

    - `mode`: `append`, `overwrite`, `error` or `ignore` where there is a table already
    - `replace_where`: with `overwrite`, a condition: only rows that match go, and every new row has
      to match
    - `partition_overwrite="dynamic"`: with `overwrite`, only partitions that rows come for go
    - `merge_schema` adds new columns, `overwrite_schema` replaces columns and layout
    - `partition_by`, `cluster_by`, `properties`: of a table that is created
    - `transaction`: an application id and a version; a table that has it gets nothing twice
    - `target_file_size`: bytes, by default `delta.targetFileSize` or 128 MiB
    - `storage_options` as in `explorer.open_table`: a table that was opened for reading cannot be
      written to, so that the statement opens its place again; what the table knows of its log is
      not read again
    - `engine`: `local` writes rows of Arrow and pandas in this process, `spark` on `spark`, the
      active or a local session; `auto` takes Spark for its own frames and for what this process
      cannot evaluate, however many rows there are: these go through in pieces, so that about
      1 GiB is held at most beside the caller's rows, or a few batches of a reader

    Raises `InvalidArgumentError` (`schema_mismatch`, `rows_refused` with the column, the rule and
    one row, `already_exists`), `UnsupportedError` for what the table's features forbid,
    `ConflictError` where another commit stands in the way, and `StorageError`; of the kind
    `outcome_unknown` the version may be there, and nothing was deleted. After every other error
    nothing has changed.
    """
    options = WriteOptions(
        mode=mode,
        replace_where=replace_where,
        partition_overwrite=partition_overwrite,
        merge_schema=merge_schema,
        overwrite_schema=overwrite_schema,
        partition_by=_names(partition_by),
        cluster_by=_names(cluster_by),
        properties=dict(properties or {}),
        transaction=transaction,
        user_metadata=user_metadata,
        user_name=user_name,
        target_file_size=target_file_size,
    )
    return write_to(
        open_place(table_or_uri, storage_options),
        rows_given(data),
        options,
        engine=engine,
        spark=spark,
        watch=Watch(progress=progress, cancel=cancel),
        opened=table_or_uri if isinstance(table_or_uri, Table) else None,
    )


def write_to(  # noqa: PLR0913  # where, what, how, and who looks on
    store: WriteStore,
    rows: ArrowRows | SparkRows,
    options: WriteOptions,
    *,
    engine: Engine = "auto",
    spark: Any = None,
    watch: Watch = UNWATCHED,
    approve: Approve | None = None,
    opened: Table | None = None,
) -> WriteResult:
    """`write` through a store that is open already. `approve` raises where the statement is not
    the one that somebody approved of; it is asked before a row is written, each time that the
    statement is made. `opened` is the table where the caller has it open for reading."""
    check_engine(engine)
    job = _Job(
        store=store,
        rows=rows,
        options=options,
        engine=engine,
        spark=spark,
        watch=watch,
        approve=approve,
        opened=opened,
    )
    tries_left = _TRIES
    while True:
        found = job.run()
        if isinstance(found, WriteResult):
            return found
        tries_left -= 1
        if not (tries_left and found.is_for_another_try):
            raise found.conflict.as_error()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lost:
    """A race that was lost, and whether the statement may be made again."""

    conflict: Conflict
    is_for_another_try: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One statement, which may be run again upon a newer version."""

    store: WriteStore
    rows: ArrowRows | SparkRows
    options: WriteOptions
    engine: Engine
    spark: Any
    watch: Watch
    approve: Approve | None
    opened: Table | None

    def run(self) -> WriteResult | _Lost:
        """Write the rows upon the newest version."""
        rows = self.rows
        self.watch.step(0, None, _LABEL)
        target = open_target(self.store, self.opened)
        reads = WHOLE_TABLE if self._reads(target) else NOTHING
        statement = begin_write(target, self.options, rows.schema, reads=reads)
        if self.approve is not None:
            self.approve(target, statement)
        if isinstance(statement, WriteResult):
            return statement
        if self.approve is not None:
            statement = replace(statement, is_pinned=True)
        replaced = None
        if statement.replaces_rows:
            session = rows.frame.sparkSession if isinstance(rows, SparkRows) else self.spark
            replaced = rows_to_replace(
                statement, engine=self.engine, spark=session, watch=self.watch
            )
        written = self._write(statement)
        leaving, more = (None, ()) if replaced is None else replaced.leave(written.files)
        found = statement.commit(written.files, written.marks, leaving=leaving, watch=self.watch)
        if isinstance(found, WriteResult):
            return replace(found, problems=(*written.problems, *more, *found.problems))
        is_rereadable = isinstance(rows, SparkRows) or rows.is_rereadable
        may_begin_again = is_rereadable and statement.may_begin_again(found)
        return _Lost(conflict=found, is_for_another_try=may_begin_again)

    def _reads(self, target: Target) -> bool:
        """Whether the rows come from the very table."""
        rows = self.rows
        is_there = target.snapshot is not None
        return is_there and isinstance(rows, SparkRows) and reads_table(rows.frame, target.store)

    def _write(self, statement: RowStatement) -> Written:
        rows, needed = self.rows, statement.gate.needs_spark
        if isinstance(rows, ArrowRows) and rows.num_rows == 0 and self.engine != "spark":
            return _write_nothing(statement)  # whatever only Spark casts or judges
        if isinstance(rows, ArrowRows) and self.engine != "spark" and needed is None:
            return write_here(statement, rows, self.watch)
        if self.engine == "local":
            why = needed or "The rows are those of a DataFrame of Spark."
            raise UnsupportedError(
                "These rows cannot be written in this process.",
                reason=why,
                remedy='Write with engine="auto" or engine="spark", which need pyspark and Java.',
                kind="missing_dependency",
            )
        # nobody who writes rows of Arrow has to have pyspark
        from explorer.pipeline.writing._spark_write import write_on_spark  # noqa: PLC0415

        return write_on_spark(statement, rows, self.spark, self.watch)


def write_here(statement: RowStatement, rows: ArrowRows, watch: Watch) -> Written:
    """Write rows of Arrow in this process."""
    gate = ArrowGate(statement.gate)
    done = 0
    with RowFiles(statement.target.store, statement.form, statement.id) as files:
        for batch in rows.batches():
            watch.step(done, rows.num_rows, _LABEL)
            for part in gate.take(batch):
                files.add(part)
            done += batch.num_rows
        watch.step(done, rows.num_rows, _LABEL)
    return Written(files=pa.Table.from_batches([files.written()]), marks=gate.marks)


def _write_nothing(statement: RowStatement) -> Written:
    with RowFiles(statement.target.store, statement.form, statement.id) as files:
        return Written(files=pa.Table.from_batches([files.written()]), marks={})


def _names(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
