"""The kinds of steps and what carries them out, listed by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from explorer.maintenance.features.validation_steps import validate_rows_step, validate_traces_step
from explorer.maintenance.optimize.optimize_step import rewrite_step
from explorer.maintenance.plan.plan import Step, StepKind
from explorer.maintenance.repair.repair_statistics import repair_statistics_step
from explorer.maintenance.steps.commit_step import carry_out_commit
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.deletion import delete_files
from explorer.maintenance.steps.log_steps import (
    copy_checkpoint_step,
    write_checkpoint_step,
    write_checksum_step,
    write_compaction_step,
    write_hint_step,
)

StepWork = Callable[[Run, Step, int, Tally, Mapping[str, Any]], None]
"""Does one step. It may have been begun before, so that doing it twice is doing it once: the
last argument is what the journal knows of it. What becomes of files goes into the tally."""

STEPS: Mapping[StepKind, StepWork] = {
    "commit": carry_out_commit,
    "copy_checkpoint": copy_checkpoint_step,
    "delete_files": delete_files,
    "repair_statistics": repair_statistics_step,
    "rewrite_files": rewrite_step,
    "write_checkpoint": write_checkpoint_step,
    "write_checksum": write_checksum_step,
    "write_compaction": write_compaction_step,
    "write_hint": write_hint_step,
    "validate_rows": validate_rows_step,
    "validate_traces": validate_traces_step,
}
