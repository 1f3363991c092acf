"""The log folder with the times of its commits (spec: In-Commit Timestamps)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from explorer.log.commits.commit_info import monotonic
from explorer.log.folder.listing import LogListing, build_listing
from explorer.protocol.filenames import LOG_FOLDER, parse_commit_version, render_commit_path
from explorer.storage.ports import ReadStore
from explorer.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedListing:
    """A listing, and when each commit of it counts as made by the time of its file,
    in milliseconds since the epoch: what holds where a commit has no in-commit
    timestamp. `modified` has the times of the files as they are."""

    listing: LogListing
    file_times: Mapping[int, int]
    modified: Mapping[int, int]


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
        modified=modified,
    )


class _ListedTimes:
    """The times of the logs that were listed last, so that asking for one commit after
    the other lists each log once: a commit's time depends on those before it alone."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[Table, TimedListing] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, table: Table, version: int) -> int:
        """`TimedListing.file_times` of one version, whose commit must be there."""
        now = table.store.stat(render_commit_path(version)).modified_ms
        with self._lock:
            held = self._held.get(table)
        # another time of the file: the table was created again
        if held is None or held.modified.get(version) != now:
            held = list_with_times(table.store)
            with self._lock:
                self._held[table] = held
        return held.file_times[version]


_LISTED = _ListedTimes()


def file_time(table: Table, version: int) -> int:
    """When the commit of `version` counts as made by the time of its file, in milliseconds
    since the epoch; made monotonic over the log."""
    return _LISTED.of(table, version)
