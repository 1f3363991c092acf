"""Planning vacuum: which files no version within its retention needs any more
(spec: Add File and Remove File, Data Files, VACUUM Protocol Check).

Full mode lists everything below the table's root; lite mode takes what the log alone names.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Literal
from uuid import UUID, uuid4, uuid5

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.files.events import FileEvents, read_events
from explorer.files.kept import KeptFiles, kept_files, names_through_links
from explorer.files.listed import list_files
from explorer.files.name_index import NameIndex
from explorer.files.reachable import events_of_files
from explorer.files.store_paths import NOWHERE
from explorer.files.unkept import (
    NEVER_OLD,
    Ages,
    partition_names,
    recorded_changes,
    removals_of,
)
from explorer.log.plain_arrays import Flags
from explorer.maintenance.documents.state_folder import StateDir, StateFolder
from explorer.maintenance.plan.after_commit import with_checksum_and_checkpoint
from explorer.maintenance.plan.file_list import join_files
from explorer.maintenance.plan.guards import (
    judge_catalog,
    judge_clock,
    judge_log,
    judge_retention,
    judge_setting,
    judge_vacuum_protocol,
)
from explorer.maintenance.plan.independent_check import IndependentCheck, check_independently
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import Commit, CommitRecord, DeleteFiles, Step
from explorer.maintenance.steps.files_coming_back import VACUUM_END
from explorer.maintenance.vacuum._known_clones import KnownClone, judge_clones, known_clones
from explorer.maintenance.vacuum._removed_files import removed_files
from explorer.maintenance.vacuum._vacuum_effect import Consequence, consequence_of, newest_times
from explorer.maintenance.vacuum._vacuum_files import (
    ComparedListing,
    Verdicts,
    compare_listing,
    events_missing_files,
    judge_listed,
    judge_removed,
)
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.protocol.table_properties.known_properties import DELETED_FILE_RETENTION
from explorer.storage.concurrent_reads import begin
from explorer.storage.parquet.decoding_memory import release_memory
from explorer.table.counts import count
from explorer.table.retention import retention_floor
from explorer.table.table import Table
from explorer.table.times import Clock, system_clock
from explorer.transaction.conflicts import VACUUM_START

Mode = Literal["full", "lite"]

_MS = timedelta(milliseconds=1)


def plan_vacuum(  # noqa: PLR0913  # what is asked, who looks on, and what makes it repeatable
    table: Table,
    retention: timedelta | None = None,
    *,
    mode: Mode = "full",
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
    seed: UUID | None = None,
    state_dir: StateDir = None,
) -> Plan:
    """Delete what was removed from the table, or never became part of it, longer ago than
    `retention`: by default the table's own, and seven days at least.

    A plan whose two ways to the kept files disagree is refused, and saved in `state_dir`
    as evidence. Raises what `Table.snapshot` raises.
    """
    if retention is not None and retention < timedelta(0):
        raise InvalidArgumentError(
            "The retention cannot be negative.",
            reason=f"The retention {retention} is negative.",
            remedy="Give a duration of zero or more.",
        )
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    search = _search(context, retention, mode)
    plan = _build(context, search, mode, seed or uuid4())
    if search.second.evidence:
        state = StateFolder(state_dir)
        state.check_outside(table)
        state.save_plan(plan)
    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What was found out."""

    retention: timedelta
    is_given: bool
    ages: Ages
    folders: int
    files: Verdicts
    second: IndependentCheck
    consequence: Consequence
    clones: tuple[KnownClone, ...]
    newest: dict[str, int | None]


def _search(context: PlanningContext, asked: timedelta | None, mode: Mode) -> _Search:
    configuration = context.snapshot.metadata.configuration
    retention = retention_floor(configuration) if asked is None else asked
    ages = Ages(cutoff_ms=context.now_ms - retention // _MS, retention_ms=retention // _MS)
    if DELETED_FILE_RETENTION.unread_in(configuration) is not None:
        ages = NEVER_OLD  # the plan is refused, and nobody knows which files it could delete
    cutoff_ms = ages.cutoff_ms
    with ThreadPoolExecutor(3) as beside:
        # an object store answers both ways to the kept files at once
        replay = begin(
            context.store,
            beside,
            partial(_replay, context),
        )
        # the listing waits for the system, the log for the decoder
        looking = (
            beside.submit(list_files, context.store, context.watch) if mode == "full" else None
        )
        kept = kept_files(context.snapshot, cutoff_ms)
        newest = begin(context.store, beside, partial(newest_times, context))
        names = NameIndex(kept.places.inside)
        found = None if looking is None else compare_listing(looking.result(), names)
    del looking  # it would hold a million names
    release_memory()  # reading a checkpoint leaves much of it
    expire_ms = context.now_ms - DELETED_FILE_RETENTION.value_of(configuration) // _MS
    second = check_independently(context, replay, names, cutoff_ms, expire_ms)
    files = _judged(context, ages, kept, second, found)
    missing = _missing(second, found, files.gone)
    return _Search(
        retention=retention,
        is_given=asked is not None,
        ages=ages,
        folders=0 if found is None else found.rest.folders,
        files=files,
        second=second,
        consequence=consequence_of(context, second.events, files.delete.column("path"), missing),
        clones=known_clones(context.store, files.delete.column("path"), context.watch),
        newest=newest(),
    )


def _replay(context: PlanningContext) -> FileEvents:
    """All commits, the second way to the kept files."""
    events = read_events(context.log_store, context.listing, context.watch)
    # both are asked for later: worked out here, they are beside the first way
    _ = events.newest_rows, events.files
    return events


def _judged(
    context: PlanningContext,
    ages: Ages,
    kept: KeptFiles,
    second: IndependentCheck,
    found: ComparedListing | None,
) -> Verdicts:
    """The fate of what was listed; in lite mode of what the log says was removed."""
    columns = partition_names(context.snapshot)
    cutoff_ms = ages.cutoff_ms
    recorded = recorded_changes(context.snapshot, context.listing, second.events)
    young = NOWHERE if recorded is None else recorded.after(cutoff_ms)
    places = kept.places.joined(second.further).joined(young)
    if found is None:
        candidates = removed_files(context.store, kept, second.events, places, cutoff_ms)
        return judge_removed(candidates, columns, ages)
    removals = removals_of(second.events, kept)
    # what is left of the listing is none of those that the first way names
    inside = second.further.joined(young).inside
    links = names_through_links(context.store, found.rest.others, places.names)
    further = replace(places, inside=inside).joined(links)
    return judge_listed(found, context.store, further, kept, removals, columns, ages, recorded)


def _missing(
    second: IndependentCheck, found: ComparedListing | None, gone: pa.ChunkedArray | None
) -> Flags:
    """For each event, whether a file of it is gone; without a listing those that were asked
    for and are `gone`."""
    events = second.events
    if events is None:
        return np.zeros(0, np.bool_)
    if found is not None:
        return events_missing_files(events, second.kept_rows, second.further.inside, found)
    if gone is None:
        return np.zeros(events.table.num_rows, np.bool_)
    return events_of_files(events, gone)


def _build(context: PlanningContext, search: _Search, mode: Mode, seed: UUID) -> Plan:
    snapshot = context.snapshot
    delete, lost = search.files.delete, search.consequence
    size = pc.sum(delete.column("bytes")).as_py() or 0
    verdicts = _judge(context, search)
    evidence = search.second.evidence
    steps = () if evidence else _steps(context, search, size, seed)
    files = join_files(evidence or [delete, *search.files.leave])
    more, more_bytes = search.files.reference_deletes
    versions: dict[str, int | None] = {str(snapshot.version): snapshot.num_files}
    if lost.readable_from is not None and lost.readable_from != snapshot.version:
        versions[str(lost.readable_from)] = None
    return Plan(
        operation="vacuum",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(search, size)
        + ("" if evidence or mode == "full" else _not_looked_for(context, lost)),
        parameters={
            "mode": mode,
            "retention_ms": search.retention // _MS,
            "retention_from": "the caller" if search.is_given else "the table, or seven days",
        },
        effect={
            "num_files": delete.num_rows,
            "num_bytes": size,
            "left": sum(part.num_rows for part in search.files.leave),
            "reference_deletes_also": {"num_files": more, "num_bytes": more_bytes},
            **({"clones": [item.document for item in search.clones]} if search.clones else {}),
            **lost.document,
        },
        verdicts=verdicts,
        steps=steps,
        rests_on=("protocol", "metadata", "files"),
        promise=Promise(versions=versions, checks_files=True),
        files=files,
        table=context.table,
    )


def _judge(context: PlanningContext, search: _Search) -> tuple[Verdict, ...]:
    protocol, configuration = context.snapshot.protocol, context.snapshot.metadata.configuration
    times = {**search.newest, "untracked file": search.files.youngest_ms}
    youngest = {"untracked file": search.files.youngest_ms, "commit": times.get("commit")}
    floor = retention_floor(configuration)
    retention = judge_setting(
        "retention", DELETED_FILE_RETENTION, configuration, "interval 30 days"
    ) or judge_retention(search.retention, floor, context.now_ms, youngest)
    return (
        judge_vacuum_protocol(protocol),
        judge_catalog(protocol),
        judge_log(context.listing),
        judge_clock(context.now_ms, times),
        retention,
        search.second.verdict,
        *judge_clones(search.clones),
    )


def _steps(context: PlanningContext, search: _Search, size: int, seed: UUID) -> tuple[Step, ...]:
    number = search.files.delete.num_rows
    if not number:
        return ()
    configuration, version = context.snapshot.metadata.configuration, context.snapshot.version
    floor = retention_floor(configuration)
    parameters: dict[str, int | bool] = {
        "retentionCheckEnabled": search.retention >= floor,
        "defaultRetentionMillis": floor // _MS,
    }
    if search.is_given:
        parameters["specifiedRetentionMillis"] = search.retention // _MS
    start = Commit(
        id="start",
        reason="The history records that files are about to be deleted.",
        record=CommitRecord(
            operation=VACUUM_START,
            transaction_id=str(uuid5(seed, "start")),
            parameters=parameters,
            metrics={"numFilesToDelete": str(number), "sizeOfDataToDelete": str(size)},
        ),
    )
    deletion = DeleteFiles(
        id="deletion",
        reason="No version within retention needs them any more.",
        num_files=number,
        num_bytes=size,
        announced_by=start,
    )
    end = Commit(
        id="end",
        reason="The history records that they are deleted.",
        record=CommitRecord(
            operation=VACUUM_END,
            transaction_id=str(uuid5(seed, "end")),
            parameters={"status": "COMPLETED"},
            metrics={
                "numDeletedFiles": str(number),
                "numVacuumedDirectories": str(search.folders),
            },
        ),
        counts=deletion,
    )
    return (
        *with_checksum_and_checkpoint(start, configuration, uuid5(seed, "start"), version + 1),
        deletion,
        *with_checksum_and_checkpoint(end, configuration, uuid5(seed, "end"), version + 2),
    )


def _summary(search: _Search, size: int) -> str:
    files, lost = search.files, search.consequence
    if search.second.evidence:
        return "Nothing may be deleted: two independent computations of the kept files disagree."
    if search.ages is NEVER_OLD:
        return "Nothing can be deleted: for how long the table keeps files cannot be read."
    number = files.delete.num_rows
    waits = any(part.column("deletable_from").null_count < part.num_rows for part in files.leave)
    if not number and not waits:
        if files.gone is not None:
            return "Nothing can be deleted: the log names no unused file."
        return "Nothing can be deleted: every file is in use."
    if not number:
        return "Nothing can be deleted now; the list says from when each file is deletable."
    many = count(number, "file")
    return f"Permanently deletes {many} ({render_byte_size(size)}): {lost.in_words}."


def _not_looked_for(context: PlanningContext, lost: Consequence) -> str:
    """What a vacuum that lists no folder cannot know."""
    commits = context.listing.commits
    text = " Lite mode lists no folder: it finds no orphaned files"
    if not commits or commits[0]:
        began = f", which begins with version {commits[0]}" if commits else ""
        text += f", and no files whose removal is no longer in the log{began}"
    if lost.versions:
        text += "; whether these versions can be read now is unknown"
    return f"{text}."
