"""Planning repairs: of the hint, of a checkpoint that cannot be used, of references to files
that are gone, and of statistics that files lack. Each plan says what is lost by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal
from uuid import UUID, uuid4, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.folder.last_checkpoint import read_hint, validate_hint
from explorer.log.folder.listing import CheckpointFiles
from explorer.log.load import load_version
from explorer.log.state.key_cache import KeyCache
from explorer.maintenance.log_files.broken_checkpoints import (
    broken_checkpoints,
    judge_lost,
    lost_versions,
    repair_steps,
    summary,
    why_broken,
)
from explorer.maintenance.log_files.log_cleanup import hint_step
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import build_files, join_files, log_file
from explorer.maintenance.plan.guards import judge_features, judge_log
from explorer.maintenance.plan.newest_times import judge_committing, judge_following
from explorer.maintenance.plan.plan import Ground, Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import (
    Commit,
    CommitBasis,
    CommitRecord,
    DeleteFiles,
    MissingFiles,
    RepairStatistics,
    Step,
    WriteCheckpoint,
)
from explorer.maintenance.repair.repair_statistics import (
    BATCH_SIZE,
    judge_statistics,
    statistics_repair,
)
from explorer.maintenance.steps.commit_step import judge_commit
from explorer.maintenance.steps.gone_files import are_gone
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import LAST_CHECKPOINT
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.table.counts import count
from explorer.table.row_counts import count_live
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock

What = Literal["hint", "checkpoint", "files", "statistics"]


def plan_repair(  # noqa: PLR0913  # what is repaired, who looks on, what makes it repeatable
    table: Table,
    what: What,
    *,
    batch_size: int = BATCH_SIZE,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
) -> Plan:
    """Repair the hint, checkpoints that cannot be used, references to missing files, or
    statistics that files lack; for these the files are read, many of them on Spark, and each
    `batch_size` bytes of them are a commit of their own."""
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    made_with = seed or uuid4()
    if what == "hint":
        return _repair_hint(context)
    if what == "checkpoint":
        return _repair_checkpoint(context, made_with)
    if what == "statistics":
        return _plan(
            context, "statistics", *statistics_repair(context, made_with, max(1, batch_size))
        )
    return _repair_files(context, made_with)


def _repair_hint(context: PlanningContext) -> Plan:
    """A hint that is missing, stale or wrong is led to the newest checkpoint that can be read."""
    problems = validate_hint(context.store, context.listing)
    listed = context.listing.has_last_checkpoint and not problems
    named = read_hint(context.store).version if listed else None
    newest_first = reversed(context.listing.checkpoints)
    sound = next(
        (found for found in newest_first if why_broken(context.store, found) is None), None
    )
    if named is not None and (sound is None or named > sound.version):
        text = f"The hint names the checkpoint of version {named}, which is broken: "
        return _plan(context, "hint", f"{text}repair checkpoint mends that.", (), [])
    if sound is not None:
        if named == sound.version:
            return _plan(context, "hint", "The hint to the newest checkpoint is correct.", (), [])
        text = (
            f"Makes _last_checkpoint name the checkpoint of version {sound.version}, the newest "
            "that is sound; nothing is lost."
        )
        return _plan(context, "hint", text, (hint_step(context, sound),), [])
    if not problems:
        text = "No checkpoint of the log can be read, so there is none to name."
        return _plan(context, "hint", text, (), [])
    files = [log_file(context.store, LAST_CHECKPOINT, "it names a checkpoint that does not exist")]
    step = DeleteFiles(id="deletion", reason=problems[0].problem, num_files=1)
    text = "Deletes _last_checkpoint, because there is no checkpoint; nothing is lost."
    return _plan(context, "hint", text, (step,), files)


def _repair_checkpoint(context: PlanningContext, seed: UUID) -> Plan:
    broken = broken_checkpoints(context)
    if not broken:
        return _plan(context, "checkpoint", "No checkpoint of the table is broken.", (), [])
    lost = lost_versions(context, broken)
    steps, files = repair_steps(context, broken, seed)
    text = summary(context, broken, lost, writes=isinstance(steps[-1], WriteCheckpoint))
    plan = _plan(context, "checkpoint", text, steps, files)
    return replace(
        plan,
        verdicts=(*plan.verdicts, judge_lost(lost)),
        effect={**plan.effect, "lost_versions": [[*each] for each in lost]},
        promise=_promise_without(context, broken),
    )


def _promise_without(context: PlanningContext, broken: Iterable[CheckpointFiles]) -> Promise:
    """What the newest version holds once these are gone: one that contradicts the commits has
    other files."""
    listing = context.listing
    for files in broken:
        listing = listing.without(files)
    if context.snapshot.segment.checkpoint in listing.checkpoints:
        num_files = context.snapshot.num_files
    else:
        version = context.snapshot.version
        without = load_version(context.store, listing, version, KeyCache(0), watch=context.watch)
        num_files = without.count("add")
    return Promise(versions={str(context.snapshot.version): num_files})


def _repair_files(context: PlanningContext, seed: UUID) -> Plan:
    snapshot = context.snapshot
    columns = ["path", "deletion_vector", "size", "num_records"]
    live = snapshot.physical_files("add", columns)
    gone = live.filter(are_gone(context.store, live))
    if not gone.num_rows:
        return _plan(context, "files", "No file of the newest version is missing.", (), [])
    paths = pc.unique(gone.column("path")).to_pylist()
    rows = count_live(gone)
    step = Commit(
        id="commit",
        reason="The files are missing, and every query that needs one fails.",
        num_files=gone.num_rows,
        record=CommitRecord(
            operation="FSCK",
            transaction_id=str(uuid5(seed, "files")),
            metrics={"numRemovedFiles": str(gone.num_rows)},
        ),
        basis=CommitBasis(reads="metadata"),
        files=MissingFiles(paths=tuple(paths)),
    )
    lost = "an unknown number of rows" if rows is None else count(rows, "row")
    text = (
        f"Takes {count(gone.num_rows, 'missing file')} out of the table: {lost}, which no reader "
        "can find any more, will be missing from all later versions."
    )
    has_feed = CHANGE_DATA_FEED.value_of(snapshot.metadata.configuration)
    if has_feed:
        text = (
            "The change feed of the version that this makes, and so of every range with it, can "
            f"never be read: it would be the rows that are gone. {text}"
        )
    files = build_files(
        gone.column("path"),
        action="remove",
        reason="the file, or its deletion vector, is missing",
        bytes=gone.column("size"),
    )
    configuration, version = snapshot.metadata.configuration, snapshot.version + 1
    steps = with_checksum_and_checkpoint(step, configuration, seed, version)
    plan = _plan(context, "files", text, steps, [files])
    return replace(
        plan,
        verdicts=(*plan.verdicts, _judge_rows(lost)),
        effect={**plan.effect, "rows": rows, "breaks_change_feed": has_feed},
    )


def _judge_rows(lost: str) -> Verdict:
    return Verdict(
        guard="rows",
        outcome="warn",
        message=f"The table loses {lost} of the missing files.",
        remedy="Restore the files from a backup; or approve it with the table's name and a reason.",
        asks_for_name=True,
        asks_for_reason=True,
    )


def _plan(
    context: PlanningContext,
    what: What,
    summary: str,
    steps: tuple[Step, ...],
    files: list[pa.Table],
) -> Plan:
    protocol = context.snapshot.protocol
    commits = what in {"files", "statistics"}
    grounds: tuple[Ground, ...] = ("protocol", "metadata", "files") if commits else ()
    verdicts: tuple[Verdict, ...] = (judge_features(protocol), judge_log(context.listing))
    if commits:
        # files that are gone leave, and their age begins
        verdicts = judge_committing(context) if what == "files" else judge_following(context)
    plan = Plan(
        operation="repair",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=summary,
        parameters={"what": what},
        effect={"num_files": sum(part.num_rows for part in files)},
        verdicts=verdicts,
        steps=steps,
        rests_on=grounds,
        promise=Promise(versions={str(context.snapshot.version): context.snapshot.num_files}),
        files=join_files(files),
        table=context.table,
    )
    if plan.refusals:
        return plan
    match steps[:1]:
        case (RepairStatistics() as first,):
            verdict = judge_statistics(plan, context.table, first)
            return replace(plan, verdicts=(*verdicts, verdict))
        case (Commit() as commit,):
            return replace(plan, verdicts=(*verdicts, judge_commit(plan, context.table, commit)))
        case _:
            return plan
