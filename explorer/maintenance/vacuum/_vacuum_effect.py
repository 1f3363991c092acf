"""What becomes impossible once files are gone: versions, and parts of the change feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.files.events import FileEvents
from explorer.files.reachable import build_reach, events_of_files, version_ranges
from explorer.log.plain_arrays import Flags
from explorer.maintenance.plan.guards import gaps_in
from explorer.maintenance.plan.newest_times import newest_commit_times
from explorer.maintenance.plan.planning_context import PlanningContext
from explorer.protocol.filenames import LOG_FOLDER
from explorer.table.feed_versions import feeding_versions
from explorer.table.table import contiguous_run
from explorer.table.times import commit_time, in_commit_times, shown_time, utc_time

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LostVersions:
    """Versions that go, both inclusive, and when the first and the last were committed, in
    milliseconds; None where that is unknown."""

    first: int
    last: int
    since_ms: int | None
    until_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """Versions and versions of the change feed that can be read now and not afterwards;
    from `readable_from` on every version can still be read, None where that is unknown."""

    versions: tuple[LostVersions, ...]
    changes: tuple[LostVersions, ...]
    readable_from: int | None
    is_known: bool = True

    @property
    def document(self) -> dict[str, Any]:
        """Plain data for the effect of a plan."""
        return {
            "unreadable_versions": [_document(lost) for lost in self.versions],
            "unreadable_changes": [_document(lost) for lost in self.changes],
            "readable_from": self.readable_from,
        }

    @property
    def in_words(self) -> str:
        """As the end of a sentence."""
        if not self.is_known:
            return "which versions become unreadable is unknown"
        parts = []
        if self.versions:
            parts.append(f"{_in_words(self.versions)} can no longer be read")
        if self.changes:
            parts.append(f"the change feed of {_in_words(self.changes)} is gone")
        if not parts:
            return "no version that can be read now becomes unreadable"
        return ", and ".join(parts)


def consequence_of(
    context: PlanningContext,
    events: FileEvents | None,
    deleted: pa.ChunkedArray,
    missing: Flags,
) -> Consequence:
    """What the deletion of files costs, where `missing` says of each event whether a file of
    it is gone already."""
    # what missing commits did to files is unknown
    if events is None or gaps_in(context.listing):
        return Consequence(versions=(), changes=(), readable_from=None, is_known=False)
    before = build_reach(events, missing)
    lost = events_of_files(events, deleted)
    after = build_reach(events, missing | lost) if lost.any() else before
    versions, changes = before.losses_to(after)
    return Consequence(
        versions=tuple(_lost(context, found) for found in versions),
        changes=tuple(_lost(context, found) for found in _in_feed(context, changes)),
        readable_from=after.readable_from,
    )


def newest_times(context: PlanningContext) -> dict[str, int | None]:
    """The newest times in the log, by what they are of, in milliseconds."""
    # object stores have told the times of commits with their listing
    infos = context.listing.stored.values() or context.store.list_folder(LOG_FOLDER)
    return {
        **newest_commit_times(context, infos),
        "file in the log": _newest(context.snapshot.physical_files("add", ["modification_time"])),
        "removal": _newest(context.snapshot.physical_files("remove", ["deletion_timestamp"])),
    }


def _newest(times: pa.Table) -> int | None:
    found: int | None = pc.max(times.column(0).cast(pa.int64())).as_py()
    return found


def _in_feed(context: PlanningContext, lost: Sequence[range]) -> list[range]:
    """Those of the versions in which the change feed was enabled; all of them where the log
    does not tell."""
    if not lost:
        return []
    first, last = lost[0][0], lost[-1][-1]
    run = [number for number in context.listing.commits if first <= number <= last]
    fed = feeding_versions(context.table, run, context.watch)
    if fed is None:
        return list(lost)
    flags = np.zeros(last - first + 1, np.bool_)
    flags[np.asarray(run, np.int64) - first] = fed
    wanted = np.zeros_like(flags)
    for found in lost:
        wanted[found.start - first : found.stop - first] = True
    return version_ranges(flags & wanted, first)


def _lost(context: PlanningContext, versions: range) -> LostVersions:
    return LostVersions(
        first=versions[0],
        last=versions[-1],
        since_ms=_committed_ms(context, versions[0]),
        until_ms=_committed_ms(context, versions[-1]),
    )


def _committed_ms(context: PlanningContext, version: int) -> int | None:
    run = contiguous_run(context.listing.commits)
    if version not in run:
        return None
    active = in_commit_times(context.snapshot.protocol, context.snapshot.metadata)
    try:
        return commit_time(context.store, context.listing, run, version, active)
    except DeltaError:
        return None


def _document(lost: LostVersions) -> dict[str, Any]:
    return {
        "first": lost.first,
        "last": lost.last,
        "since": None if lost.since_ms is None else utc_time(lost.since_ms).isoformat(),
        "until": None if lost.until_ms is None else utc_time(lost.until_ms).isoformat(),
    }


def _in_words(lost: Sequence[LostVersions]) -> str:
    count = sum(found.last - found.first + 1 for found in lost)
    shown = [
        str(found.first) if found.first == found.last else f"{found.first}–{found.last}"
        for found in lost[:_SHOWN]
    ]
    more = " and others" if len(lost) > _SHOWN else ""
    until = lost[-1].until_ms
    when = "" if until is None else f" (up to {shown_time(until)})"
    return f"version{'' if count == 1 else 's'} {', '.join(shown)}{more}{when}"
