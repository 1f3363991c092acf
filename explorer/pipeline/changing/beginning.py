"""How every statement begins that changes rows which a condition is true for: upon the newest
version, with the files that may hold some."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from explorer.log.actions.columns import ADD_COLUMNS
from explorer.log.reconcile.key_columns import keys_of
from explorer.pipeline.removing.finding import only_spark_evaluates, parse_where
from explorer.pipeline.removing.workplace import Workplace
from explorer.progress import Watch
from explorer.scan.predicate.predicate import Predicate
from explorer.storage.ports import WriteStore
from explorer.writing.changes.candidates import Candidates, find_candidates
from explorer.writing.changes.row_changes import RowChanges
from explorer.writing.statements.change_statement import (
    ChangeOptions,
    ChangeStatement,
    begin_change,
    predicate_parameter,
)

DELETE = "DELETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunChange:
    """A statement that is ready to look for its rows. `where` is its condition, None for every row;
    `needs_spark` says why only Spark can carry it out, None where this process can; `values_after`
    computes the new values of an update for who only looks."""

    statement: ChangeStatement
    where: str | None
    candidates: Candidates
    needs_spark: str | None = None
    values_after: ValuesAfter | None = None


ValuesAfter: TypeAlias = Callable[[Workplace, pa.Table], pa.Table | None]
"""The rows of some files, all of them updated, with `BEFORE`; None where that is for Spark and the
place is this process."""

Approve: TypeAlias = Callable[[BegunChange], None]
"""Asked before a row is looked for, each time that the statement runs; it raises what stops it."""


def begin_upon(
    store: WriteStore, operation: str, where: str | None, options: ChangeOptions
) -> tuple[ChangeStatement, Predicate | None]:
    """A statement upon the newest version, and its condition; raises what `begin_change` and
    `parse_where` raise."""
    statement = begin_change(store, operation, options)
    return statement, parse_where(statement.snapshot, where)


def with_candidates(
    statement: ChangeStatement, where: str | None, predicate: Predicate | None, watch: Watch
) -> BegunChange:
    """The statement with the files that may hold a row that matches; raises what the table's
    rules say against taking rows away."""
    candidates = find_candidates(statement.snapshot, predicate, watch)
    statement = replace(
        statement,
        parameters={"predicate": predicate_parameter(predicate)},
        reads=candidates.reads(),
    )
    check_removable(statement, candidates)
    needed = spark_to_find(candidates)
    return BegunChange(statement=statement, where=where, candidates=candidates, needs_spark=needed)


def spark_to_find(candidates: Candidates) -> str | None:
    """Why only Spark can look for the rows; None where this process can, or has not to look."""
    return only_spark_evaluates(candidates.predicate) if candidates.asked.num_rows else None


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
