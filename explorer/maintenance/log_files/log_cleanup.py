"""Planning the cleanup of the log (spec: Metadata Cleanup, Checkpoint Protection).

The log is cut at a checkpoint that can be read: what lies before it goes, the commit at the
checkpoint stays. Whether the table's own writers clean up is no matter here: a plan does
it once, after a person has approved it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pyarrow as pa

from explorer.errors import DeltaError, InvalidArgumentError
from explorer.files.events import read_events
from explorer.files.kept import kept_files
from explorer.files.name_index import NameIndex
from explorer.log.actions.columns import TIME, int64_column, string_column
from explorer.log.checkpoint.read import read_checkpoint
from explorer.log.folder.last_checkpoint import read_hint
from explorer.log.folder.listing import CheckpointFiles
from explorer.maintenance.log_files._checkpoint_protection import judge_protection, protected_before
from explorer.maintenance.log_files._log_cut import (
    LogCut,
    LogReach,
    find_cut,
    lost_changes,
    reach_after,
    reach_before,
)
from explorer.maintenance.log_files.checkpoint import copy_step, has_classic
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.maintenance.plan.guards import (
    UNCOMMITTED_AGE,
    gaps_in,
    in_words,
    judge_catalog,
    judge_clock,
    judge_cut,
    judge_features,
    judge_log,
    judge_setting,
)
from explorer.maintenance.plan.independent_check import check_independently
from explorer.maintenance.plan.newest_times import newest_commit_times
from explorer.maintenance.plan.plan import Plan, Promise, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext, read_planning_context
from explorer.maintenance.plan.step_types import DeleteFiles, NeededFile, Step, WriteHint
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.filenames import (
    LAST_CHECKPOINT,
    LOG_FOLDER,
    SIDECAR_FOLDER,
    STAGED_COMMIT_FOLDER,
    LogFileKind,
    is_temporary,
    parse_log_file_name,
)
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.protocol.table_properties.known_properties import LOG_CLEANUP, LOG_RETENTION
from explorer.storage.ports import ObjectInfo
from explorer.table.counts import count
from explorer.table.retention import DAY_MS
from explorer.table.table import Table
from explorer.table.times import Clock, shown_time, system_clock, utc_time

_MS = timedelta(milliseconds=1)

_BEFORE = "before the checkpoint from which the log starts"
_SPANS = "a log compaction that starts before that checkpoint"
_SIDECAR = "no remaining checkpoint names this sidecar"
_ALL_EXPIRED_MS = 2**62
_UNFINISHED = "its writer started it more than a day ago and never finished it"


def plan_log_cleanup(
    table: Table,
    retention: timedelta | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
    clock: Clock = system_clock,
) -> Plan:
    """Delete commits, checkpoints and what belongs to them from before the newest checkpoint
    that is older than `retention`: by default that of the table (`delta.logRetentionDuration`);
    and sidecars that nobody names and files that a writer never finished, a day old.
    """
    if retention is not None and retention < timedelta(0):
        raise InvalidArgumentError(
            "The retention cannot be negative.",
            reason=f"The retention {retention} is negative.",
            remedy="Give a duration of zero or more.",
        )
    context = read_planning_context(table, clock, Watch(progress=progress, cancel=cancel))
    own = LOG_RETENTION.value_of(context.snapshot.metadata.configuration)
    wanted = own if retention is None else retention
    stored = {info.name: info for info in context.store.list_folder(LOG_FOLDER)}
    cut = find_cut(context, wanted)
    files = _files(context, cut, stored)
    verdicts = (
        judge_features(context.snapshot.protocol),
        judge_catalog(context.snapshot.protocol),
        judge_log(context.listing),
        judge_clock(context.now_ms, newest_commit_times(context, stored.values())),
        _judge_retention(context, cut, wanted, own),
        _judge_property(context),
        *_judge_cut(context, cut),
    )
    plan = _build(context, cut, files, stored, wanted, verdicts)
    at = None if cut.checkpoint is None else cut.checkpoint.version
    return replace(plan, verdicts=(*verdicts, judge_protection(context, plan, at)))


def _judge_cut(context: PlanningContext, cut: LogCut) -> tuple[Verdict, ...]:
    """A refusal where the checkpoint at the cut and the commits before it disagree about the live
    files. Once the commits are deleted no evidence is left, and a vacuum deletes what the
    checkpoint omits."""
    if cut.snapshot is None or cut.newest_gone_ms is None:  # no commit goes
        return ()
    version = cut.snapshot.version
    listing = replace(
        context.listing,
        commits=tuple(found for found in context.listing.commits if found <= version),
        checkpoints=tuple(
            found for found in context.listing.checkpoints if found.version < version
        ),
        compactions=(),
    )
    try:
        kept = kept_files(cut.snapshot, _ALL_EXPIRED_MS)
    except DeltaError:  # gone meanwhile: whoever carries the plan out looks again
        return ()
    then = replace(context, listing=listing, snapshot=cut.snapshot)
    names = NameIndex(kept.places.inside)
    replay = partial(read_events, then.log_store, listing, then.watch)
    second = check_independently(then, replay, names, _ALL_EXPIRED_MS, _ALL_EXPIRED_MS)
    if not second.evidence:  # they agree, or commits are gone that would have to be asked
        return ()
    shown = [path for part in second.evidence for path in part.column("path")[:2].to_pylist()]
    return (judge_cut(version, sum(part.num_rows for part in second.evidence), shown),)


def _files(context: PlanningContext, cut: LogCut, stored: dict[str, ObjectInfo]) -> pa.Table:
    parts: list[pa.Table] = []
    kept = [found for found in context.listing.checkpoints if _stays(found, cut)]
    if cut.checkpoint is not None:
        version = cut.checkpoint.version
        before, spans = _names_before(stored, version)
        parts += [_listed(LOG_FOLDER, before, _BEFORE), _listed(LOG_FOLDER, spans, _SPANS)]
        staged = [info for info in _folder(context, STAGED_COMMIT_FOLDER) if _is_at(info, version)]
        parts.append(_listed(STAGED_COMMIT_FOLDER, staged, _BEFORE))
    sidecars = _folder(context, SIDECAR_FOLDER)
    named = _named_sidecars(context, kept) if sidecars else set()
    if named is not None:
        midnight = context.now_ms - context.now_ms % DAY_MS
        old = [info for info in sidecars if info.modified_ms <= midnight - DAY_MS]
        free = [info for info in old if info.name not in named]
        parts.append(_listed(SIDECAR_FOLDER, free, _SIDECAR))
    for folder, infos in (
        (LOG_FOLDER, stored.values()),
        (STAGED_COMMIT_FOLDER, _folder(context, STAGED_COMMIT_FOLDER)),
    ):
        parts.append(_listed(folder, _unfinished(infos, context.now_ms), _UNFINISHED))
    return join_files(parts)


def _unfinished(infos: Iterable[ObjectInfo], now_ms: int) -> list[ObjectInfo]:
    """Files of writers that were killed: to finish one takes seconds, and clocks that differ by
    more than minutes refuse the plan."""
    return [
        info for info in infos if is_temporary(info.name) and info.modified_ms <= now_ms - DAY_MS
    ]


def _stays(files: CheckpointFiles, cut: LogCut) -> bool:
    return cut.checkpoint is None or files.version >= cut.checkpoint.version


def _names_before(
    stored: dict[str, ObjectInfo], version: int
) -> tuple[list[ObjectInfo], list[ObjectInfo]]:
    """Files of the log that go: those of earlier versions, and compactions that begin at or
    before the cut."""
    before: list[ObjectInfo] = []
    spans: list[ObjectInfo] = []
    for name, info in stored.items():
        parsed = parse_log_file_name(name)
        if parsed is None or parsed.version is None:
            continue
        if parsed.kind is LogFileKind.COMPACTION:
            if parsed.version <= version:
                spans.append(info)
        elif parsed.version < version:
            before.append(info)
    return before, spans


def _is_at(info: ObjectInfo, version: int) -> bool:
    digits = info.name[:20]
    return digits.isascii() and digits.isdigit() and int(digits) <= version


def _folder(context: PlanningContext, folder: str) -> list[ObjectInfo]:
    return context.store.list_folder(folder) if context.store.has_folder(folder) else []


def _named_sidecars(context: PlanningContext, kept: list[CheckpointFiles]) -> set[str] | None:
    """The names of the sidecars of every checkpoint that stays; None where one of them cannot
    be read, so it is unknown, and none may be deleted."""
    named: set[str] = set()
    for files in [*kept, *context.listing.incomplete_checkpoints]:
        try:
            named |= read_checkpoint(context.store, files).sidecar_names
        except DeltaError:
            return None
    return named


def _listed(folder: str, infos: list[ObjectInfo], reason: str) -> pa.Table:
    return build_files(
        string_column([f"{folder}/{info.name}" for info in infos]),
        action="delete",
        reason=reason,
        bytes=int64_column([info.size for info in infos]),
        modified=int64_column([info.modified_ms for info in infos]).cast(TIME),
    )


def _judge_retention(
    context: PlanningContext, cut: LogCut, wanted: timedelta, own: timedelta
) -> Verdict:
    """Whether a person has to stand by the retention: where it is shorter than the table asks
    for, and, whoever asks for it, where commits of less than a day go."""
    configuration = context.snapshot.metadata.configuration
    unread = judge_setting("retention", LOG_RETENTION, configuration, "interval 90 days")
    if unread is not None:
        return unread
    asks = f"the table asks for {in_words(own)}" if wanted < own else "as the table asks"
    text = f"The log is kept for {in_words(wanted)}{';' if wanted < own else ','} {asks}"
    youngest = cut.newest_gone_ms
    if youngest is not None and youngest > context.now_ms - UNCOMMITTED_AGE // _MS:
        text = (
            f"{text}. Commits up to {shown_time(youngest)} go, less than "
            f"{in_words(UNCOMMITTED_AGE)} old: queries, streams and writers that began at one of "
            "these versions may fail"
        )
    elif wanted >= own:
        return Verdict(guard="retention", outcome="allow", message=f"{text}.")
    return Verdict(
        guard="retention",
        outcome="warn",
        message=f"{text}.",
        remedy="Keep the log longer, or approve it with the table's name and a reason.",
        asks_for_name=True,
        asks_for_reason=True,
    )


def _judge_property(context: PlanningContext) -> Verdict:
    configuration = context.snapshot.metadata.configuration
    unread = judge_setting("cleanup", LOG_CLEANUP, configuration, "false")
    if unread is not None:
        return unread
    if LOG_CLEANUP.value_of(configuration):
        return Verdict(guard="cleanup", outcome="allow", message="The table allows log cleanup.")
    return Verdict(
        guard="cleanup",
        outcome="warn",
        message="The table turns log cleanup off (delta.enableExpiredLogCleanup).",
        remedy="Leave the log as it is, or approve it with the table's name and a reason.",
        asks_for_name=True,
        asks_for_reason=True,
    )


def _build(  # what was found
    context: PlanningContext,
    cut: LogCut,
    files: pa.Table,
    stored: dict[str, ObjectInfo],
    retention: timedelta,
    verdicts: tuple[Verdict, ...],
) -> Plan:
    snapshot = context.snapshot
    size = sum(files.column("bytes").to_pylist())
    steps: list[Step] = []
    versions: dict[str, int | None] = {str(snapshot.version): snapshot.num_files}
    before = after = reach_before(context, cut)
    changes: list[range] = []
    if cut.checkpoint is not None and files.num_rows:
        earliest = cut.checkpoint.version
        after = reach_after(context, cut, earliest)
        changes = lost_changes(context, cut, before)
        versions[str(earliest)] = None
        if _lacks_classic(context, cut.checkpoint):
            steps.append(copy_step(earliest))
        named = read_hint(context.store).version if LAST_CHECKPOINT in stored else None
        if named is not None and named < earliest:
            steps.append(hint_step(context, cut.checkpoint))
    if files.num_rows:
        steps.append(_deletion(context, cut, files, size))
    return Plan(
        operation="clean-log",
        subject=context.subject,
        anchor=context.anchor,
        planned_at=context.now_ms,
        summary=_summary(
            cut, before, after, files.num_rows, size, has_gap=bool(gaps_in(context.listing))
        ),
        parameters={"retention_ms": retention // _MS},
        effect={
            "cutoff": utc_time(cut.cutoff_ms).isoformat(),
            **before.document("before"),
            **after.document("after"),
            "unreadable_changes": [{"first": lost[0], "last": lost[-1]} for lost in changes],
            "num_files": files.num_rows,
            "num_bytes": size,
        },
        verdicts=verdicts,
        steps=tuple(steps),
        rests_on=("protocol", "metadata"),
        promise=Promise(versions=versions),
        files=files,
        table=context.table,
    )


def _lacks_classic(context: PlanningContext, checkpoint: CheckpointFiles) -> bool:
    """Whether old clients find no checkpoint after the cut, and one may be made for them."""
    if checkpoint.kind != "v2" or has_classic(context.listing, checkpoint.version):
        return False
    return checkpoint.version >= protected_before(context)


def _deletion(context: PlanningContext, cut: LogCut, files: pa.Table, size: int) -> DeleteFiles:
    needs: tuple[NeededFile, ...] = ()
    if cut.checkpoint is not None:
        paths = [f"{LOG_FOLDER}/{name}" for name in cut.checkpoint.names]
        paths += [
            sidecar.path for sidecar in read_checkpoint(context.store, cut.checkpoint).sidecars
        ]
        needs = tuple(NeededFile(path=path, size=context.store.stat(path).size) for path in paths)
    return DeleteFiles(
        id="deletion",
        reason="The log is kept no longer than this.",
        num_files=files.num_rows,
        num_bytes=size,
        needs=needs,
    )


def hint_step(context: PlanningContext, files: CheckpointFiles) -> WriteHint:
    """The step that lets `_last_checkpoint` name this checkpoint."""
    snapshot = context.table.snapshot(version=files.version)
    few = 2 + len(snapshot.transactions) + len(snapshot.domains)
    return WriteHint(
        id="hint",
        reason=f"_last_checkpoint names the checkpoint of version {files.version}, which stays.",
        num_files=1,
        version=files.version,
        size=snapshot.num_files + snapshot.num_tombstones + few,
        parts=files.parts if files.kind == "multi-part" else None,
    )


def _summary(
    cut: LogCut, before: LogReach, after: LogReach, number: int, size: int, *, has_gap: bool
) -> str:
    if not number and has_gap:
        return "Nothing is deleted from the log: it has gaps."
    if not number:
        why = f"nothing in it is older than {shown_time(cut.cutoff_ms)}"
        if cut.commit is not None and cut.checkpoint is None:
            why = f"no readable checkpoint is at or before version {cut.commit}"
        return f"Nothing can be deleted from the log: {why}."
    files = f"{count(number, 'file')} of the log ({render_byte_size(size)})"
    if before.version == after.version:
        return f"Deletes {files} that nothing refers to; nothing is lost."
    return (
        f"Permanently deletes {files}: versions before {after.version} can no longer be opened, "
        f"and their history and change feed are gone. {after.in_words}"
    )
