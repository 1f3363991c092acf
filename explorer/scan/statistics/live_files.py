"""The statistics of all live files as columns (spec: Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import empty_table
from explorer.log.state.file_columns import FileColumns
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.schema_walk import render_path
from explorer.scan.live_file_reads import reduce_live_files
from explorer.scan.statistics.column_statistics import (
    StatisticsColumn,
    bound_leaves,
    parsed_leaves,
    read_counted_bounds,
    read_facts,
    statistics_columns,
)
from explorer.table.snapshot import Snapshot

READING = "Reading statistics"

_BOUNDS = ("min.", "max.")


def parsed_statistics(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per live file, in the order of the log, with what its statistics say.

    - `path` as in the log, `num_records` (physical rows)
    - `tight_bounds`: false where the file says that its bounds are wide: then the least and
      greatest values, and nulls other than none and all, need not be those of live rows
    - for each column, by its logical field path ``a.`b c` ``: `min.…` and `max.…`
      as stored (strings may be cut, times are cut to milliseconds; only for types
      that have an order) and `null_count.…`

    `columns` names field paths, as this function writes them; None means every
    column that does not partition the table. What is not recorded, or cannot be
    read, is null. Raises `InvalidArgumentError` for a path that there is not.
    """
    chosen = choose_columns(snapshot, columns)

    def flatten(files: FileColumns) -> pa.Table:
        return flatten_statistics(files, chosen)

    watch = Watch(progress=progress, cancel=cancel)
    pieces = reduce_live_files(snapshot, ["path"], parsed_leaves(chosen), flatten, watch, READING)
    schema = _schema(chosen)
    return pa.concat_tables(pieces) if pieces else pa.Table.from_batches([], schema)


def parsed_bounds(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """The columns `min.…` and `max.…` of `parsed_statistics` alone.

    Paths are not held meanwhile, which takes half of the memory. Raises as that does.
    """
    chosen = [
        column for column in choose_columns(snapshot, columns) if column.bound_type is not None
    ]
    names = [name for name in _schema(chosen).names if name.startswith(_BOUNDS)]
    schema = pa.schema([_schema(chosen).field(name) for name in names])

    def flatten(files: FileColumns) -> pa.Table:
        _, bounds = read_counted_bounds(files, chosen)
        return pa.Table.from_arrays([side for pair in bounds for side in pair], schema=schema)

    if not chosen:
        return empty_table(schema)
    watch = Watch(progress=progress, cancel=cancel)
    pieces = reduce_live_files(snapshot, [], bound_leaves(chosen), flatten, watch, READING)
    return pa.concat_tables(pieces) if pieces else empty_table(schema)


def choose_columns(snapshot: Snapshot, names: Sequence[str] | None) -> list[StatisticsColumn]:
    """The columns of these field paths (all where None), as `parsed_statistics` takes them."""
    known = statistics_columns(snapshot)
    if names is None:
        return list(known)
    by_name = {render_path(column.path): column for column in known}
    for name in names:
        if name not in by_name:
            raise InvalidArgumentError(
                f"No statistics can speak of a column {name[:60]!r}.",
                reason="They speak of columns, and of fields reached through structs, "
                "that do not partition the table.",
                remedy=f"Choose from {', '.join(list(by_name)[:20])}.",
            )
    return [by_name[name] for name in dict.fromkeys(names)]


def flatten_statistics(files: FileColumns, columns: Sequence[StatisticsColumn]) -> pa.Table:
    """The rows of `parsed_statistics` for some files, read with `path` and the leaves of
    the columns (`parsed_leaves`)."""
    facts = read_facts(files, columns)
    # as it is: to combine even one chunk would copy it
    arrays = [files.table.column("path"), facts.num_records, pc.invert(facts.is_wide)]
    for column in columns:
        found = facts.columns[column.path]
        if column.bound_type is not None:
            arrays += [found.minimum, found.maximum]
        arrays.append(found.null_count)
    return pa.Table.from_arrays(arrays, schema=_schema(columns))


def _schema(columns: Sequence[StatisticsColumn]) -> pa.Schema:
    fields = [("path", pa.string()), ("num_records", pa.int64()), ("tight_bounds", pa.bool_())]
    for column in columns:
        name = render_path(column.path)
        if (kind := column.bound_type) is not None:
            fields += [(f"min.{name}", kind), (f"max.{name}", kind)]
        fields.append((f"null_count.{name}", pa.int64()))
    return pa.schema(fields)
