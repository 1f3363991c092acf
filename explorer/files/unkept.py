"""What may happen to the files below a table's root that no kept version references
(spec: Add File and Remove File, Data Files, Change Data Files).

- removed from the table longer ago than the retention: may go
- stray (see `explorer.files.listed`) and older than the retention: may go
- under the name that a writer of this package gives a file before it is finished, or in the
  folder that it lets Spark make files in, and older than the retention: that writer was killed,
  and the file may go
- one of these, and younger: stays, with the time from which it may go
- everything else that no version references is foreign: never touched, the files of
  another table below this one's root among it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import ADD, CHANGE, REMOVE, FileEvents
from explorer.files.kept import KeptFiles
from explorer.files.listed import (
    CHANGE_FOLDER,
    is_hidden,
    is_older,
    is_stray_by_name,
    lie_below,
)
from explorer.files.store_paths import NOWHERE, Places, data_places, file_of_each
from explorer.log.folder.listing import LogListing
from explorer.log.plain_arrays import (
    Flags,
    Numbers,
    build_array,
    read_flags,
    read_numbers,
    read_values,
)
from explorer.protocol.features.column_mapping import column_mapping_mode, physical_name
from explorer.protocol.filenames import STAGING_NAME, TEMPORARY_NAME
from explorer.table.snapshot import Snapshot
from explorer.table.table import contiguous_run
from explorer.table.times import commit_times, in_commit_times

REMOVED = "removed from the table, and its retention has passed"
STRAY = "no version uses it, and it is older than the retention"
OLD_CHANGES = "change data of commits that are older than the retention"
UNFINISHED = "its writer never finished it, and it is older than the retention"
STILL_KEPT = "removed from the table, and kept until its retention has passed"
UNDECIDED = "no version uses it, but the retention of the table cannot be read"
KEPT_UNDECIDED = "removed from the table, but the retention of the table cannot be read"
YOUNG = "no version uses it, but it may belong to a writer that has not committed yet"
HIDDEN = "foreign: hidden by its name, or that of its folder"
OTHER_TABLE = "foreign: in the folder of another table"
THEIR_DANGER = (
    "foreign: in the folder of another table, and old enough that Delta Spark would delete it"
)
FOREIGN = "foreign: not a file of a table"
REFERENCE = "foreign: not a file of a table, and old enough that Delta Spark would delete it"
ODD = "foreign: not a plain file, or a name that is not text"
UNKNOWN_AGE = "foreign: its age is unknown"

REASONS = (
    REMOVED,
    STRAY,
    OLD_CHANGES,
    UNFINISHED,
    HIDDEN,
    THEIR_DANGER,
    OTHER_TABLE,
    UNKNOWN_AGE,
    UNDECIDED,
    KEPT_UNDECIDED,
    YOUNG,
    REFERENCE,
    FOREIGN,
)
"""What `UnkeptFiles.reasons` count."""
MAY_GO = 4
"""Reasons before this one say that a file may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """What decides by age: files removed, or written, at or before `cutoff_ms` may go;
    `retention_ms` later than that, one may."""

    cutoff_ms: int
    retention_ms: int


_NEVER: Final = 2**62
NEVER_OLD: Final = Ages(cutoff_ms=-(2**62), retention_ms=2**62)
"""Where the table asks for a retention that cannot be read: nothing may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnkeptFiles:
    """The fate of files, row by row of `files` (path, bytes, modified in milliseconds):
    positions in `REASONS`, the time from which each may go in milliseconds (`retention_ms`
    after its age began), which of them no vacuum touches as things are, which no version knows
    (`is_stray`), and which have a name that hides them from the reference's vacuum."""

    files: pa.Table
    reasons: Numbers
    since_ms: Numbers
    never: Flags
    is_stray: Flags
    is_hidden: Flags
    retention_ms: int

    @property
    def may_go(self) -> Flags:
        """Which of them a vacuum may delete."""
        found: Flags = self.reasons < MAY_GO
        return found

    @property
    def reference_begins_ms(self) -> Numbers:
        """When the reference's vacuum begins to count the retention of each, in milliseconds."""
        removed = self.reasons == REASONS.index(REMOVED)
        began = np.where(removed, self.since_ms - self.retention_ms, 0)
        return reference_begins(read_numbers(self.files.column("modified")), began)

    def aged_by(self, recorded: RecordedChanges | None) -> UnkeptFiles:
        """The same where change data is no older than the commit that names it."""
        if recorded is None:
            return self
        made = recorded.times_of(self.files.column("path"))
        since = np.where(
            made < 0, self.since_ms, np.maximum(self.since_ms, made + self.retention_ms)
        )
        return replace(self, since_ms=since)

    @property
    def youngest_ms(self) -> int | None:
        """The newest time among those that no version knows; None without any."""
        found = read_numbers(self.files.column("modified"))[self.is_stray]
        return int(found.max()) if len(found) else None


def judge_unkept(
    files: pa.Table,
    root: str,
    removals: Sequence[pa.Table],
    partition_columns: Sequence[str],
    ages: Ages,
    tables: Sequence[str] = (),
) -> UnkeptFiles:
    """Why each of `files`, which no kept version needs, may be deleted or not. Files in the folders
    `tables` belong to other tables.

    `removals` say what left the table and when: tables with path, deletion_vector and
    deletion_timestamp.
    """
    paths = files.column("path")
    times = _times_of_jobs(paths, files.column("modified"))
    unseen = read_flags(is_hidden(paths, partition_columns))
    unfinished = unseen & _is_unfinished(paths, partition_columns)
    hidden = unseen & ~unfinished
    removed_at = _removal_times(paths, removals, root)
    removed = ~hidden & (removed_at >= 0)
    theirs = ~hidden & ~removed & read_flags(lie_below(paths, tables))
    like_ours = unfinished | read_flags(is_stray_by_name(paths))
    stray = ~hidden & ~removed & ~theirs & like_ours
    old = read_flags(is_older(times, ages.cutoff_ms))
    dated = read_numbers(times) != 0
    changes = read_flags(pc.starts_with(paths, f"{CHANGE_FOLDER}/"))
    undecided = ages is NEVER_OLD
    goes = (stray & old) if undecided else removed | (stray & old)
    cases = {
        KEPT_UNDECIDED if undecided else REMOVED: removed,
        UNFINISHED: goes & unfinished,
        OLD_CHANGES: goes & changes,
        STRAY: goes,
        HIDDEN: hidden,
        THEIR_DANGER: theirs & old & ~unfinished,
        OTHER_TABLE: theirs,
        UNKNOWN_AGE: stray & ~dated,
        UNDECIDED if undecided else YOUNG: stray,
        REFERENCE: old,
    }
    codes = [REASONS.index(reason) for reason in cases]
    return UnkeptFiles(
        files=files,
        reasons=np.select([*cases.values()], codes, REASONS.index(FOREIGN)),
        since_ms=np.where(removed, removed_at, read_numbers(times)) + ages.retention_ms,
        never=~goes & (~stray | ~dated | undecided),
        is_stray=stray,
        is_hidden=unseen,
        retention_ms=ages.retention_ms,
    )


def _is_unfinished(paths: pa.ChunkedArray, partition_columns: Sequence[str]) -> Flags:
    """Which files nothing hides but the name that a writer of this package gave them before
    they were finished, or a folder within that in which it had them made."""
    named = pc.match_substring_regex(paths, _UNFINISHED)
    if not pc.any(named).as_py():
        return np.zeros(len(paths), np.bool_)
    shown = pc.replace_substring_regex(paths, _UNFINISHED, r"\1tmp")
    return read_flags(named) & ~read_flags(is_hidden(shown, partition_columns))


def _times_of_jobs(paths: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.ChunkedArray:
    """The times of files; in a folder in which Spark makes files for a writer of this package the
    newest of all there, for while it writes one, those that it has written are needed."""
    staged = np.flatnonzero(read_flags(pc.match_substring_regex(paths, f"^{STAGING_NAME}/")))
    if not len(staged):
        return times
    folders = [path.partition("/")[0] for path in paths.take(build_array(staged)).to_pylist()]
    known, rows = np.unique(folders, return_inverse=True)
    numbers = read_numbers(times).copy()
    newest = np.zeros(len(known), np.int64)
    np.maximum.at(newest, rows, numbers[staged])
    numbers[staged] = newest[rows]
    return pa.chunked_array([build_array(numbers).cast(times.type)])


def reference_begins(modified_ms: Numbers | int, removed_ms: Numbers | int = 0) -> Numbers:
    """When the retention of files begins for the reference's full vacuum, which leaves a file
    that was modified within it, whenever it was removed: after a copy that is the copy's time.
    Whether change data is old it tells by its modification alone."""
    found: Numbers = np.maximum(modified_ms, removed_ms)
    return found


def partition_names(snapshot: Snapshot) -> list[str]:
    """The partition columns under all their names."""
    metadata = snapshot.metadata
    mode = column_mapping_mode(snapshot.protocol, metadata.configuration)
    names = list(metadata.partition_columns)
    fields = snapshot.schema.fields if mode != "none" and names else ()
    return names + [physical_name(field, mode) for field in fields if field.name in names]


def removals_of(events: FileEvents | None, kept: KeptFiles) -> list[pa.Table]:
    """What left the table for good: what the commits removed, also where a checkpoint has
    dropped the tombstone; without commits, the expired tombstones."""
    if events is None:
        return [kept.expired]
    return [removals_by_commits(events)]


def removals_by_commits(events: FileEvents) -> pa.Table:
    """What the commits removed for good, as `judge_unkept` takes it."""
    is_removed = np.zeros(events.table.num_rows, np.bool_)
    is_removed[events.newest_rows] = True
    is_removed &= read_values(events.table.column("kind")) == REMOVE
    removed = events.table.filter(build_array(is_removed))
    return removed.rename_columns({"time": "deletion_timestamp"})


def kept_by_commits(events: FileEvents, cutoff_ms: int) -> Places:
    """What all commits keep: files that are live, and those removed after `cutoff_ms`."""
    return events.places(rows_kept_by_commits(events, cutoff_ms))


def rows_kept_by_commits(events: FileEvents, cutoff_ms: int) -> Numbers:
    """Which events say so."""
    rows = events.newest_rows
    kinds = read_values(events.table.column("kind"))[rows]
    times = read_numbers(events.table.column("time"))[rows]
    found: Numbers = rows[(kinds == ADD) | ((kinds == REMOVE) & (times > cutoff_ms))]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChanges:
    """The change files that commits name, as events, and when each commit was made, in
    milliseconds; of a commit whose time is unknown, a time that never comes."""

    events: pa.Table
    made_ms: Numbers
    root: str

    def after(self, cutoff_ms: int) -> Places:
        """The places of those of later commits."""
        found = NOWHERE
        young = self.events.filter(build_array(self.made_ms > cutoff_ms))
        for chunk in young.column("path").chunks:
            found = found.joined(data_places(chunk, self.root))
        return found

    def times_of(self, paths: pa.ChunkedArray) -> Numbers:
        """When the commit of each file was made; -1 where none names it."""
        dated = self.events.append_column("deletion_timestamp", build_array(self.made_ms))
        return _removal_times(paths, [dated], self.root)


def recorded_changes(
    snapshot: Snapshot, listing: LogListing, events: FileEvents | None
) -> RecordedChanges | None:
    """The change files of the commits that are left; None where there are none."""
    if events is None:
        return None
    kinds = read_values(events.table.column("kind"))
    changes = events.table.filter(build_array(kinds == CHANGE))
    if not changes.num_rows:
        return None
    run = contiguous_run(listing.commits)
    active = in_commit_times(snapshot.protocol, snapshot.metadata)
    times = commit_times(snapshot.store, listing, run, active)
    by_version = dict(zip(run, times, strict=True))
    made = [by_version.get(version, _NEVER) for version in changes.column("version").to_pylist()]
    return RecordedChanges(events=changes, made_ms=np.asarray(made, np.int64), root=snapshot.uri)


def _removal_times(paths: pa.ChunkedArray, removals: Sequence[pa.Table], root: str) -> Numbers:
    """When each file left the table, in milliseconds: 0 where its tombstone does not say,
    -1 where none of the tombstones names it."""
    found = np.full(len(paths), -1, np.int64)
    for removed in removals:
        if not len(paths) or not removed.num_rows:
            continue
        stamps = read_numbers(removed.column("deletion_timestamp"))
        for names in file_of_each(removed, root):
            if names is not None:
                at = pc.index_in(paths, value_set=names)
                known = read_flags(at.is_valid())
                found[known] = np.maximum(found[known], stamps[read_values(at.drop_null())])
    return found


# Spark hides in its own folder what it has not finished
_UNFINISHED = rf"(^|/){TEMPORARY_NAME}$|^{STAGING_NAME}/.+$"
