"""When each of many commits was made (spec: In-Commit Timestamps)."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.log.commits.commit_info import in_commit_ms, monotonic, read_provenance
from explorer.log.folder.listing import LogListing
from explorer.storage.ports import ReadStore
from explorer.table.times import InCommitTimes, modification_times


def commit_times(
    store: ReadStore, listing: LogListing, run: Sequence[int], active: InCommitTimes | None
) -> list[int]:
    """The times of `run`, ascending commits without a gap, in milliseconds: of those with
    in-commit timestamps these, of the others the modification times, made monotonic. A commit
    that lacks its timestamp counts by its file, and never as older than one before it."""
    times = monotonic(modification_times(store, listing, run))
    if active is None:
        return times
    recorded = [version for version in run if version >= active.since_version]
    first = len(run) - len(recorded)
    for at, (body, _) in enumerate(read_provenance(store, recorded), start=first):
        found = in_commit_ms(body)
        times[at] = times[at] if found is None else found
    return times
