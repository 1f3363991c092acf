"""What carries out each kind of step."""

from __future__ import annotations

from typing import assert_never

from explorer.maintenance.features.validation_steps import validate_rows, validate_traces
from explorer.maintenance.optimize.optimize_step import rewrite
from explorer.maintenance.plan.step_types import (
    Commit,
    CopyCheckpoint,
    DeleteFiles,
    RepairStatistics,
    RewriteFiles,
    Step,
    ValidateRows,
    ValidateTraces,
    WriteCheckpoint,
    WriteChecksum,
    WriteCompaction,
    WriteHint,
)
from explorer.maintenance.repair.repair_statistics import repair_statistics
from explorer.maintenance.steps.commit_step import carry_out_commit
from explorer.maintenance.steps.context import Run, Tally
from explorer.maintenance.steps.deletion import delete_files
from explorer.maintenance.steps.journal import Noted
from explorer.maintenance.steps.log_steps import (
    copy_checkpoint_step,
    write_checkpoint_step,
    write_checksum_step,
    write_compaction_step,
    write_hint_step,
)


def carry_out(  # noqa: C901, PLR0912  # a case for each kind
    run: Run, step: Step, tally: Tally, noted: Noted
) -> None:
    """Do one step; the tally tells what becomes of its files. It may have been begun before, as
    the journal has `noted`: doing it twice is doing it once."""
    match step:
        case Commit():
            carry_out_commit(run, step, tally)
        case RewriteFiles():
            rewrite(run, step, tally, noted)
        case RepairStatistics():
            repair_statistics(run, step, tally)
        case DeleteFiles():
            delete_files(run, step, tally, noted)
        case WriteCheckpoint():
            write_checkpoint_step(run, step, tally)
        case CopyCheckpoint():
            copy_checkpoint_step(run, step, tally)
        case WriteChecksum():
            write_checksum_step(run, step, tally)
        case WriteCompaction():
            write_compaction_step(run, step, tally)
        case WriteHint():
            write_hint_step(run, step, tally)
        case ValidateRows():
            validate_rows(run, step, tally)
        case ValidateTraces():
            validate_traces(run, step, tally)
        case _:
            assert_never(step)
