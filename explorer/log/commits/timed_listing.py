"""The log folder with the times of its commits (spec: In-Commit Timestamps)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from explorer.errors import NotFoundError
from explorer.log.commits.commit_info import monotonic
from explorer.log.folder.listing import LogListing, build_listing
from explorer.protocol.filenames import LOG_FOLDER, parse_commit_version, render_commit_path
from explorer.storage.ports import ReadStore

# what a version costs: two numbers and an entry in each of two dictionaries
_VERSION_BYTES = 200

# commits beyond what a store lists in one request
_LONG = 1001


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


class ListedTimes:
    """The times of one log as it was listed last, so that who asks for one commit after the
    other lists it once: a commit's time depends on those before it alone. Safe to share between
    threads, of which one at a time lists: for two of them a long log takes many times as long."""

    def __init__(self) -> None:
        self._held: TimedListing | None = None
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        """What is kept takes so many bytes."""
        held = self._held
        return 0 if held is None else _VERSION_BYTES * len(held.modified)

    def list_log(self, store: ReadStore) -> TimedListing:
        """The log as it is now; `store` is the same one each time."""
        with self._lock:
            return self._list(store)

    def up_to(self, store: ReadStore, version: int) -> TimedListing:
        """A listing that has the times of `version` and of the commits before it. One of a long
        log is kept, as long as the file of that commit and the oldest one have the times that they
        had; a short one is listed each time. Raises `NotFoundError` where the commit is gone."""
        with self._lock:
            held = self._held
            if held is None or not self._holds(store, held, version):
                held = self._list(store)
        if version not in held.modified:
            raise NotFoundError(
                f"The commit of version {version} is no longer in the log.",
                reason="A log cleanup removed it meanwhile, or the table was deleted.",
                remedy="Open the table again.",
            )
        return held

    def _holds(self, store: ReadStore, held: TimedListing, version: int) -> bool:
        if len(held.modified) < _LONG or version not in held.modified:
            return False
        with contextlib.suppress(NotFoundError):
            return all(
                store.stat(render_commit_path(one)).modified_ms == held.modified[one]
                # the times of commits depend on those before them, back to the oldest
                for one in (next(iter(held.file_times)), version)
            )
        return False

    def _list(self, store: ReadStore) -> TimedListing:
        self._held = listed = list_with_times(store)
        return listed
