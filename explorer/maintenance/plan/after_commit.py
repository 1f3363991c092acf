"""What belongs to a commit: the version's checksum, and a checkpoint where the table's
interval asks for one. Both are steps of the plan; log cleanup never is."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from explorer.maintenance.plan.plan import Step
from explorer.protocol.known_properties import CHECKPOINT_INTERVAL


def with_checksum_and_checkpoint(
    step: Step, index: int, configuration: Mapping[str, str], seed: UUID
) -> tuple[Step, ...]:
    """A commit, which is the plan's step number `index`, and what follows it."""
    every = CHECKPOINT_INTERVAL.value_of(configuration)
    return (
        step,
        Step(
            kind="write_checksum",
            reason="Readers can check the version that the commit makes.",
            num_files=1,
            arguments={"of_step": index},
        ),
        Step(
            kind="write_checkpoint",
            reason=f"The table asks for a checkpoint at each version that {every} divides.",
            arguments={"of_step": index, "every": every, "seed": str(seed)},
        ),
    )
