"""What opening a table costs, as its listing tells before anything is read
(spec: Delta Log Entries, Checkpoints)."""

from __future__ import annotations

from explorer.errors import DeltaError
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import LogSegment, build_segment, missing_versions
from explorer.protocol.byte_sizes import render_byte_size
from explorer.table.counts import count
from explorer.table.opening_cost import OpeningCost, opening_cost
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table


def known_by_listing(table: Table) -> str:
    """What opening the newest version costs, and whether commits are missing; empty where the
    listing leaves no way to it."""
    listing = table.listing()
    segment, cost = cost_of_opening(table, listing, None)
    if segment is None or cost is None:
        return ""
    commits = listing.commits
    gone = sum(map(len, missing_versions(commits, commits[0], commits[-1]))) if commits else 0
    gaps = f"{gone:,} commits in between are missing" if gone else "no commit in between is missing"
    checkpoint = None if segment.checkpoint is None else segment.checkpoint.version
    return f"{cost_in_words(segment.version, checkpoint, cost)}; {gaps}."


def cost_of_opening(
    table: Table, listing: LogListing, snapshot: Snapshot | None
) -> tuple[LogSegment | None, OpeningCost | None]:
    """What the newest version is put together from, and what reading that costs; None where
    there is no way to it."""
    try:
        segment = build_segment(listing) if snapshot is None else snapshot.segment
    except DeltaError:
        return None, None
    return segment, opening_cost(table.store, listing, segment)


def cost_in_words(version: int | None, checkpoint: int | None, cost: OpeningCost) -> str:
    """`Version 9 opens from the checkpoint of version 5 and 4 commits (1.2 MiB)`."""
    read = render_byte_size(cost.commit_bytes + cost.checkpoint_bytes)
    start = "" if checkpoint is None else f"the checkpoint of version {checkpoint} and "
    return f"Version {version} opens from {start}{count(cost.commits, 'commit')} ({read})"
