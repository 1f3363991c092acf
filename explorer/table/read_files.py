"""The files of a version as one table; the part of `Snapshot` that brings Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from explorer.log.action_fields import FIELDS, FileAction
from explorer.log.columns import empty_table
from explorer.log.load import LoadedVersion


def read_files(loaded: LoadedVersion, action: FileAction, columns: Sequence[str]) -> pa.Table:
    """All adds or removes in force, with just these columns, as the log has them."""
    if loaded.checkpoint is None and all(name in FIELDS[action] for name in columns):
        # all that there is to select from; the state would bring what computes
        rows = loaded.tail.adds if action == "add" else loaded.tail.removes
        return rows.select(list(columns))
    tables = list(loaded.state.tables(action, columns))
    if not tables:
        return empty_table(loaded.state.schema(action, columns))
    return pa.concat_tables(tables)
