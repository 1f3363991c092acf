"""The newest times of a log, against which a clock is judged before ages count, and the guards
of every plan that commits: who commits decides ages too, by the times of what he removes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from explorer.errors import ConflictError
from explorer.log.commits.commit_info import read_commit_info
from explorer.log.folder.listing import info_of
from explorer.maintenance.plan.guards import (
    follow_clock,
    judge_catalog,
    judge_clock,
    judge_features,
    judge_log,
)
from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.maintenance.plan.step_types import CommittingStep, DeleteFiles
from explorer.protocol.actions import Metadata
from explorer.protocol.features.registry import is_supported
from explorer.protocol.filenames import parse_commit_version, render_commit_name
from explorer.storage.ports import ObjectInfo
from explorer.table.times import (
    CLOCK_TOLERANCE_MS,
    IN_COMMIT_FEATURES,
    has_in_commit_timestamps,
    shown_time,
)

_RECORDED: Final = "in-commit timestamp"
_NEWEST: Final = 64
"""Commits whose times are asked for. The last one may be by the very clock that is behind, so
that those before it tell; on local disk all of them take less than a millisecond, and object
stores have told with their listing."""


_TIMED: Final = CommittingStep | DeleteFiles
"""Steps that go by ages, or from whose time on ages count."""


def newest_commit_times(
    context: PlanningContext, files: Iterable[ObjectInfo]
) -> dict[str, int | None]:
    """The newest times of commits, by their files among `files` and as the newest one says
    itself, in milliseconds; None where there is none."""
    commits = [info.modified_ms for info in files if parse_commit_version(info.name) is not None]
    recorded: int | None = None
    if context.listing.commits:
        recorded = read_commit_info(context.log_store, context.listing.commits[-1]).in_commit_ms
    return {"commit": max(commits, default=None), _RECORDED: recorded}


def judge_committing(context: PlanningContext) -> tuple[Verdict, ...]:
    """The guards of every plan that commits: every feature is known, no catalog manages the
    commits, the log has no gaps, and no commit is ahead of this clock. A tombstone is as old as
    the clock that wrote it: written by a clock that is behind, it would make the file deletable
    at once."""
    protocol = context.snapshot.protocol
    return (
        judge_features(protocol),
        judge_catalog(protocol),
        judge_log(context.listing),
        judge_clock(context.now_ms, _latest_commit_times(context)),
    )


def judge_following(context: PlanningContext, after: Metadata | None = None) -> tuple[Verdict, ...]:
    """As `judge_committing`, for a plan that deletes no file, removes none and so begins no age:
    where in-commit timestamps are active, before it and after (with the metadata `after`), it
    may follow one that lies ahead of this clock."""
    *others, clock = judge_committing(context)
    protocol, before = context.snapshot.protocol, context.snapshot.metadata
    follows = all(has_in_commit_timestamps(protocol, item) for item in (before, after or before))
    newest = _latest_commit_times(context).get(_RECORDED) if clock.outcome == "refuse" else None
    if follows and newest is not None and newest > context.now_ms + CLOCK_TOLERANCE_MS:
        clock = follow_clock(context.now_ms, newest)
    return (*others, clock)


def check_clock(plan: Plan, now_ms: int) -> None:
    """Raises `ConflictError` (`plan_refused`) where a clock that is asked while a plan is
    carried out is behind the one that it was made by: what its guards said of ages, and of
    when tombstones begin, was said of that one."""
    if now_ms >= plan.planned_at - CLOCK_TOLERANCE_MS:
        return
    if not any(isinstance(step, _TIMED) for step in plan.steps):
        return
    raise ConflictError(
        "The plan was not carried out.",
        reason=f"It was made at {shown_time(plan.planned_at)}, and this clock says that it is "
        f"{shown_time(now_ms)}, so ages are unknown.",
        remedy="Correct the clock of this machine and execute the plan again; where the other "
        "clock was wrong, make a new plan.",
        kind="plan_refused",
    )


def _latest_commit_times(context: PlanningContext) -> dict[str, int | None]:
    """As `newest_commit_times`, without listing the log once more."""
    names = [render_commit_name(version) for version in context.listing.commits[-_NEWEST:]]
    infos = [info for name in names if (info := info_of(context.store, context.listing, name))]
    if any(is_supported(context.snapshot.protocol, name) for name in IN_COMMIT_FEATURES):
        return newest_commit_times(context, infos)
    return {"commit": max((info.modified_ms for info in infos), default=None)}
