"""The newest times of a log, against which a clock is judged before ages count."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.log.commit_info import read_commit_info
from explorer.maintenance.planning import Look
from explorer.protocol.filenames import parse_commit_version
from explorer.storage.ports import ObjectInfo


def newest_commit_times(look: Look, files: Iterable[ObjectInfo]) -> dict[str, int | None]:
    """The newest times of commits, by their files among `files` and as the newest one says
    itself, in milliseconds; None where there is none."""
    commits = [info.modified_ms for info in files if parse_commit_version(info.name) is not None]
    recorded: int | None = None
    if look.listing.commits:
        recorded = read_commit_info(look.store, look.listing.commits[-1]).in_commit_ms
    return {"commit": max(commits, default=None), "in-commit timestamp": recorded}
