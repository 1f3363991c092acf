"""Removes of live files (spec: Add File and Remove File)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from explorer.log.actions.columns import REMOVE_COLUMNS, TIME, int64_scalar
from explorer.log.plain_arrays import FALSE, TRUE


def removes_of(files: pa.Table, deleted_at: int, *, data_change: bool = True) -> pa.Table:
    """Removes of live files, at that time in milliseconds; without `data_change` their rows
    stand in other files of the same commit."""
    count = files.num_rows
    arrays: dict[str, Any] = {}
    for name, (_, _, kind) in REMOVE_COLUMNS.items():
        if name == "deletion_timestamp":
            arrays[name] = pa.repeat(int64_scalar(deleted_at), count).cast(TIME)
        elif name == "data_change":
            arrays[name] = pa.repeat(TRUE if data_change else FALSE, count)
        elif name == "extended_file_metadata":
            arrays[name] = pa.repeat(TRUE, count)
        elif name in files.column_names:
            arrays[name] = files.column(name)
        else:
            arrays[name] = pa.nulls(count, kind)
    return pa.table(arrays)
