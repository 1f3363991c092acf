"""How well rows are clustered: how many files may hold one value (spec: Clustered Table,
Per-file Statistics)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.inspect.frames import Column, build_frame
from explorer.inspect.layout._bound_order import numbers_in_order
from explorer.inspect.layout._layout_files import LayoutFiles, read_bounds_of_files
from explorer.log.actions.columns import bool_column, float64_column, int64_column, string_column
from explorer.log.plain_arrays import Numbers, read_flags
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import column_mapping_mode, logical_path
from explorer.protocol.schema_walk import render_path
from explorer.scan.statistics.column_statistics import statistics_columns
from explorer.scan.statistics.live_files import choose_columns
from explorer.storage.concurrent_reads import run_concurrently
from explorer.table.snapshot import Snapshot

COLUMNS: dict[str, Column] = {
    "column": (string_column, pa.string()),
    "is_clustering": (bool_column, pa.bool_()),
    "num_files": (int64_column, pa.int64()),
    "files_without_bounds": (int64_column, pa.int64()),
    "mean_depth": (float64_column, pa.float64()),
    "mean_partition_files": (float64_column, pa.float64()),
    "max_depth": (int64_column, pa.int64()),
    "files_alone": (int64_column, pa.int64()),
}
_AT_ONCE: Final = 2
"""Columns that are looked at side by side: sorting releases Python's lock."""
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
      the bounds of all files: 1 where files do not overlap, `mean_partition_files` where all
      files of each partition overlap; `max_depth` the most. Null where no file has bounds
    - `mean_partition_files`: the mean number of files with bounds in the partition of such a
      file, over all of them
    - `files_alone`: files whose range overlaps no other; `files_without_bounds` are not
      counted, and every search reads them

    `columns` are field paths as `column_statistics` has them; None means those that the table
    is clustered by, else the first few that have an order. Raises `InvalidArgumentError` for
    unknown ones.
    """
    watch = Watch(progress=progress, cancel=cancel)
    names = columns_to_compare(snapshot, columns)
    if not names:
        return build_frame(COLUMNS, [])
    files = read_bounds_of_files(snapshot, watch, choose_columns(snapshot, names))
    return depths_of_columns(snapshot, files, names, watch)


def depths_of_columns(
    snapshot: Snapshot, files: LayoutFiles, names: Sequence[str], watch: Watch
) -> pa.Table:
    """What `clustering_depth` says of columns whose bounds were read with the files."""
    clustered = _clustered(snapshot)

    def look(name: str) -> Depths:
        return depths_of(files.table, name, files.numbers)

    rows = []
    for done, (name, found) in enumerate(
        zip(names, run_concurrently(look, names, _AT_ONCE), strict=True)
    ):
        rows.append((name, name in clustered, *astuple(found)))
        watch.step(done + 1, len(names), "Comparing bounds")
    return build_frame(COLUMNS, rows)


def columns_to_compare(snapshot: Snapshot, columns: Sequence[str] | None) -> list[str]:
    """The columns of `clustering_depth`."""
    return list(columns) if columns is not None else _clustered(snapshot) or _first(snapshot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Depths:
    """What `clustering_depth` says of one column, in its order."""

    num_files: int
    files_without_bounds: int
    mean_depth: float | None = None
    mean_partition_files: float | None = None
    max_depth: int | None = None
    files_alone: int = 0


def depths_of(facts: pa.Table, name: str, partitions: Numbers) -> Depths:
    """How far the ranges of one column overlap; `partitions` has a number for each file."""
    count = facts.num_rows
    if f"min.{name}" not in facts.column_names:
        return Depths(num_files=count, files_without_bounds=count)
    lows, highs = facts.column(f"min.{name}"), facts.column(f"max.{name}")
    known = pc.and_(lows.is_valid(), highs.is_valid())
    mask = read_flags(known)
    bounded = int(mask.sum())
    if not bounded:
        return Depths(num_files=count, files_without_bounds=count)
    sizes = np.bincount(partitions[mask])
    numbers = numbers_in_order([lows.filter(known), highs.filter(known)], int(partitions.max()) + 1)
    # of one partition alone: whatever lies in others is found without bounds
    start = partitions[mask] * (int(numbers.max()) + 1)
    numbers[:bounded] += start
    numbers[bounded:] += start
    mean, most, alone = _depths(_events(numbers[:bounded], numbers[bounded:]))
    return Depths(
        num_files=count,
        files_without_bounds=count - bounded,
        mean_depth=mean,
        mean_partition_files=float((sizes * sizes).sum()) / bounded,
        max_depth=most,
        files_alone=alone,
    )


def _events(one: Numbers, other: Numbers) -> Numbers:
    """The bounds of all ranges in their order: twice their place, and one more where a range
    ends. At one place ranges begin before others end."""
    events = np.concatenate([np.minimum(one, other), np.maximum(one, other)])
    events *= 2
    events[len(one) :] += 1
    events.sort()
    return events


def _depths(events: Numbers) -> tuple[float, int, int]:
    """The mean and the greatest depth over all bounds, and ranges that overlap no other."""
    count = len(events)
    is_end = (events & 1).astype(np.bool_)
    events >>= 1
    firsts = np.flatnonzero(np.append(True, events[1:] != events[:-1])).astype(np.int32)
    ends = np.append(firsts[1:], np.int32(count))
    begun = np.cumsum(~is_end, dtype=np.int32)
    # at a place lie those that begin there or before, without those that ended before it:
    # of as many as came before it, those that had not begun
    depths = begun[ends - 1] - (firsts - begun[firsts] + ~is_end[firsts])
    # one that begins alone, and where nothing but its own end comes next
    lonely = firsts[(depths == 1) & ~is_end[firsts]]
    total = int((depths.astype(np.int64) * (ends - firsts)).sum())
    return total / count, int(depths.max()), int(is_end[lonely + 1].sum())


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
