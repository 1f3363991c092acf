"""What belongs to a commit: the version's checksum, and a checkpoint where the table's
interval asks for one. Both are steps of the plan; log cleanup never is."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from explorer.maintenance.plan.step_types import (
    CommittingStep,
    Step,
    WriteCheckpoint,
    WriteChecksum,
)
from explorer.protocol.table_properties.known_properties import CHECKPOINT_INTERVAL


def with_checksum_and_checkpoint(
    step: CommittingStep, configuration: Mapping[str, str], seed: UUID, version: int
) -> tuple[Step, ...]:
    """A commit, and what follows it; `version` is what it makes unless others commit first. The
    checkpoint is a step of the plan also where it will not be due then, because they may."""
    every = CHECKPOINT_INTERVAL.value_of(configuration)
    asked = f"at each version that {every} divides"
    reason = f"The table asks for a checkpoint {asked}, such as {version}."
    if version % every:
        reason = f"Only if others commit first: the table asks for one {asked}, and {version} is "
        reason += "none."
    checkpoint = WriteCheckpoint(
        id=f"checkpoint of {step.id}",
        reason=reason,
        of=step,
        every=every,
        seed=seed,
    )
    return (step, checksum_of(step), checkpoint)


def checksum_of(step: CommittingStep) -> WriteChecksum:
    """The step that writes the checksum of a commit's version."""
    return WriteChecksum(
        id=f"checksum of {step.id}",
        reason="Readers can check the version that the commit makes.",
        num_files=1,
        of=step,
    )
