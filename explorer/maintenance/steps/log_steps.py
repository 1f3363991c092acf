"""The steps that write files of the log: checkpoints and what stands beside commits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from uuid import UUID, uuid5

from explorer.errors import UnsupportedError
from explorer.log.checkpoint_writing.classic_copy import write_classic_copy
from explorer.log.checkpoint_writing.compaction_writer import write_compaction
from explorer.log.folder.last_checkpoint import HINT_PATH, read_hint
from explorer.maintenance.log_files.broken_checkpoints import why_broken
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.plan.step_types import (
    CopyCheckpoint,
    WriteCheckpoint,
    WriteChecksum,
    WriteCompaction,
    WriteHint,
)
from explorer.maintenance.steps.context import Run, Tally
from explorer.protocol.filenames import LOG_FOLDER
from explorer.protocol.last_checkpoint import LastCheckpoint, render_last_checkpoint
from explorer.table.table import Table
from explorer.table.times import utc_time
from explorer.writing.commits.after_commit import ensure_checkpoint, ensure_checksum


def write_checkpoint_step(run: Run, step: WriteCheckpoint, tally: Tally) -> None:
    """Write a checkpoint of `version`, or of the version of the commit that an earlier step
    made where the table's interval asks for one, unless one that can be used is there."""
    version = step.of if isinstance(step.of, int) else run.version_of(step.of)
    if step.every is not None and version % step.every:
        tally.planned = 0
        tally.result = {"due": False}
        return
    tally.planned = 1
    snapshot = Table(run.store).snapshot(version=version)
    written = ensure_checkpoint(
        run.store,
        snapshot,
        now=utc_time(run.plan.planned_at),
        new_uuid=_names_of(step.seed),
        watch=run.watch,
    )
    if written is None:
        held = snapshot.segment.checkpoint
        names = [] if held is None else list(held.names)
        tally.result = {"checkpoint": names, "was_there": True}
        return
    tally.done = 1
    tally.num_bytes = sum(file.size for file in written.files)
    tally.result = {
        "checkpoint": [file.path for file in written.files],
        "was_there": False,
        "is_hinted": written.is_hinted,
    }


def copy_checkpoint_step(run: Run, step: CopyCheckpoint, tally: Tally) -> None:
    """Write the V2 checkpoint of `version` under the classic name too, unless a checkpoint
    has that name already."""
    tally.planned = 1
    found = [each for each in run.table.listing().checkpoints if each.version == step.version]
    if any(each.kind == "classic" for each in found):
        tally.result = {"was_there": True}
        return
    # of several, another may be broken; a store that fails says nothing of either
    named = (each for each in found if each.kind == "v2")
    held = next((each for each in named if why_broken(run.store, each) is None), None)
    if held is None:
        raise stale(f"Version {step.version} has no V2 checkpoint any more that can be read.")
    try:
        written = write_classic_copy(run.store, held, run.watch)
    except UnsupportedError as error:
        # a courtesy to old clients, which nothing else waits for
        tally.note(f"{LOG_FOLDER}/{held.names[0]}", "refused", error.reason)
        tally.result = {"was_there": False, "reason": error.reason}
        return
    tally.done, tally.num_bytes = 1, written.size
    tally.result = {"checkpoint": [written.path], "was_there": False}


def write_checksum_step(run: Run, step: WriteChecksum, tally: Tally) -> None:
    """Write the checksum of a version, unless one is there."""
    version = run.version_of(step.of)
    tally.planned = 1
    snapshot = Table(run.store).snapshot(version=version)
    written = ensure_checksum(run.store, snapshot)
    tally.done = int(written)
    tally.result = {"version": version, "was_there": not written}


def write_compaction_step(run: Run, step: WriteCompaction, tally: Tally) -> None:
    """Write one log compaction file; one of that name is replaced by the same content."""
    tally.planned = 1
    listing = run.table.listing()
    written = write_compaction(run.store, listing, step.first, step.last, watch=run.watch)
    tally.done, tally.num_bytes = 1, written.file.size
    tally.result = {"name": written.compaction.name}


def write_hint_step(run: Run, step: WriteHint, tally: Tally) -> None:
    """Let `_last_checkpoint` name a checkpoint that is there; nothing where it names a newer
    one by now that is there too."""
    tally.planned = 1
    listing = run.table.listing()
    if not any(found.version == step.version for found in listing.checkpoints):
        raise stale(f"The checkpoint of version {step.version} is not there any more.")
    named = read_hint(run.store).version
    held = any(found.version == named for found in listing.checkpoints)
    if named is not None and held and named > step.version:
        tally.result = {"was_there": True}
        return
    last = LastCheckpoint(version=step.version, size=step.size, parts=step.parts)
    run.store.write(HINT_PATH, render_last_checkpoint(last))
    tally.done = 1
    tally.result = {"was_there": False}


def _names_of(seed: UUID) -> Callable[[], UUID]:
    """UUIDs that follow from the plan, always the same ones."""
    numbers = count()
    return lambda: uuid5(seed, str(next(numbers)))
