"""The files of a version as one table; the part of `Snapshot` that brings Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from explorer.log.actions.columns import empty_table
from explorer.log.actions.fields import FIELDS, FileAction
from explorer.log.load import LoadedVersion


def read_files_table(loaded: LoadedVersion, action: FileAction, columns: Sequence[str]) -> pa.Table:
    """All adds or removes in force, with just these columns, as the log has them."""
    if loaded.checkpoint is None and all(name in FIELDS[action] for name in columns):
        # all that there is to select from; the state would bring what computes
        rows = loaded.tail.adds if action == "add" else loaded.tail.removes
        return rows.select(list(columns))
    tables = list(_tables(loaded, action, columns))
    if not tables:
        return empty_table(loaded.state.schema(action, columns))
    return pa.concat_tables(tables)


def read_record_counts(loaded: LoadedVersion) -> pa.Table:
    """`num_records` of all adds in force, in the order of `read_files_table`. The statistics are
    let go piece by piece: as whole columns they take more memory than all else of a log."""
    columns = ["num_records"]
    pieces = list(loaded.state.reduce_files(columns, (), lambda files: files.table))
    return pa.concat_tables([empty_table(loaded.state.schema("add", columns)), *pieces])


def read_among(loaded: LoadedVersion, keys: pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
    """Those adds in force whose key is one of `keys`, likewise."""
    import explorer.compute_functions as pc  # noqa: PLC0415  # not needed to open a small table
    from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of  # noqa: PLC0415  # brings numpy

    state = loaded.state
    if "stats" not in columns or state.records("add", "stats"):
        tables = [*state.among("add", keys, columns)]
    else:  # they are put together of columns first
        named = [*dict.fromkeys([*columns, *KEY_COLUMNS])]
        tables = [
            pc.filter(files, pc.is_in(keys_of(files), value_set=keys)).select(list(columns))
            for files in _tables(loaded, "add", named)
        ]
    return pa.concat_tables([empty_table(state.schema("add", columns)), *tables])


def _tables(
    loaded: LoadedVersion, action: FileAction, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """The files; the statistics that a checkpoint has as columns alone come as JSON."""
    state = loaded.state
    if action == "remove" or "stats" not in columns or state.records("add", "stats"):
        return state.tables(action, columns)
    # most tables have them as JSON
    from explorer.log.state.statistics_columns import (  # noqa: PLC0415  # see above
        all_statistics,
        complete_statistics,
    )

    held = all_statistics(*loaded.small.required(loaded.segment.version))
    return state.reduce_files(
        columns, held.leaves, lambda files: complete_statistics(files, held).table
    )
