"""Where a log may be cut, and how far back one can go before and afterwards (spec: Metadata
Cleanup)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from explorer.errors import DeltaError
from explorer.files.reachable import version_ranges
from explorer.log.folder.listing import CheckpointFiles
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.protocol.table_properties.known_properties import CHANGE_DATA_FEED
from explorer.table.feed_versions import feeding_versions
from explorer.table.retention import log_cutoff_ms
from explorer.table.snapshot import Snapshot
from explorer.table.table import contiguous_run
from explorer.table.times import commit_time, commit_times, in_commit_times, shown_time, utc_time


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCut:
    """Where the log is cut: at `checkpoint`, because `commit` is the newest not newer than
    `cutoff_ms`. Both are None where nothing is old enough. `times` are those of `run`, the
    commits without a gap, in milliseconds; `snapshot` is the version at the cut, put together
    from `checkpoint` alone."""

    cutoff_ms: int
    commit: int | None
    checkpoint: CheckpointFiles | None
    snapshot: Snapshot | None = None
    run: Sequence[int] = ()
    times: Sequence[int] = ()

    @property
    def newest_gone_ms(self) -> int | None:
        """When the newest commit that goes was made; None where none goes."""
        if self.checkpoint is None:
            return None
        gone = [
            time
            for version, time in zip(self.run, self.times, strict=True)
            if version < self.checkpoint.version
        ]
        return max(gone, default=None)

    def time_of(self, version: int) -> int | None:
        """When a version was committed; None where its commit is not part of the run."""
        at = version - self.run[0] if self.run else -1
        return self.times[at] if 0 <= at < len(self.times) else None


def find_cut(context: PlanningContext, retention: timedelta) -> LogCut:
    """The newest checkpoint that can be read among those that are past `retention`."""
    cutoff_ms = log_cutoff_ms(context.now_ms, retention)
    run = contiguous_run(context.listing.commits)
    if not run:
        return LogCut(cutoff_ms=cutoff_ms, commit=None, checkpoint=None)
    active = in_commit_times(context.snapshot.protocol, context.snapshot.metadata)
    times = commit_times(context.store, context.listing, run, active)
    old = [version for version, time in zip(run, times, strict=True) if time <= cutoff_ms]
    chosen: CheckpointFiles | None = None
    snapshot: Snapshot | None = None
    if old:
        candidates = [found for found in context.listing.checkpoints if found.version <= old[-1]]
        for files in reversed(candidates):
            if (snapshot := _read_from(context, files)) is not None:
                chosen = files
                break
    return LogCut(
        cutoff_ms=cutoff_ms,
        commit=old[-1] if old else None,
        checkpoint=chosen,
        snapshot=snapshot,
        run=run,
        times=times,
    )


def _read_from(context: PlanningContext, files: CheckpointFiles) -> Snapshot | None:
    """The version, if it can be reconstructed from this very checkpoint, files included."""
    try:
        snapshot = context.table.snapshot(version=files.version)
        _ = snapshot.num_files + snapshot.num_tombstones
    except DeltaError:
        return None
    is_alone = snapshot.segment.checkpoint == files and not snapshot.segment.commits
    return snapshot if is_alone else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReach:
    """From where on the table can be opened, at which time in milliseconds travel by time
    begins, and from which version on its changes can be read: None where the feed was off
    then, and may have been switched on later."""

    version: int
    time_ms: int | None
    changes_from: int | None

    def document(self, when: str) -> dict[str, Any]:
        """Plain data for the effect of a plan; `when` is `before` or `after`."""
        time = None if self.time_ms is None else utc_time(self.time_ms).isoformat()
        return {
            f"earliest_version_{when}": self.version,
            f"earliest_time_{when}": time,
            f"earliest_changes_{when}": self.changes_from,
        }

    @property
    def in_words(self) -> str:
        """A sentence about time travel and the change feed."""
        time = "" if self.time_ms is None else f", of {shown_time(self.time_ms)}"
        feed = ""
        if self.changes_from is not None:
            and_feed = "so does the change feed"
            if self.changes_from > self.version:
                and_feed = f"the change feed to version {self.changes_from}"
            feed = f"{',' if time else ''} and {and_feed}"
        return f"Time travel reaches back to version {self.version}{time}{feed}."


def reach_before(context: PlanningContext, cut: LogCut) -> LogReach:
    """How far one can go back now."""
    run = cut.run
    version = run[0] if run and run[0] == 0 else None
    if version is None:
        starts = (found.version for found in context.listing.checkpoints)
        version = next(
            (start for start in starts if not run or start >= run[0] - 1), context.snapshot.version
        )
    first = max(version, run[0]) if run else version
    return LogReach(
        version=version,
        time_ms=cut.time_of(first),
        changes_from=first if run and _feeds_at(context, first) else None,
    )


def reach_after(context: PlanningContext, cut: LogCut, version: int) -> LogReach:
    """How far one can go back once the log begins with the checkpoint of `version`."""
    is_there = cut.time_of(version) is not None
    return LogReach(
        version=version,
        time_ms=_time_alone(context, version) if is_there else None,
        changes_from=version if is_there and _feeds_at(context, version) else None,
    )


def _time_alone(context: PlanningContext, version: int) -> int | None:
    """The time of a version that no commit comes before: it is as its file has it, however
    late those before it were."""
    active = in_commit_times(context.snapshot.protocol, context.snapshot.metadata)
    try:
        return commit_time(context.store, context.listing, (version,), version, active)
    except DeltaError:
        return None


def lost_changes(context: PlanningContext, cut: LogCut, before: LogReach) -> list[range]:
    """The versions whose changes can be read now, and not once the commits before the cut are
    deleted: those in which the change feed was enabled; all of them where the log does not
    tell. Every one of these commits is read."""
    if cut.checkpoint is None:
        return []
    end = cut.checkpoint.version
    gone = [version for version in cut.run if before.version <= version < end]
    fed = feeding_versions(context.table, gone, context.watch)
    if fed is None:
        fed = [True] * len(gone)
    return version_ranges(np.asarray(fed, np.bool_), gone[0]) if gone else []


def _feeds_at(context: PlanningContext, version: int) -> bool:
    try:
        return CHANGE_DATA_FEED.value_of(context.table.metadata(version).configuration)
    except DeltaError:
        return False
