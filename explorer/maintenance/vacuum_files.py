"""Which files vacuum may delete, and why each of the others stays.

- removed from the table longer ago than the retention: deleted
- stray (see `explorer.table.listed_files`) and older than the retention: deleted
- removed or stray, and younger: stays, with the time from which it may go
- everything else that no version references is foreign: listed, and never touched
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import TIME, string_column
from explorer.maintenance.file_list import build_files, words
from explorer.storage.ports import ReadStore
from explorer.table.kept_files import KeptFiles, is_kept
from explorer.table.listed_files import (
    CHANGE_FOLDER,
    ListedFiles,
    is_hidden,
    is_older,
    is_stray_by_name,
)
from explorer.table.store_paths import Places, file_of_each

REMOVED = "removed from the table, and its retention has passed"
STRAY = "no version knows it, and it is older than the retention"
OLD_CHANGES = "change data of commits that are older than the retention"
STILL_KEPT = "removed from the table, and kept until its retention has passed"
YOUNG = "no version knows it, and it may belong to a writer that has not committed yet"
HIDDEN = "foreign: below a folder, or with a name, that hides it"
FOREIGN = "foreign: not a file of a table"
REFERENCE = "foreign: not a file of a table, and old enough that the reference would delete it"
ODD = "foreign: no plain file, or a name that is no text"
UNKNOWN_AGE = "foreign: nobody knows how old it is"

_DELETED = (REMOVED, STRAY, OLD_CHANGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ages:
    """What decides by age: files removed, or written, at or before `cutoff_ms` may go;
    `retention_ms` later than that, one may."""

    cutoff_ms: int
    retention_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """The lists of a vacuum plan, and the newest time among files that no version knows,
    in milliseconds; None without any."""

    delete: pa.Table
    leave: tuple[pa.Table, ...]
    youngest_ms: int | None

    @property
    def reference_deletes(self) -> tuple[int, int]:
        """How many files, and bytes, the reference would delete beyond these."""
        more = [_with_reason(part, REFERENCE) for part in self.leave]
        return (
            sum(part.num_rows for part in more),
            sum(pc.sum(part.column("bytes")).as_py() or 0 for part in more),
        )


def judge_listed(  # noqa: PLR0913, PLR0917  # what lies there, what is known of it, and the rules
    listed: ListedFiles,
    store: ReadStore,
    kept: Places,
    tombstones: KeptFiles,
    removals: Sequence[pa.Table],
    partition_columns: Sequence[str],
    ages: Ages,
) -> Verdicts:
    """The fate of every file that was listed and that no kept version references.

    `removals` say what left the table and when: tables with path, deletion_vector and
    deletion_timestamp.
    """
    unkept = listed.select(pc.invert(is_kept(listed.paths, kept)), store)
    unkept = unkept.filter(unkept.column("bytes").is_valid())  # others went away meanwhile
    paths, times = unkept.column("path"), unkept.column("modified")
    hidden = _flags(is_hidden(paths, partition_columns))
    removed_at = _removal_times(paths, removals, store.uri)
    removed = ~hidden & (removed_at >= 0)
    stray = ~hidden & ~removed & _flags(is_stray_by_name(paths))
    old = _flags(is_older(times, ages.cutoff_ms))
    dated = _flags(pc.fill_null(pc.not_equal(times, 0), False))  # noqa: FBT003  # a value
    changes = _flags(pc.starts_with(paths, f"{CHANGE_FOLDER}/"))
    delete = removed | (stray & old)
    since = np.where(removed, removed_at, _numbers(times)) + ages.retention_ms
    reasons = np.select([removed, changes], [0, 2], 1)
    leave_reasons = np.select([hidden, stray & ~dated, stray, old], [0, 1, 2, 3], 4)
    foreign = ~stray | ~dated
    return Verdicts(
        delete=_rows(unkept, delete, "delete", _DELETED, reasons, since, np.zeros_like(delete)),
        leave=(
            _rows(
                unkept,
                ~delete,
                "leave",
                (HIDDEN, UNKNOWN_AGE, YOUNG, REFERENCE, FOREIGN),
                leave_reasons,
                since,
                foreign,
            ),
            _still_kept(listed.paths, tombstones, store.uri, ages),
            build_files(string_column(list(listed.others)), action="leave", reason=ODD),
        ),
        youngest_ms=_youngest(times, ~hidden & stray),
    )


def judge_removed(candidates: pa.Table, partition_columns: Sequence[str], ages: Ages) -> Verdicts:
    """The same of files that the log alone names: `candidates` (path, bytes, modified,
    removed_at, is_change) are no longer kept; one that is gone has null bytes."""
    there = candidates.filter(candidates.column("bytes").is_valid())
    hidden = _flags(is_hidden(there.column("path"), partition_columns))
    reasons = np.where(_flags(there.column("is_change")), 2, 0)
    since = _numbers(there.column("removed_at")) + ages.retention_ms
    nothing = np.zeros(there.num_rows, np.bool_)
    return Verdicts(
        delete=_rows(there, ~hidden, "delete", _DELETED, reasons, since, nothing),
        leave=(_rows(there, hidden, "leave", (HIDDEN,), np.zeros_like(reasons), since, ~nothing),),
        youngest_ms=None,
    )


def _rows(  # noqa: PLR0913, PLR0917  # the columns of a file list
    files: pa.Table,
    mask: npt.NDArray[np.bool_],
    action: str,
    choices: Sequence[str],
    reasons: npt.NDArray[np.int64],
    since: npt.NDArray[np.int64],
    never: npt.NDArray[np.bool_],
) -> pa.Table:
    found = files.filter(pa.array(mask))
    times = pa.array(since[mask], mask=never[mask]).cast(TIME)
    return build_files(
        found.column("path"),
        action=action,
        reason=words(choices, pa.array(reasons[mask].astype(np.int32))),
        bytes=found.column("bytes"),
        deletable_from=times,
        modified=found.column("modified").cast(TIME),
    )


def _removal_times(
    paths: pa.ChunkedArray, removals: Sequence[pa.Table], root: str
) -> npt.NDArray[np.int64]:
    """When each file left the table, in milliseconds: 0 where its tombstone does not say,
    -1 where none of the tombstones names it."""
    found = np.full(len(paths), -1, np.int64)
    for removed in removals:
        if not len(paths) or not removed.num_rows:
            continue
        stamps = _numbers(removed.column("deletion_timestamp").cast(pa.int64()))
        for names in file_of_each(removed, root):
            if names is not None:
                at = pc.index_in(paths, value_set=names)
                known = _flags(at.is_valid())
                found[known] = np.maximum(found[known], stamps[at.drop_null().to_numpy()])
    return found


def _still_kept(listed: pa.ChunkedArray, kept: KeptFiles, root: str, ages: Ages) -> pa.Table:
    """Files on their way out: removed, and within retention."""
    tombstones = kept.tombstones
    names = file_of_each(tombstones, root)[0]
    live = pc.is_in(names, value_set=_filled(kept.live.inside))
    there = pc.is_in(names, value_set=_filled(listed))
    shown = pc.and_(pc.and_(names.is_valid(), there), pc.invert(live))
    rows = tombstones.append_column("name", names).filter(shown)
    since = pc.add(rows.column("deletion_timestamp").cast(pa.int64()), _number(ages.retention_ms))
    return build_files(
        rows.column("name"),
        action="leave",
        reason=STILL_KEPT,
        bytes=rows.column("size"),
        deletable_from=since.cast(TIME),
    )


def _youngest(times: pa.ChunkedArray, mask: npt.NDArray[np.bool_]) -> int | None:
    found = _numbers(times)[mask]
    return int(found.max()) if len(found) else None


def _with_reason(files: pa.Table, reason: str) -> pa.Table:
    texts = pc.cast(files.column("reason"), pa.string())
    return files.filter(pc.equal(texts, string_column([reason])[0]))


def _filled(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return texts if texts.num_chunks else pa.chunked_array([string_column([])], pa.string())


def _flags(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (
        values.to_numpy(zero_copy_only=False).astype(np.bool_) if len(values) else np.zeros(0, "?")
    )
    return found


def _numbers(values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """64-bit integers, 0 for null."""
    filled = pc.fill_null(values, _number(0))
    found: npt.NDArray[np.int64] = filled.to_numpy() if len(filled) else np.zeros(0, np.int64)
    return found


def _number(value: int) -> pa.Scalar:
    return pa.Array.from_buffers(
        pa.int64(), 1, [None, pa.py_buffer(value.to_bytes(8, "little", signed=True))]
    )[0]
