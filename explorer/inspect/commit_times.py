"""The log folder with the times of its commits (spec: In-Commit Timestamps)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.log.commit_info import monotonic
from explorer.log.listing import LogListing, build_listing
from explorer.protocol.filenames import LOG_FOLDER, parse_commit_version
from explorer.storage.ports import ReadStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedListing:
    """A listing, and when each commit of it counts as made by the time of its file,
    in milliseconds since the epoch: what holds where a commit has no in-commit
    timestamp."""

    listing: LogListing
    file_times: Mapping[int, int]


def list_with_times(store: ReadStore) -> TimedListing:
    """List the log folder once, for names and times alike."""
    found = store.list_folder(LOG_FOLDER)
    modified = {
        version: info.modified_ms
        for info in found
        if (version := parse_commit_version(info.name)) is not None
    }
    versions = sorted(modified)
    times = monotonic([modified[version] for version in versions])
    return TimedListing(
        listing=build_listing(info.name for info in found),
        file_times=dict(zip(versions, times, strict=True)),
    )
