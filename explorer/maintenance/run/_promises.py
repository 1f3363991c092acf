"""Which of the versions that a plan promises the log still speaks of (spec: Metadata Cleanup).

A log may be cleaned up between plan and run, and by another writer while it runs. A version
that leaves it so is none that the plan broke."""

from __future__ import annotations

import pyarrow.compute as pc

from explorer.errors import DeltaError
from explorer.log.folder.listing import LogListing
from explorer.log.folder.segment import build_segment
from explorer.maintenance.plan.file_list import of_action
from explorer.maintenance.plan.plan import Plan
from explorer.protocol.filenames import LOG_FOLDER
from explorer.table.table import contiguous_run


def open_versions(plan: Plan, listing: LogListing) -> list[int]:
    """The promised versions that can be reconstructed, ascending. One that left the log is
    stood for by the oldest that can be, of those behind it: they are promised with it."""
    found: set[int] = set()
    for version in map(int, plan.promise.versions):
        if _is_there(listing, version):
            found.add(version)
        elif (oldest := oldest_behind(listing, version)) is not None:
            found.add(oldest)
    return sorted(found)


def oldest_behind(listing: LogListing, version: int) -> int | None:
    """The oldest version behind one that left the log: that of a checkpoint, for commits lead
    on from there; None where none is left."""
    behind = [found.version for found in listing.checkpoints if found.version > version]
    return behind[0] if behind else None


def has_left(listing: LogListing, version: int) -> bool:
    """Whether a version is gone as a log cleanup takes it, with all that is older: later
    commits follow each other, and a later checkpoint is there. Anything else is damage."""
    commits = listing.commits
    is_cut = contiguous_run(commits) == commits and (not commits or commits[0] > 0)
    return (
        is_cut and not _is_there(listing, version) and oldest_behind(listing, version) is not None
    )


def deletes_of_log(plan: Plan) -> bool:
    """Whether a plan deletes files of the log itself, so that a version may go by it."""
    paths = of_action(plan.files, "delete").column("path")
    return bool(len(paths) and pc.any(pc.starts_with(paths, f"{LOG_FOLDER}/")).as_py())


def _is_there(listing: LogListing, version: int) -> bool:
    try:
        build_segment(listing, version)
    except DeltaError:
        return False
    return True
