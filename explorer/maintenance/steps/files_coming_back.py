"""Whether files that a commit brings back are there, and stay (guard: listed again).

A vacuum of ours, or of the reference where it logs them, commits its start before it
deletes. One that starts after the plan's version is a conflict of the commit loop; one
that began before it and has not ended may be deleting now. After a day it counts as
interrupted: a vacuum of ours deletes nothing from then on and has to be planned again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import NotFoundError
from explorer.files.listed import list_files, stat_files
from explorer.files.store_paths import file_of_each
from explorer.log.commits.commit_info import read_commit_info
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.steps._files_beyond import gone_beyond
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.storage.parquet.decoding_memory import release_memory
from explorer.storage.ports import RangeStore, ReadStore, offers
from explorer.table.table import Table
from explorer.transaction.conflicts import VACUUM_START
from explorer.transaction.staged import StagedCommit

VACUUM_END = "VACUUM END"

_LONGEST_VACUUM = timedelta(days=1)
_CLOCKS_DIFFER = timedelta(hours=1)
_LOOKED_AT = 100
"""Commits that are looked at first; all of a day are."""

_FEW, _FEW_REQUESTS = 20_000, 500
"""Files that are asked for one by one; a listing of all of them is faster for more."""
_ASKED_AT_ONCE = 4096
_LOOKING = "Looking for the files that come back"


def check_files_come_back(store: ReadStore, staged: StagedCommit, now_ms: int) -> None:
    """Raise `ConflictError` where a vacuum is under way, or a file is gone."""
    if (version := vacuum_under_way(Table(store), now_ms)) is not None:
        raise stale(
            f"A vacuum began with version {version} and has not ended: it may be deleting the "
            "very files that would come back."
        )
    missing = gone_among(store, staged.files("add"))
    if len(missing):
        raise stale(
            f"Of the files that it brings back, {len(missing):,} went away since: "
            f"{missing[0].as_py()[:200]!r}{'' if len(missing) == 1 else ' and others'}. A vacuum "
            "may have deleted them."
        )


def vacuum_under_way(table: Table, now_ms: int) -> int | None:
    """The version that says that a vacuum began, less than a day ago, where no commit after it
    says that it ended. Several may be at work, and an end is that of the newest one before
    it."""
    day_ago = now_ms - _LONGEST_VACUUM // timedelta(milliseconds=1)
    ended = 0
    for row in _newer_than(table, day_ago):
        if row["operation"] == VACUUM_END:
            ended += 1
        elif row["operation"] == VACUUM_START and row["timestamp"] > day_ago:
            if not ended:
                return int(row["version"])
            ended -= 1
    return None


def _newer_than(table: Table, time_ms: int) -> list[dict[str, Any]]:
    """The commits since then, newest first, and some older ones; their times in
    milliseconds."""
    limit = _LOOKED_AT
    while True:
        history = table.history(limit).select(["version", "timestamp", "operation"])
        # as numbers: times as Python has them would make pyarrow import pandas
        times = history.column("timestamp").cast(pa.int64())
        rows: list[dict[str, Any]] = history.set_column(1, "timestamp", times).to_pylist()
        if len(rows) < limit or rows[-1]["timestamp"] <= time_ms:
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


def gone_among(store: ReadStore, files: pa.Table, watch: Watch = UNWATCHED) -> pa.ChunkedArray:
    """Those data and vector files of `files` (path, deletion_vector) that are not there."""
    every = while_working(lambda: _files_of(files, store.uri), watch, _LOOKING)
    if len(every) > (_FEW_REQUESTS if offers(store, RangeStore) else _FEW):
        listed = list_files(store, watch).paths
        # it does not follow links to folders: what it lacks is asked for by name
        every = while_working(lambda: _not_among(every, listed), watch, _LOOKING)
        release_memory()  # the names of all files, which are done with
    every = pa.chunked_array([pc.unique(every)], pa.string())
    gone: list[pa.Array] = [gone_beyond(store, files)]
    for start in range(0, len(every), _ASKED_AT_ONCE):
        watch.step(start, len(every), _LOOKING)
        some = every.slice(start, _ASKED_AT_ONCE)
        gone += some.filter(stat_files(store, some).column("bytes").is_null()).chunks
    return pa.chunked_array(gone, pa.string())


def _files_of(files: pa.Table, root: str) -> pa.ChunkedArray:
    names = [part.drop_null() for part in file_of_each(files, root) if part is not None]
    return pa.chunked_array([chunk for part in names for chunk in part.chunks], pa.string())


def _not_among(names: pa.ChunkedArray, listed: pa.ChunkedArray) -> pa.ChunkedArray:
    """Those of the names that are not listed; usually all are."""
    at = pc.index_in(listed, value_set=names)
    if pc.count_distinct(at).as_py() == len(names):
        return names.slice(0, 0)
    return names.filter(pc.invert(pc.is_in(names, value_set=listed.filter(at.is_valid()))))
