"""What opening a table costs: by the names in its log before anything is read, and by what was
read (spec: Delta Log Entries, Checkpoints)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.errors import DeltaError, Problem, UnsupportedError
from explorer.log.folder.segment import build_segment, missing_versions
from explorer.log.load import LoadedVersion
from explorer.progress import Watch
from explorer.protocol.table_properties.byte_sizes import render_byte_size
from explorer.table.counts import count
from explorer.table.opening_cost import OpeningCost, expected_cost
from explorer.table.readable import is_of_the_log, newest_readable, should_read_content
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table


def known_by_listing(table: Table) -> str:
    """What opening the newest version costs if every file can be used, and whether commits are
    missing; empty where the listing leaves no way to it."""
    listing = table.listing()
    try:
        segment = build_segment(listing)
    except DeltaError:
        return ""
    cost = expected_cost(table.store, listing, segment)
    commits = listing.commits
    gone = sum(map(len, missing_versions(commits, commits[0], commits[-1]))) if commits else 0
    are = "is" if gone == 1 else "are"
    gaps = f"{count(gone, 'commit')} in between {are} missing"
    if not gone:
        gaps = "no commit in between is missing"
    checkpoint = None if segment.checkpoint is None else segment.checkpoint.version
    return f"By its names, {cost_in_words(segment.version, checkpoint, cost)}; {gaps}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How opening the newest version went.

    `loaded` is what was read of it, None where it cannot be reconstructed; `snapshot` is None
    too where it is refused, and `refusal` says why. `is_read` says that the checkpoint's
    content was read as well. `readable_version` is the newest that can be read in its place.
    """

    loaded: LoadedVersion | None
    snapshot: Snapshot | None
    refusal: Problem | None
    is_read: bool
    readable_version: int | None = None


def open_newest(table: Table, sizes: Mapping[str, int], limit: int | None, watch: Watch) -> Opening:
    """Open the newest version and, where its checkpoint has no more than `limit` bytes, read its
    content, by which a broken one is known: another one, or the commits, are used then. `sizes`
    are those of the files of the log."""
    loaded: LoadedVersion | None = None
    is_read = False
    try:
        loaded = table.load(watch=watch)
        snapshot = table.snapshot(
            version=loaded.segment.version, progress=watch.progress, cancel=watch.cancel
        )
        is_read = limit is None or should_read_content(snapshot.loaded, sizes, limit)
        if is_read:
            _ = snapshot.num_files
    except DeltaError as error:
        if error.kind == "cancelled":
            raise
        if isinstance(error, UnsupportedError):
            return Opening(loaded=loaded, snapshot=None, refusal=Problem.of(error), is_read=False)
        readable = newest_readable(table, watch) if is_of_the_log(error.kind) else None
        return Opening(
            loaded=None,
            snapshot=None,
            refusal=Problem.of(error),
            is_read=False,
            readable_version=None if readable is None else readable.version,
        )
    return Opening(loaded=snapshot.loaded, snapshot=snapshot, refusal=None, is_read=is_read)


def cost_in_words(version: int | None, checkpoint: int | None, cost: OpeningCost) -> str:
    """`version 9 opens from the checkpoint of version 5, its 2 sidecars and 4 commits
    (1.2 MiB)`."""
    parts = []
    if checkpoint is not None:
        parts.append(f"the checkpoint of version {checkpoint}")
    if cost.sidecars:
        parts.append(f"its {count(cost.sidecars, 'sidecar')}")
    if cost.compactions:
        parts.append(count(cost.compactions, "log compaction"))
    if cost.commits or not parts:
        parts.append(count(cost.commits, "commit"))
    *first, last = parts
    read = f"{', '.join(first)} and {last}" if first else last
    return f"version {version} opens from {read} ({render_byte_size(cost.total_bytes)})"
