"""The file actions of a commit that a plan describes, made again from the versions that it
names: snapshots never change, so they are what the planner saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import ConflictError
from explorer.files.store_paths import file_of_each
from explorer.log.actions.columns import (
    ADD_COLUMNS,
    TIME,
    bool_column,
    int64_column,
    string_column,
)
from explorer.log.plain_arrays import FALSE, TRUE
from explorer.maintenance.plan.file_list import of_action
from explorer.maintenance.plan.newer_commits import stale
from explorer.maintenance.plan.plan import Plan
from explorer.maintenance.plan.step_types import (
    FileChanges,
    GivenRowIds,
    MissingFiles,
    RestoredFiles,
    TakenRowIds,
    VectorTombstones,
)
from explorer.maintenance.steps.differing_files import differing_files
from explorer.protocol.features.registry import is_supported
from explorer.protocol.paths import encode_path
from explorer.protocol.table_properties.known_properties import ROW_ID_COLUMN
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table
from explorer.transaction.row_ids import ID_COLUMNS
from explorer.writing.files.removes import removes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBatches:
    """Adds and removes, with columns of `explorer.log.actions.columns`; `recommits` says that the
    adds stood in the log before as they are."""

    adds: tuple[pa.RecordBatch, ...] = ()
    removes: tuple[pa.RecordBatch, ...] = ()
    recommits: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is neither."""
        return not (self.adds or self.removes)


def batches_of(
    table: Table, plan: Plan, files: FileChanges, num_files: int, deleted_at: int
) -> FileBatches:
    """What `files` describes, of the plan's version; raises `ConflictError` where that is no
    longer as many files as were planned. They are removed at `deleted_at`, in milliseconds:
    retention counts from the commit, and not from the plan."""
    newest = table.snapshot(version=plan.anchor.version)
    match files:
        case RestoredFiles():
            target = table.snapshot(version=files.version)
            back, gone = differing_files(newest, target)
            _check_count(plan, "add", back.num_rows)
            _check_count(plan, "remove", gone.num_rows)
            return restoring(without_other_ids(back, newest, target), gone, deleted_at)
        case VectorTombstones():
            return FileBatches(removes=tuple(vector_tombstones(newest, deleted_at).to_batches()))
        case TakenRowIds():
            live = _live_files(newest)
            held = _counted(live.filter(_have_row_ids(live)), num_files)
            return FileBatches(adds=tuple(_without_ids(as_they_are(held)).to_batches()))
        case GivenRowIds():
            live = _live_files(newest)
            fresh = _counted(live.filter(live.column("base_row_id").is_null()), num_files)
            return FileBatches(adds=tuple(as_they_are(fresh).to_batches()))
        case MissingFiles():
            live, paths = _live_files(newest), pa.array(files.paths, pa.string())
            gone = live.filter(pc.is_in(live.column("path"), value_set=paths))
            removes = removes_of(_counted(gone, num_files), deleted_at)
            return FileBatches(removes=tuple(removes.to_batches()))
        case _:
            assert_never(files)


def _live_files(snapshot: Snapshot) -> pa.Table:
    return snapshot.physical_files("add", list(ADD_COLUMNS))


def _counted(files: pa.Table, planned: int) -> pa.Table:
    """The files, where they are as many as were planned."""
    if files.num_rows != planned:
        raise _differs()
    return files


def without_other_ids(back: pa.Table, newest: Snapshot, target: Snapshot) -> pa.Table:
    """The files that come back, without row ids that other rows may have by now: where row
    tracking was dropped and enabled again in between, its ids started over. (Each time it is
    enabled, the column that keeps ids gets another name.)"""
    names = {ROW_ID_COLUMN.value_of(each.metadata.configuration) for each in (newest, target)}
    is_tracked = is_supported(newest.protocol, "rowTracking")
    return _without_ids(back) if is_tracked and len(names) > 1 else back


def _without_ids(files: pa.Table) -> pa.Table:
    for name in ID_COLUMNS:
        nulls = pa.nulls(files.num_rows, pa.int64())
        files = files.set_column(files.schema.get_field_index(name), name, nulls)
    return files


def restoring(back: pa.Table, gone: pa.Table, deleted_at: int) -> FileBatches:
    """What brings the files `back` and removes those that are `gone` at `deleted_at`."""
    at = back.schema.get_field_index("data_change")
    adds = back.set_column(at, "data_change", _repeat(TRUE, back))
    removes = removes_of(gone, deleted_at)
    return FileBatches(
        adds=tuple(adds.to_batches()), removes=tuple(removes.to_batches()), recommits=True
    )


def as_they_are(files: pa.Table) -> pa.Table:
    """Adds of live files whose rows stay what they are."""
    at = files.schema.get_field_index("data_change")
    return files.set_column(at, "data_change", _repeat(FALSE, files))


def _have_row_ids(files: pa.Table) -> pa.ChunkedArray:
    return pc.or_(*(files.column(name).is_valid() for name in ID_COLUMNS))


def vector_tombstones(snapshot: Snapshot, deleted_at: int) -> pa.Table:
    """Removes that name the files of the deletion vectors of tombstones: who does not know
    vectors would take these files for strays, and old versions need them."""
    gone = snapshot.physical_files("remove", ["path", "deletion_vector"])
    hidden = gone.filter(gone.column("deletion_vector").is_valid())
    _, vectors = file_of_each(hidden, snapshot.uri)
    if vectors is None:
        return _removes_of_paths([], deleted_at)
    names = sorted({encode_path(name) for name in vectors.to_pylist() if name is not None})
    known = set(gone.column("path").to_pylist())
    return _removes_of_paths([name for name in names if name not in known], deleted_at)


def _removes_of_paths(paths: list[str], deleted_at: int) -> pa.Table:
    times = int64_column([deleted_at] * len(paths)).cast(TIME)
    changes = bool_column([False] * len(paths))
    return pa.table(
        {"path": string_column(paths), "deletion_timestamp": times, "data_change": changes}
    )


def _repeat(value: pa.Scalar, files: pa.Table) -> pa.Array:
    return pa.repeat(value, files.num_rows)


def _check_count(plan: Plan, action: str, count: int) -> None:
    if of_action(plan.files, action).num_rows != count:
        raise _differs()


def _differs() -> ConflictError:
    return stale("The versions that it names no longer hold the files that it lists.")
