"""Rows deleted from a table."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.pipeline.changing.beginning import (
    DELETE,
    Approve,
    BegunChange,
    begin_upon,
    times,
    with_candidates,
)
from explorer.pipeline.removing.attempts import (
    leaving_nothing,
    remove_other_attempts,
    run_until_committed,
)
from explorer.pipeline.removing.finding import find_rows
from explorer.pipeline.removing.leaving import find_leaving, let_leave, records_deletes
from explorer.pipeline.removing.workplace import Engine, check_engine, choose_workplace
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.storage.ports import WriteStore
from explorer.table.table import Table
from explorer.transaction.conflicts import Conflict
from explorer.writing.statements.change_statement import ChangeOptions, is_done_already
from explorer.writing.statements.options import WriteResult


def delete(  # noqa: PLR0913  # what is said of every statement
    table_or_uri: Table | str | os.PathLike[str],
    where: str | None = None,
    *,
    transaction: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    user_name: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    engine: Engine = "auto",
    spark: Any = None,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> WriteResult:
    """Delete the rows that a condition is true for; all of them where there is none.

    `where` is SQL over the columns of one row, as in `explorer.read_rows`; more than that passes
    the same gate as a CHECK constraint and is evaluated by Spark. Files of which the log says that
    every row matches go without being read. Rows of others are hidden by deletion vectors where
    the table has them enabled, else the rows that stay are copied.

    - `transaction`: an application id and a version; a table that has it is left as it is
    - `engine`: `local` works in this process, `spark` on `spark`, the active or a local session;
      `auto` takes Spark for many bytes and for conditions that this process cannot evaluate

    A delete that lost against another commit runs again upon the newer version, a few times.
    `version` of the result is None where no row matched.

    Raises `InvalidArgumentError` for a condition that is not let through, `UnsupportedError` for
    what the table's features forbid, `ConflictError` where others are in the way again and again,
    and `StorageError`; of the kind `outcome_unknown` the version may be there, and nothing was
    deleted. After every other error nothing has changed.
    """
    options = ChangeOptions(
        transaction=transaction, user_metadata=user_metadata, user_name=user_name
    )
    return delete_from(
        open_place(table_or_uri, storage_options),
        where,
        options,
        engine=engine,
        spark=spark,
        watch=Watch(progress=progress, cancel=cancel),
    )


def delete_from(  # noqa: PLR0913  # what, how, and who looks on
    store: WriteStore,
    where: str | None,
    options: ChangeOptions,
    *,
    engine: Engine = "auto",
    spark: Any = None,
    watch: Watch = UNWATCHED,
    approve: Approve | None = None,
) -> WriteResult:
    """`delete` through a store that is open already."""
    check_engine(engine)
    job = _Delete(
        store=store,
        where=where,
        options=options,
        engine=engine,
        spark=spark,
        watch=watch,
        approve=approve,
    )
    return run_until_committed(job.run, watch)


def begin_delete(
    store: WriteStore, where: str | None, options: ChangeOptions, watch: Watch = UNWATCHED
) -> BegunChange | WriteResult:
    """What `delete_from` begins with, for who only looks; raises as it does."""
    job = _Delete(store=store, where=where, options=options, engine="auto", spark=None, watch=watch)
    return job.begin()


@dataclass(frozen=True, kw_only=True)
class _Delete:
    """One delete, which may be run again upon a newer version."""

    store: WriteStore
    where: str | None
    options: ChangeOptions
    engine: Engine
    spark: Any
    watch: Watch
    approve: Approve | None = None

    def begin(self) -> BegunChange | WriteResult:
        """The delete upon the newest version, or what comes of it where it is done already."""
        statement, predicate = begin_upon(self.store, DELETE, self.where, self.options)
        if is_done_already(statement):
            return statement.repeated()
        return with_candidates(statement, self.where, predicate, self.watch)

    def run(self) -> WriteResult | Conflict:
        """Delete the rows of the newest version."""
        began = time.monotonic()
        begun = self.begin()
        if isinstance(begun, WriteResult):
            return begun
        if self.approve is not None:
            self.approve(begun)
        statement, candidates = begun.statement, begun.candidates
        place = choose_workplace(
            self.store,
            candidates.asked,
            begun.needs_spark,
            engine=self.engine,
            spark=self.spark,
            watch=self.watch,
        )
        with leaving_nothing(statement, place):
            found = find_rows(place, candidates, self.where)
            scanned = time.monotonic()
            leaving = find_leaving(candidates, found)
            records = records_deletes(leaving)
            changes = let_leave(statement, place, leaving, records=records)
            problems = remove_other_attempts(statement, place, changes)
        metrics = {
            **changes.file_metrics(),
            **({} if leaving.num_rows is None else {"numDeletedRows": leaving.num_rows}),
            **times(began, scanned),
        }
        return statement.commit(changes, metrics, problems=problems, watch=self.watch)
