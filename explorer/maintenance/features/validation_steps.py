"""Steps that look whether something holds for a version, so that the commit behind them may
rest on it. They change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from explorer.errors import InvalidArgumentError
from explorer.maintenance.features.drop_rules import remaining
from explorer.maintenance.plan.newer_commits import find_own_commit
from explorer.maintenance.plan.step_types import (
    Commit,
    ValidateRows,
    ValidateTraces,
    Validation,
)
from explorer.maintenance.steps.context import Run, Tally
from explorer.pipeline import find_violations
from explorer.table.counts import count
from explorer.table.snapshot import Snapshot

_SHOWN_VALUE: Final = 60


def validate_rows(run: Run, step: ValidateRows, tally: Tally) -> None:
    """Hold every row of the newest version against the conditions of `expressions`; raises
    `InvalidArgumentError` (`plan_refused`) with a few of the rows that break one."""
    if _was_committed(run, step, tally):
        return
    snapshot = check_newest_version(run)
    tally.planned = snapshot.num_files
    tally.result = {"looked_at": snapshot.version}
    for name, expression in step.expressions.items():
        found = find_violations(snapshot, expression, run.spark, watch=run.watch)
        if found.count:
            raise _broken(name, expression, found.count, found.sample.to_pylist())
    tally.done = snapshot.num_files
    tally.result = {"version": snapshot.version}


def validate_traces(run: Run, step: ValidateTraces, tally: Tally) -> None:
    """Look whether the newest version uses a feature that is about to be dropped; raises
    `InvalidArgumentError` (`plan_refused`) where it does."""
    if _was_committed(run, step, tally):
        return
    snapshot = check_newest_version(run)
    tally.result = {"looked_at": snapshot.version}
    for left in remaining(snapshot, step.feature):
        raise InvalidArgumentError(
            f"Version {snapshot.version} uses {step.feature}.",
            reason=left.message,
            remedy=left.remedy,
            kind="plan_refused",
            spec="Table Features",
        )
    tally.result = {"version": snapshot.version}


def check_newest_version(run: Run) -> Snapshot:
    """The newest version, where nothing up to it touches what the plan rests on."""
    snapshot = run.table.snapshot()
    run.log.check_ahead()
    return snapshot


def _was_committed(run: Run, step: Validation, tally: Tally) -> bool:
    """Whether the commit that rests on the step was made before the process was killed."""
    commits = (found for found in run.plan.steps if isinstance(found, Commit))
    for commit in commits:
        if commit.basis.upon is step:
            made = find_own_commit(run.store, run.plan.anchor.version, commit.transaction_id)
            if made is not None:
                tally.planned = 0
                tally.result = {"version": made - 1, "was_there": True}
                return True
    return False


def _broken(
    name: str, expression: str, number: int, rows: list[dict[str, Any]]
) -> InvalidArgumentError:
    shown = "; ".join(dict.fromkeys(_in_words(row) for row in rows))
    verb = "breaks" if number == 1 else "break"
    return InvalidArgumentError(
        f"{count(number, 'row')} of the table {verb} the condition {name[:120]}.",
        reason=f"{expression[:300]} must be true for every row, and is false or null where "
        f"{shown or 'no column is named'}{'; and others' if number > len(rows) else ''}.",
        remedy="Correct or delete these rows first, or write a condition that allows them.",
        kind="plan_refused",
        spec="CHECK Constraints",
    )


def _in_words(row: Mapping[str, Any]) -> str:
    """`amount = -3, region = 'emea'`, each value cut."""
    parts = []
    for name, value in row.items():
        text = repr(value) if isinstance(value, str | bytes) else str(value)
        text = "null" if value is None else text
        cut = text if len(text) <= _SHOWN_VALUE else f"{text[: _SHOWN_VALUE - 3]}..."
        parts.append(f"{name[:_SHOWN_VALUE]} = {cut}")
    return ", ".join(parts)
