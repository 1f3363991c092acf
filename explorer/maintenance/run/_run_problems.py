"""What the receipt of an execution says that did not end as it was planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from explorer.errors import DeltaError, Problem
from explorer.maintenance.documents.receipt import StepReceipt

GOES_ON: Final = "Carry out the same plan again to go on."
"""What there is to do where a person stopped a change."""


def refusal(reason: str, remedy: str = "") -> Problem:
    """Nothing may be done."""
    return Problem(
        kind="plan_refused",
        problem="The plan was not carried out.",
        reason=reason,
        remedy=remedy or "Look at the plan again, and approve it as it asks for.",
    )


def broken_promise(detail: str) -> Problem:
    """All was done, and the table is not as the plan said."""
    return Problem(
        kind="data_missing",
        problem="Something that the plan promised does not hold afterwards.",
        reason=detail,
        remedy="Look at the table before anything else is done to it; see the receipt's checks.",
    )


def bug() -> DeltaError:
    """What ended it is none of our errors."""
    return DeltaError(
        "The plan was broken off.",
        reason="An interrupt, or a bug in delta-explorer, ended it between two changes.",
        remedy="Execute the same plan again: it goes on where it ended.",
        kind="internal_error",
    )


def files_that_stayed(steps: Sequence[StepReceipt]) -> Problem | None:
    """Files that should have been deleted and are no longer what was planned; None where there
    are none."""
    deletions = [step for step in steps if step.kind == "delete_files"]
    stayed = sum(step.refused for step in deletions)
    if not stayed:
        return None
    planned = sum(step.planned for step in deletions)
    return Problem(
        kind="plan_stale",
        problem=f"{stayed:,} of {planned:,} planned files stayed.",
        reason="They are no longer what was planned; the receipt says of each what became of it.",
        remedy="Make the plan again: it says what is to be done with them now.",
    )
