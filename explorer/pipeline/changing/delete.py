"""Rows deleted from a table."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from explorer.log.actions.columns import ADD_COLUMNS
from explorer.log.reconcile.key_columns import keys_of
from explorer.pipeline.removing.attempts import (
    leaving_nothing,
    remove_other_attempts,
    run_until_committed,
)
from explorer.pipeline.removing.finding import find_rows, only_spark_evaluates, parse_where
from explorer.pipeline.removing.leaving import find_leaving, let_leave, records_deletes
from explorer.pipeline.removing.workplace import Engine, check_engine, choose_workplace
from explorer.pipeline.writing.places import open_place
from explorer.progress import UNWATCHED, Cancel, ProgressCallback, Watch
from explorer.storage.ports import WriteStore
from explorer.table.table import Table
from explorer.transaction.conflicts import Conflict
from explorer.writing.changes.candidates import Candidates, find_candidates
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.statements.change_statement import (
    ChangeOptions,
    ChangeStatement,
    begin_change,
    is_done_already,
    predicate_parameter,
)
from explorer.writing.statements.options import WriteResult

DELETE: Final = "DELETE"


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


def delete_from(
    store: WriteStore,
    where: str | None,
    options: ChangeOptions,
    *,
    engine: Engine = "auto",
    spark: Any = None,
    watch: Watch = UNWATCHED,
) -> WriteResult:
    """`delete` through a store that is open already."""
    check_engine(engine)
    job = _Delete(
        store=store, where=where, options=options, engine=engine, spark=spark, watch=watch
    )
    return run_until_committed(job.run, watch)


@dataclass(frozen=True, kw_only=True)
class _Delete:
    """One delete, which may be run again upon a newer version."""

    store: WriteStore
    where: str | None
    options: ChangeOptions
    engine: Engine
    spark: Any
    watch: Watch

    def run(self) -> WriteResult | Conflict:
        """Delete the rows of the newest version."""
        began = time.monotonic()
        statement = begin_change(self.store, DELETE, self.options)
        if is_done_already(statement):
            return statement.repeated()
        predicate = parse_where(statement.snapshot, self.where)
        candidates = find_candidates(statement.snapshot, predicate, self.watch)
        statement = replace(
            statement,
            parameters={"predicate": predicate_parameter(predicate)},
            reads=candidates.reads(),
        )
        check_removable(statement, candidates)
        asked = candidates.asked
        needed = only_spark_evaluates(predicate) if asked.num_rows else None
        place = choose_workplace(
            self.store, asked, needed, engine=self.engine, spark=self.spark, watch=self.watch
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


def check_removable(statement: ChangeStatement, candidates: Candidates) -> None:
    """Raise what the table's rules say against taking rows away, before any is looked for."""
    first = candidates.files.slice(0, 1)
    if first.num_rows:
        live = statement.snapshot.among(keys_of(first), list(ADD_COLUMNS))
        # as a delete: what else the statement brings is not known yet
        replace(statement, operation=DELETE).check(RowChanges(removed=live))


def times(began: float, scanned: float) -> dict[str, int]:
    """How long a statement took, in milliseconds, under the names of the reference."""
    now = time.monotonic()
    spans = {
        "executionTimeMs": now - began,
        "scanTimeMs": scanned - began,
        "rewriteTimeMs": now - scanned,
    }
    return {name: round(span * 1000) for name, span in spans.items()}
