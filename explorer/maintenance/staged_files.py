"""The file actions of a commit that a plan describes, made again from the versions that it
names: snapshots never change, so they are what the planner saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import ConflictError
from explorer.log.columns import ADD_COLUMNS, REMOVE_COLUMNS, TIME, bool_column, int64_column
from explorer.log.key_columns import keys_of
from explorer.maintenance.file_list import of_action
from explorer.maintenance.newer_commits import stale
from explorer.maintenance.plan import Plan
from explorer.table.snapshot import Snapshot
from explorer.table.table import Table

_TRUE = bool_column([True])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBatches:
    """Adds and removes, with columns of `explorer.log.columns`; `recommits` says that the
    adds stood in the log before as they are."""

    adds: tuple[pa.RecordBatch, ...] = ()
    removes: tuple[pa.RecordBatch, ...] = ()
    recommits: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is neither."""
        return not (self.adds or self.removes)


def batches_of(
    table: Table, plan: Plan, described: Mapping[str, Any], deleted_at: int
) -> FileBatches:
    """What `described` says: `{"restore_to": VERSION}`, or `{"remove_missing": true}` for
    the live files that the plan lists under `remove`. They are removed at `deleted_at`, in
    milliseconds: retention counts from the commit, and not from the plan."""
    newest = table.snapshot(version=plan.anchor.version)
    if "restore_to" in described:
        target = table.snapshot(version=int(described["restore_to"]))
        back, gone = differing_files(newest, target)
        _check_count(plan, "add", back.num_rows)
        _check_count(plan, "remove", gone.num_rows)
        adds = back.set_column(
            back.schema.get_field_index("data_change"), "data_change", _repeat(_TRUE, back)
        )
        removes = removes_of(gone, deleted_at)
        return FileBatches(
            adds=tuple(adds.to_batches()), removes=tuple(removes.to_batches()), recommits=True
        )
    live = newest.physical_files("add", list(ADD_COLUMNS))
    paths = described["paths"]
    gone = live.filter(pc.is_in(live.column("path"), value_set=pa.array(paths, pa.string())))
    if gone.num_rows != described["num_files"]:
        raise _differs()
    return FileBatches(removes=tuple(removes_of(gone, deleted_at).to_batches()))


def differing_files(newest: Snapshot, target: Snapshot) -> tuple[pa.Table, pa.Table]:
    """Logical files that only `target` has, and that only `newest` has, with every column
    of an add."""
    columns = list(ADD_COLUMNS)
    wanted, held = (snapshot.physical_files("add", columns) for snapshot in (target, newest))
    return _without(wanted, held), _without(held, wanted)


def removes_of(files: pa.Table, deleted_at: int) -> pa.Table:
    """Removes of live files, at that time in milliseconds (spec: Add File and Remove File)."""
    arrays: dict[str, Any] = {}
    for name, (_, _, kind) in REMOVE_COLUMNS.items():
        if name == "deletion_timestamp":
            arrays[name] = _repeat(int64_column([deleted_at])[0], files).cast(TIME)
        elif name in {"data_change", "extended_file_metadata"}:
            arrays[name] = _repeat(_TRUE, files)
        elif name in files.column_names:
            arrays[name] = files.column(name)
        else:
            arrays[name] = pa.nulls(files.num_rows, kind)
    return pa.table(arrays)


def _without(files: pa.Table, others: pa.Table) -> pa.Table:
    if not files.num_rows or not others.num_rows:
        return files
    return files.filter(pc.invert(pc.is_in(keys_of(files), value_set=keys_of(others))))


def _repeat(value: pa.Scalar, files: pa.Table) -> pa.Array:
    return pa.repeat(value, files.num_rows)


def _check_count(plan: Plan, action: str, count: int) -> None:
    if of_action(plan.files, action).num_rows != count:
        raise _differs()


def _differs() -> ConflictError:
    return stale("The versions that it names no longer hold the files that it lists.")
