"""What the receipt of an execution says that did not end as it was planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.errors import DeltaError, Problem
from explorer.maintenance.documents.receipt import StepReceipt
from explorer.table.counts import count

GOES_ON: Final = "Carry out the same plan again to continue."
"""What there is to do where a person stopped a change."""


def refusal(reason: str, remedy: str = "") -> Problem:
    """Nothing may be done."""
    return Problem(
        kind="plan_refused",
        problem="The plan was not carried out.",
        reason=reason,
        remedy=remedy or "Review the plan again, and approve it as it asks.",
    )


def broken_promise(detail: str) -> Problem:
    """Every step was carried out, but the table is not as the plan promised."""
    return Problem(
        kind="data_missing",
        problem="The table is not as the plan promised.",
        reason=detail,
        remedy="Look at the table before you change it again; see the receipt's checks.",
    )


def bug() -> DeltaError:
    """An execution that no error of ours ended."""
    return DeltaError(
        "The execution was interrupted.",
        reason="An interrupt, or a bug in delta-explorer, ended it before the plan was done.",
        remedy="Execute the same plan again: it continues where it ended.",
        kind="internal_error",
    )


def files_that_stayed(steps: Sequence[StepReceipt]) -> Problem | None:
    """Files that were not deleted because they changed since they were planned; None where
    there are none."""
    deletions = [step for step in steps if step.kind == "delete_files"]
    stayed = sum(step.refused for step in deletions)
    if not stayed:
        return None
    planned = sum(step.planned for step in deletions)
    was = "was" if stayed == 1 else "were"
    return Problem(
        kind="plan_stale",
        problem=f"{stayed:,} of {count(planned, 'planned file')} {was} not deleted.",
        reason="They changed since the plan was made; the receipt has the result for each file.",
        remedy="Plan again: the new plan says what to do with them now.",
    )
