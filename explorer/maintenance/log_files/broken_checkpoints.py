"""Planning the repair of checkpoints that cannot be read (spec: Checkpoints).

A checkpoint is broken where reading this very one, sidecars included, finds that its content
is not sound, and as good as broken where it contradicts the commits up to it. That a store
fails, or that another checkpoint of the version is preferred, says nothing of it. What is broken
is read once more before it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import pyarrow as pa

from explorer.errors import CorruptLogError, UnusableCheckpointError
from explorer.files.contradictions import contradiction_of, find_contradictions
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.last_checkpoint import read_hint
from explorer.log.folder.listing import CheckpointFiles, list_log
from explorer.log.reconcile.tail import EMPTY_TAIL
from explorer.log.state.key_cache import KeyCache
from explorer.log.state.reconciled_files import LogState
from explorer.maintenance.log_files.checkpoint import checkpoint_step
from explorer.maintenance.log_files.log_cleanup import hint_step
from explorer.maintenance.plan.file_list import log_file
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.plan.plan import Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.step_types import DeleteFiles, Step
from explorer.storage.ports import ReadStore

Lost = tuple[int, int]
"""Versions, both inclusive, that nothing else in the log stands for."""


def broken_checkpoints(context: PlanningContext) -> dict[CheckpointFiles, str]:
    """The complete checkpoints that are broken, or contradict the commits, oldest first, and why.

    Raises what the store raises.
    """
    found: dict[CheckpointFiles, str] = {}
    for number, files in enumerate(context.listing.checkpoints):
        context.watch.step(number, len(context.listing.checkpoints), "Reading every checkpoint")
        if (reason := why_broken(context.store, files)) is not None:
            found[files] = reason
    for contradiction in find_contradictions(context.store, context.listing, context.watch):
        found[contradiction.checkpoint] = f"{contradiction.problem} {contradiction.reason}"
    return dict(sorted(found.items(), key=lambda item: item[0].version))


def why_broken(store: ReadStore, files: CheckpointFiles) -> str | None:
    """What is wrong with the content of a checkpoint; None where it is sound. Raises what the
    store does."""
    try:
        checkpoint = read_checkpoint(store, files)
        state = LogState(store, checkpoint, EMPTY_TAIL, KeyCache(0))
        _ = state.count("add"), state.count("remove")
    except UnusableCheckpointError as error:
        if error.kind != UnusableCheckpointError.default_kind:  # the store's, not the content's
            raise
        return error.reason
    except CorruptLogError as error:
        return error.reason
    small = checkpoint.small
    if small.protocol is None or small.metadata is None:
        return "It has no protocol or no metadata."
    return None


def lost_versions(context: PlanningContext, broken: Iterable[CheckpointFiles]) -> list[Lost]:
    """Versions that can only be reconstructed from a checkpoint that is broken: the commits
    before them are gone. Nobody can open them as it is; without the file nobody ever will."""
    gone = set(broken)
    commits = set(context.listing.commits)
    sound = {files.version for files in context.listing.checkpoints if files not in gone}
    found: list[Lost] = []
    for version in sorted({files.version for files in gone} - sound):
        start = version
        while start in commits and start not in sound and start > 0:
            start -= 1
        if start in sound or (start == 0 and 0 in commits):
            continue
        end = version
        while end + 1 in commits and end + 1 not in sound:
            end += 1
        if not found or version > found[-1][1]:
            found.append((version, end))
    return found


def repair_steps(
    context: PlanningContext, broken: Mapping[CheckpointFiles, str], seed: UUID
) -> tuple[tuple[Step, ...], list[pa.Table]]:
    """Delete the broken ones and write one of the newest version, unless a sound one is there,
    to which the hint is led then; the files that go."""
    files = [
        log_file(context.store, name, f"it cannot be used as a checkpoint: {reason}"[:600])
        for found, reason in broken.items()
        for name in found.names
    ]
    deletion = DeleteFiles(
        id="deletion",
        reason="Readers would try it, or fail because of it.",
        num_files=len(files),
        broken=tuple(broken),
    )
    newest = context.snapshot.version
    sound = [found for found in context.listing.checkpoints if found not in broken]
    if not sound or sound[-1].version != newest:
        return (deletion, checkpoint_step(newest, seed)), files
    if read_hint(context.store).version in {found.version for found in broken}:
        return (deletion, hint_step(context, sound[-1])), files
    return (deletion,), files


def summary(
    context: PlanningContext,
    broken: Mapping[CheckpointFiles, str],
    lost: Sequence[Lost],
    *,
    writes: bool,
) -> str:
    """What the plan does, and what becomes impossible."""
    versions = sorted({found.version for found in broken})
    shown = ", ".join(map(str, versions[:5])) + (", …" if len(versions) > 5 else "")
    which = f"checkpoint of version {shown}" if len(broken) == 1 else f"checkpoints of {shown}"
    does = f"Deletes the broken {which}"
    if writes:
        does += f" and writes a new one of version {context.snapshot.version}"
    first, reason = next(iter(broken.items()))
    why = f"{first.names[0]}: {reason}"
    if not lost:
        return (
            f"{does}; its content is read from the commits or another checkpoint, so nothing is "
            f"lost. {why}"
        )
    return (
        f"{does}; the commits before {ranges(lost)} are gone. These versions cannot be opened now, "
        "and can then never be reconstructed. "
        f"{why}"
    )


def ranges(lost: Sequence[Lost]) -> str:
    """`version 3` or `versions 3–9 and 12`, for people."""
    texts = [str(first) if first == last else f"{first}–{last}" for first, last in lost[:5]]
    one = len(lost) == 1 and lost[0][0] == lost[0][1]
    return f"version{'' if one else 's'} {', '.join(texts)}{', …' if len(lost) > 5 else ''}"


def judge_lost(lost: Sequence[Lost]) -> Verdict:
    """The verdict on versions that end with the file."""
    if not lost:
        return Verdict(guard="reach", outcome="allow", message="No version is lost.")
    return Verdict(
        guard="reach",
        outcome="warn",
        message=f"Only the broken file is left of {ranges(lost)}.",
        remedy="Restore the file or its commits from a backup; or approve it with the table's "
        "name and a reason.",
        asks_for_name=True,
        asks_for_reason=True,
    )


def check_still_broken(store: ReadStore, broken: Iterable[CheckpointFiles]) -> None:
    """Raise `ConflictError` where a checkpoint that a plan takes for broken is sound now."""
    listing = list_log(store)
    for files in broken:
        if why_broken(store, files) is None and contradiction_of(store, listing, files) is None:
            raise stale(f"The checkpoint {files.names[0]} is sound now.")
