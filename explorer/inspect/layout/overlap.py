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
from explorer.inspect.layout.sizes import partition_numbers
from explorer.log.actions.columns import bool_column, empty_table, int64_column, string_column
from explorer.log.plain_arrays import Numbers
from explorer.log.state.file_columns import FileColumns
from explorer.log.text_bytes import offsets_of
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.features.clustering import CLUSTERING_DOMAIN, clustering_columns
from explorer.protocol.features.column_mapping import column_mapping_mode, logical_path
from explorer.protocol.schema_walk import render_path
from explorer.scan.live_file_reads import read_live_files, reduce_live_files
from explorer.scan.statistics.column_statistics import parsed_leaves, statistics_columns
from explorer.scan.statistics.live_files import READING, choose_columns, flatten_statistics
from explorer.storage.concurrent_reads import run_concurrently
from explorer.table.snapshot import Snapshot


def _double_column(values: Sequence[float | None]) -> pa.Array:
    known = np.asarray([0.0 if value is None else value for value in values], np.float64)
    return pa.array(known, mask=np.asarray([value is None for value in values], np.bool_))


COLUMNS: dict[str, Column] = {
    "column": (string_column, pa.string()),
    "is_clustering": (bool_column, pa.bool_()),
    "num_files": (int64_column, pa.int64()),
    "files_without_bounds": (int64_column, pa.int64()),
    "mean_depth": (_double_column, pa.float64()),
    "mean_partition_files": (_double_column, pa.float64()),
    "max_depth": (int64_column, pa.int64()),
    "files_alone": (int64_column, pa.int64()),
}
_MOST: Final = 2**62
"""What still fits into a number, twice and with one more."""
_AT_ONCE: Final = 2
"""Columns that are looked at side by side: sorting releases Python's lock."""
_SHORT: Final = 7
"""Bytes that are a number above zero."""
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
    clustered = _clustered(snapshot)
    names = list(columns) if columns is not None else clustered or _first(snapshot)
    if not names:
        return build_frame(COLUMNS, [])
    numbers = _partitions(snapshot, watch)
    facts = _bounds(snapshot, names, watch)

    def look(name: str) -> Depths:
        return depths_of(facts, name, numbers)

    rows = []
    for done, (name, found) in enumerate(
        zip(names, run_concurrently(look, names, _AT_ONCE), strict=True)
    ):
        rows.append((name, name in clustered, *astuple(found)))
        watch.step(done + 1, len(names), "Comparing bounds")
    return build_frame(COLUMNS, rows)


def _partitions(snapshot: Snapshot, watch: Watch) -> Numbers:
    """A number for the partition of each file."""
    partitioned = list(snapshot.metadata.partition_columns)
    if not partitioned:
        return np.zeros(snapshot.num_files, np.int64)
    values = read_live_files(snapshot, ["partition_values"], watch, "Reading partitions")
    return partition_numbers(values, partitioned)[0]


def _bounds(snapshot: Snapshot, names: Sequence[str], watch: Watch) -> pa.Table:
    """What `parsed_statistics` says of the bounds of some columns, a row for each file."""
    chosen = choose_columns(snapshot, names)
    kept = ["num_records"]
    for column in chosen:
        if column.bound_type is not None:
            kept += [f"{side}.{render_path(column.path)}" for side in ("min", "max")]

    def read(files: FileColumns) -> pa.Table:
        return flatten_statistics(files, chosen).select(kept)

    pieces = reduce_live_files(snapshot, ["path"], parsed_leaves(chosen), read, watch, READING)
    return pa.concat_tables(pieces) if pieces else empty_table(pa.schema([]))


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
    mask = known.to_numpy(zero_copy_only=False).astype(np.bool_) if count else np.zeros(0, "?")
    bounded = int(mask.sum())
    if not bounded:
        return Depths(num_files=count, files_without_bounds=count)
    sizes = np.bincount(partitions[mask])
    numbers = _in_order([lows.filter(known), highs.filter(known)], int(partitions.max()) + 1)
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


def _in_order(sides: list[pa.ChunkedArray], partitions: int) -> Numbers:
    """Both bounds of all files as numbers in their order, none of them negative, and small
    enough to tell `partitions` apart."""
    joined = pa.concat_arrays([chunk for side in sides for chunk in side.chunks])
    if pa.types.is_boolean(joined.type):
        joined = joined.cast(pa.uint8())
    if pa.types.is_integer(joined.type) or pa.types.is_temporal(joined.type):
        wide = joined.cast(pa.int32()) if pa.types.is_date32(joined.type) else joined
        return _few_enough(wide.cast(pa.int64()).to_numpy(), partitions)
    if pa.types.is_string(joined.type) and (short := _short_texts(joined)) is not None:
        return _few_enough(short, partitions)
    found: Numbers = pc.rank(joined, sort_keys="ascending", tiebreaker="dense").to_numpy()
    return found.astype(np.int64)


def _few_enough(values: Numbers, partitions: int) -> Numbers:
    least, most = int(values.min()), int(values.max())
    if (most - least + 1) * partitions < _MOST:
        return values - least
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _short_texts(texts: pa.Array) -> Numbers | None:
    """Texts as numbers in the same order, where there are but a few bytes behind what is common
    to all of them; else None. A text of a byte 0 would be as one without it."""
    ends = pc.min_max(texts)
    least, most = (str(ends[side]).encode() for side in ("min", "max"))
    pairs = enumerate(zip(least, most, strict=False))
    # and of all those between them
    common = next((at for at, (one, other) in pairs if one != other), min(len(least), len(most)))
    offsets = offsets_of(texts)
    lengths = np.diff(offsets) - common
    size = int(lengths.max())
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8, int(offsets[-1]))
    if size > _SHORT or not (data.all() and size):
        return None
    padded = np.append(data, np.zeros(8, np.uint8))
    # eight bytes from each place on as a number, the first of them the most significant
    words = np.ndarray((len(padded) - 7,), ">u8", padded.data, 0, (1,))
    found = (words[offsets[:-1] + common] >> np.uint64(8)).astype(np.int64)
    # without the bytes that belong to the next text
    unused = 8 * (_SHORT - lengths.astype(np.int64))
    shortened: Numbers = (found >> unused << unused) >> (8 * (_SHORT - size))
    return shortened


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
