"""Whether files that a commit brings back are there, and stay (guard: listed again).

A vacuum of ours, or of the reference where it logs them, commits its start before it
deletes. One that starts after the plan's version is a conflict of the commit loop; one
that began before it and has not ended may be deleting now. After a day it counts as broken
off: a vacuum of ours deletes nothing from then on, and is planned anew.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import NotFoundError
from explorer.log.commit_info import read_commit_info
from explorer.maintenance.newer_commits import stale
from explorer.storage.ports import ReadStore
from explorer.table.listed_files import stat_files
from explorer.table.store_paths import file_of_each
from explorer.table.table import Table
from explorer.table.times import render_time
from explorer.transaction.staged import StagedCommit

VACUUM_START = "VACUUM START"
VACUUM_END = "VACUUM END"

_LONGEST_VACUUM = timedelta(days=1)
_CLOCKS_DIFFER = timedelta(hours=1)
_LOOKED_AT = 100
"""Commits that are looked at first; all of a day are."""


def check_files_come_back(store: ReadStore, staged: StagedCommit, now_ms: int) -> None:
    """Raise `ConflictError` where a vacuum is under way, or a file is gone."""
    if (version := vacuum_under_way(Table(store), now_ms)) is not None:
        raise stale(
            f"A vacuum began with version {version} and has not ended: it may be deleting the "
            "very files that would come back."
        )
    missing = missing_files(store, staged.files("add"))
    if len(missing):
        raise stale(
            f"{len(missing)} of the files that it brings back are gone, among them "
            f"{missing[0].as_py()[:200]!r}: vacuum deleted them since."
        )


def vacuum_under_way(table: Table, now_ms: int) -> int | None:
    """The version that says that a vacuum began, less than a day ago, where no commit after it
    says that it ended. Several may be at work, and an end is that of the newest one before
    it."""
    day_ago = render_time(now_ms) - _LONGEST_VACUUM
    ended = 0
    for row in _newer_than(table, day_ago):
        if row["operation"] == VACUUM_END:
            ended += 1
        elif row["operation"] == VACUUM_START and row["timestamp"] > day_ago:
            if not ended:
                return int(row["version"])
            ended -= 1
    return None


def _newer_than(table: Table, time: datetime) -> list[dict[str, Any]]:
    """The commits since then, newest first, and some older ones."""
    limit = _LOOKED_AT
    while True:
        history = table.history(limit).select(["version", "timestamp", "operation"])
        rows: list[dict[str, Any]] = history.to_pylist()
        if len(rows) < limit or rows[-1]["timestamp"] <= time:
            return rows
        limit *= 10


def announced_until(store: ReadStore, version: int) -> int:
    """Until when a vacuum whose start is `version` may delete, in milliseconds: as long as
    every restore waits for it, whose clock may be another one. Raises `ConflictError` where
    nobody can see its start any more."""
    try:
        info = read_commit_info(store, version).body
    except NotFoundError as error:
        raise stale(f"Version {version}, which said that the vacuum began, is gone.") from error
    began = info.get("timestamp")
    if not isinstance(began, int):
        raise AssertionError("a commit of ours says its time")
    return began + (_LONGEST_VACUUM - _CLOCKS_DIFFER) // timedelta(milliseconds=1)


def missing_files(store: ReadStore, files: pa.Table) -> pa.ChunkedArray:
    """Those data and vector files of `files` (path, deletion_vector) that are not there."""
    names = [part.drop_null() for part in file_of_each(files, store.uri) if part is not None]
    each = pa.chunked_array([chunk for part in names for chunk in part.chunks], pa.string())
    every = pa.chunked_array([pc.unique(each)], pa.string())
    return every.filter(stat_files(store, every).column("bytes").is_null())
