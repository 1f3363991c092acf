"""Which files, and which rows of them, two versions do not share, as tasks for Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison.file_changes import FileChanges
from explorer.comparison.looked_up_files import LookedUpFiles
from explorer.log.actions.columns import int64_scalar, string_scalar
from explorer.log.reconcile.key_columns import keys_of
from explorer.pipeline.tasks.change_tasks import CHANGE_TASKS
from explorer.rows.changes.change_actions import ChangeType
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.data_file.partition_columns import constant_column
from explorer.rows.older_columns import matched_columns
from explorer.table.frames import with_logical_names
from explorer.table.snapshot import Snapshot

_VECTOR: Final = "deletion_vector"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffTasks:
    """Tasks with the schema `CHANGE_TASKS`: `before` leads to rows of the older version,
    `after` to those of the newer one. Files whose vector changed are in both."""

    before: pa.Table
    after: pa.Table
    num_files: int

    @property
    def have_row_ids(self) -> bool:
        """Whether every file says with which row id it begins."""
        return not any(side.column("base_row_id").null_count for side in (self.before, self.after))


def plan_diff_tasks(files: FileChanges, older: Snapshot, newer: Snapshot) -> DiffTasks:
    """The tasks for what differs in the files of two versions."""
    names = {own.name: name for name, own in matched_columns(older, newer).items()}
    gone = _tasks(with_logical_names(files.removed, names), "delete", older.version)
    came = _tasks(files.added, "insert", newer.version)
    vectors = _vector_tasks(files, newer)
    return DiffTasks(
        before=pa.concat_tables([gone, vectors]),
        after=pa.concat_tables([came, vectors]),
        num_files=gone.num_rows + came.num_rows + vectors.num_rows,
    )


def _vector_tasks(files: FileChanges, newer: Snapshot) -> pa.Table:
    changed = files.changed
    lists = changed.column("changes").combine_chunks()
    differs = pc.equal(pc.list_flatten(lists), string_scalar(_VECTOR))
    changed = changed.take(pc.list_parent_indices(lists).filter(differs))
    keys = changed.select(["path", "deletion_vector_after"]).rename_columns(["path", _VECTOR])
    # what `changed` leaves out is looked up once more
    found = LookedUpFiles(newer, keys_of(keys))
    listed = found.read(np.arange(found.names.num_rows, dtype=np.int64), FILE_COLUMNS)
    listed = newer.with_logical_names(listed)
    at = pc.index_in(listed.column("path"), value_set=changed.column("path"))
    before = changed.column("deletion_vector_before").take(at)
    return _tasks(listed, "vector", newer.version).set_column(
        CHANGE_TASKS.get_field_index("before"), "before", before
    )


def _tasks(files: pa.Table, kind: ChangeType | str, version: int) -> pa.Table:
    count = files.num_rows
    columns = {
        "kind": constant_column(string_scalar(kind), count),
        "version": constant_column(int64_scalar(version), count),
    }
    arrays = [
        columns[item.name]
        if item.name in columns
        else files.column(item.name)
        if item.name in FILE_COLUMNS
        else pa.nulls(count, item.type)
        for item in CHANGE_TASKS
    ]
    return pa.Table.from_arrays(arrays, schema=CHANGE_TASKS)
