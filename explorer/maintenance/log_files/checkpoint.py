"""Planning a checkpoint (spec: Checkpoints, V2 Spec)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final
from uuid import UUID, uuid4

from explorer.log.checkpoint_writing.checkpoint_form import CheckpointForm, choose_form
from explorer.log.folder.listing import LogListing
from explorer.maintenance.plan.guards import judge_features, judge_log
from explorer.maintenance.plan.newer_commits import anchor_of
from explorer.maintenance.plan.plan import Plan, Promise
from explorer.maintenance.plan.planning_context import read_planning_context
from explorer.maintenance.plan.step_types import CopyCheckpoint, Step, WriteCheckpoint
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count
from explorer.table.opening_cost import OpeningCost, opening_cost
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

# measured over checkpoints of tables with statistics of a handful of columns: an estimate, of
# which the receipt has the true number
_BYTES_OF_A_CHECKPOINT: Final = 16 * 1024
_BYTES_OF_AN_ACTION: Final = 100


def plan_checkpoint(
    table: Table,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """A checkpoint of the newest version, of the kind that the table asks for.

    The effect says what opening costs before and, as an estimate, after. `seed` names new
    files, so that the plan does; by default a new one.
    """
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    snapshot = context.snapshot
    before = opening_cost(context.store, snapshot.loaded)
    num_actions = snapshot.num_files + snapshot.num_tombstones
    form = choose_form(snapshot.protocol, snapshot.metadata, num_actions)
    held = snapshot.segment.checkpoint
    steps: tuple[Step, ...] = ()
    if held is None or held.version < snapshot.version:
        steps = (checkpoint_step(snapshot.version, seed or uuid4()),)
        is_cut = context.listing.commits[:1] != (0,)
        if form.kind == "v2" and is_cut and not has_classic(context.listing, 0):
            steps = (*steps, copy_step(snapshot.version))
    return Plan(
        operation="checkpoint",
        subject=context.subject,
        anchor=anchor_of(context.store, snapshot.version),
        planned_at=context.now_ms,
        summary=_summary(snapshot, form, before, num_actions, has_steps=bool(steps)),
        parameters={"version": snapshot.version},
        effect={
            "before": asdict(before),
            "after": asdict(_after(snapshot, form, num_actions) if steps else before),
            "form": asdict(form),
            "num_actions": num_actions,
        },
        verdicts=(judge_features(snapshot.protocol), judge_log(context.listing)),
        steps=steps,
        rests_on=(),
        promise=Promise(versions={str(snapshot.version): snapshot.num_files}),
        table=table,
    )


def checkpoint_step(version: int, seed: UUID) -> WriteCheckpoint:
    """The step that writes a checkpoint of a version that is committed."""
    return WriteCheckpoint(
        id="checkpoint",
        reason=f"Readers start at version {version} instead of reading the commits before it.",
        num_files=1,
        of=version,
        seed=seed,
    )


def has_classic(listing: LogListing, first: int) -> bool:
    """Whether clients that do not know V2 find a checkpoint of `first` or a later version.

    Without one they take a log that was cut for a broken one (spec: Handling Backward
    compatibility while moving to UUID-named v2 Checkpoints).
    """
    return any(found.kind != "v2" and found.version >= first for found in listing.checkpoints)


def copy_step(version: int) -> CopyCheckpoint:
    """The step that gives the V2 checkpoint of a version the classic name too."""
    return CopyCheckpoint(
        id="copy",
        reason="Clients that do not support V2 checkpoints find the protocol in one with the "
        "classic name, and can report that the table is too new for them.",
        num_files=1,
        version=version,
    )


def _after(snapshot: Snapshot, form: CheckpointForm, num_actions: int) -> OpeningCost:
    """What opening will cost: no commits, and a checkpoint whose top level has about so many
    bytes."""
    texts = len(snapshot.metadata.schema_string or "")
    inside = num_actions if form.actions_per_sidecar is None else 0
    size = _BYTES_OF_A_CHECKPOINT + texts + _BYTES_OF_AN_ACTION * inside
    return OpeningCost(commits=0, commit_bytes=0, checkpoint_bytes=size)


def _summary(
    snapshot: Snapshot,
    form: CheckpointForm,
    before: OpeningCost,
    num_actions: int,
    *,
    has_steps: bool,
) -> str:
    version = snapshot.version
    if not has_steps:
        return f"Version {version} has a checkpoint already; there is nothing to do."
    named = "V2" if form.kind == "v2" else "classic"
    saved = f"{count(before.commits, 'commit')} ({render_byte_size(before.commit_bytes)})"
    if before.compactions:
        size = render_byte_size(before.compaction_bytes)
        saved += f", {count(before.compactions, 'log compaction')} ({size})"
    if before.checkpoint_bytes:
        size = render_byte_size(before.checkpoint_bytes + before.sidecar_bytes)
        saved += f" and the checkpoint before them ({size})"
    size = render_byte_size(_after(snapshot, form, num_actions).checkpoint_bytes)
    return (
        f"Writes a {named} checkpoint of version {version}: opening reads it (about {size}) "
        f"instead of {saved}; nothing is lost."
    )
