"""Who may have a plan executed: one digest, and where a guard asks for it more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Approval:
    """The consent of a person to exactly one plan.

    `digest` is that of the plan which the person saw. `table_name` and `reason` are needed
    where a verdict asks for them; both go into the receipt.
    """

    digest: str
    by: str | None = None
    table_name: str | None = None
    reason: str | None = None
