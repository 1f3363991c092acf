"""How well rows are clustered: how many files may hold one value (spec: Clustered Table,
Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.frames import Column, build_frame
from explorer.inspect.layout_sizes import partition_numbers
from explorer.log.columns import bool_column, int64_column, string_column
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.clustering import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    logical_path,
)
from explorer.protocol.features.column_mapping import column_mapping_mode
from explorer.protocol.schema_walk import render_path
from explorer.scan.column_statistics import statistics_columns
from explorer.scan.statistics import parsed_statistics
from explorer.scan.watched import watched_files
from explorer.table.snapshot import Snapshot

Numbers = npt.NDArray[np.int64]


def _double_column(values: Sequence[float | None]) -> pa.Array:
    known = np.asarray([0.0 if value is None else value for value in values], np.float64)
    return pa.array(known, mask=np.asarray([value is None for value in values], np.bool_))


COLUMNS: dict[str, Column] = {
    "column": (string_column, pa.string()),
    "is_clustering": (bool_column, pa.bool_()),
    "num_files": (int64_column, pa.int64()),
    "files_without_bounds": (int64_column, pa.int64()),
    "mean_depth": (_double_column, pa.float64()),
    "max_depth": (int64_column, pa.int64()),
    "files_alone": (int64_column, pa.int64()),
}
FEW: Final = 4
"""Columns that are looked at where neither the caller nor the table names any."""


def clustering_depth(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    *,
    progress: ProgressCallback | None = None,
    cancel: Cancel | None = None,
) -> pa.Table:
    """One row per column: how many files a search for one value has to read.

    - `mean_depth`: the mean number of files of one partition whose bounds hold a value, over
      the bounds of all files: 1 where files do not overlap, as many as there are where rows
      lie anywhere; `max_depth` the most. Null where no file has bounds
    - `files_alone`: files whose range overlaps no other; `files_without_bounds` are not
      counted, and every search reads them

    `columns` are field paths as `column_statistics` has them; None means those that the table
    is clustered by, else the first few that have an order. Raises `InvalidArgumentError` for
    unknown ones.
    """
    watch = Watch(progress=progress, cancel=cancel)
    clustered = _clustered(snapshot)
    names = list(columns) if columns is not None else clustered or _first(snapshot)
    partitioned = list(snapshot.metadata.partition_columns)
    numbers = np.zeros(snapshot.num_files, np.int64)
    if partitioned and names:
        values = watched_files(snapshot, ["partition_values"], watch, "Reading partitions")
        numbers, _ = partition_numbers(values, partitioned)
    if not names:
        return build_frame(COLUMNS, [])
    facts = parsed_statistics(snapshot, names, progress=progress, cancel=cancel)
    rows = []
    for done, name in enumerate(names):
        watch.step(done, len(names), "Comparing bounds")
        rows.append((name, name in clustered, *depths_of(facts, name, numbers)))
    return build_frame(COLUMNS, rows)


def depths_of(
    facts: pa.Table, name: str, partitions: Numbers
) -> tuple[int, int, float | None, int | None, int]:
    """Files, those without bounds, mean and greatest depth, and files that overlap none."""
    count = facts.num_rows
    if f"min.{name}" not in facts.column_names:
        return count, count, None, None, 0
    lows, highs = facts.column(f"min.{name}"), facts.column(f"max.{name}")
    known = pc.and_(lows.is_valid(), highs.is_valid())
    mask = known.to_numpy(zero_copy_only=False).astype(np.bool_) if count else np.zeros(0, "?")
    bounded = int(mask.sum())
    if not bounded:
        return count, count, None, None, 0
    ranks = _ranks([lows.filter(known), highs.filter(known)])
    # of one partition alone: whatever lies in others is found without bounds
    start = partitions[mask] * (int(ranks.max()) + 1)
    low, high = start + ranks[:bounded], start + ranks[bounded:]
    low, high = np.minimum(low, high), np.maximum(low, high)
    order = np.argsort(low, kind="stable")  # what is looked up in order is found fast
    low, high = low[order], high[order]
    upper = np.sort(high)
    points = np.sort(np.concatenate([low, high]))
    depths = np.searchsorted(low, points, "right") - np.searchsorted(upper, points, "left")
    # what begins up to its end, less what has ended before its beginning: itself and others
    overlapping = np.searchsorted(low, high, "right") - np.searchsorted(upper, low, "left")
    return (
        count,
        count - bounded,
        float(depths.mean()),
        int(depths.max()),
        int((overlapping == 1).sum()),
    )


def _ranks(sides: list[pa.ChunkedArray]) -> Numbers:
    """Both bounds of all files as numbers in their order."""
    joined = pa.concat_arrays([chunk for side in sides for chunk in side.chunks])
    if pa.types.is_boolean(joined.type):
        joined = joined.cast(pa.uint8())
    if pa.types.is_integer(joined.type) or pa.types.is_temporal(joined.type):
        wide = joined.cast(pa.int32()) if pa.types.is_date32(joined.type) else joined
        plain = wide.cast(pa.int64()).to_numpy()
        return np.unique(plain, return_inverse=True)[1].astype(np.int64)
    found: Numbers = pc.rank(joined, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return found.astype(np.int64)


def _clustered(snapshot: Snapshot) -> list[str]:
    """The columns that the table is clustered by, as logical field paths."""
    domain = snapshot.domains.get(CLUSTERING_DOMAIN)
    paths = None if domain is None else clustering_columns(domain.configuration)
    mode = column_mapping_mode(snapshot.protocol, snapshot.metadata.configuration)
    named = [logical_path(path, snapshot.schema, mode) for path in paths or ()]
    known = {render_path(column.path) for column in statistics_columns(snapshot)}
    return [name for name in named if name is not None and name in known]


def _first(snapshot: Snapshot) -> list[str]:
    ordered = (column for column in statistics_columns(snapshot) if column.bound_type is not None)
    return [render_path(column.path) for column in ordered][:FEW]
