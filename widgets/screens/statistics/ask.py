"""What statistics cover, how the ranges of one column lie over the files, and what a
condition leaves to be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import explorer
import explorer.inspect as look
from explorer.log.actions.columns import int32_column, int64_column
from explorer.log.calendar_texts import render_values
from explorer.log.plain_arrays import read_values
from explorer.log.state.statistics_columns import indexed_places
from explorer.pipeline import evaluate_on_partitions
from explorer.progress import Cancel, ProgressCallback, Watch
from explorer.protocol.values.calendar_days import LAST_US, LEAST_US
from explorer.protocol.values.utc_times import render_value_times
from explorer.scan.plan import kept_by_partitions
from explorer.scan.sql.conditions import parse_scan_predicate
from explorer.scan.statistics.column_statistics import statistics_columns
from explorer.scan.statistics.live_files import parsed_bounds
from explorer.table.snapshot import Snapshot
from widgets.session.tables import TableService
from widgets.text import format_many

BINS = 60
"""Parts of a column's range: as many bars as a card of the page shows apart."""

CUT_LENGTH = 32
"""Characters that writers keep of a string's bounds by default."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangePart:
    """One part of a column's range, and how many files may hold a value of it."""

    first: str
    last: str
    num_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRanges:
    """How the ranges of one column lie over the files of a version.

    `parts` divide its whole range, evenly by value; those of text evenly by the bounds
    that there are. `unbounded` files have no range: they may hold any value, and count in
    every part. `mean_files` is how many files may hold one value, on average over the
    range. `cut` is how many files have a bound of text as long as writers cut it, None for
    other types.
    """

    num_files: int
    unbounded: int
    parts: tuple[RangePart, ...]
    mean_files: float | None
    cut: int | None


def read_coverage(
    service: TableService, version: int, watch: Watch, tell: Callable[[str], None]
) -> look.StatisticsReport:
    """A row per column, see `explorer.inspect.column_statistics`; `tell` hears before what the
    table asks of its writers."""
    snapshot = service.snapshot(version, watch)
    tell(_asked_of_writers(snapshot))
    return look.column_statistics(snapshot, progress=watch.progress, cancel=watch.cancel)


def _asked_of_writers(snapshot: Snapshot) -> str:
    """For how many columns the properties want statistics, and of how many files."""
    every, files = len(statistics_columns(snapshot)), snapshot.num_files
    wanted = len(indexed_places(snapshot.metadata))
    return (
        f"The table asks its writers for statistics of {wanted:,} of its {every:,} "
        f"{'column' if every == 1 else 'columns'}; what {format_many(files, 'file')} "
        f"{'has' if files == 1 else 'have'} is being read."
    )


def plan_scan(
    service: TableService, version: int, where: str, watch: Watch, tell: Callable[[str], None]
) -> explorer.ScanPlan:
    """Which files a query with this condition has to read; raises `InvalidArgumentError`
    for a condition that cannot be understood. `tell` hears what partition values alone leave,
    before statistics are read."""
    snapshot = service.snapshot(version, watch)
    predicate = parse_scan_predicate(where, snapshot.schema)
    hooks: _Hooks = {"progress": watch.progress, "cancel": watch.cancel}
    left, files = kept_by_partitions(snapshot, predicate, **hooks), snapshot.num_files
    if left is None:
        tell(
            f"No partition rules a file out; the statistics of {format_many(files, 'file')} "
            "are being asked."
        )
    else:
        tell(
            f"Partition values leave {left:,} of {format_many(files, 'file')}; "
            "statistics may rule out more."
        )
    plan = explorer.plan_scan(snapshot, predicate, evaluate=evaluate_on_partitions, **hooks)
    _ = plan.num_reference_skips  # worked out here, where it keeps nobody waiting
    return plan


class _Hooks(TypedDict):
    progress: ProgressCallback | None
    cancel: Cancel | None


def read_ranges(service: TableService, version: int, column: str, watch: Watch) -> ColumnRanges:
    """The ranges of one column, by its path; raises `InvalidArgumentError` where there is
    none that statistics may speak of."""
    snapshot = service.snapshot(version, watch)
    bounds = parsed_bounds(snapshot, [column], progress=watch.progress, cancel=watch.cancel)
    if not bounds.num_columns:
        return _without_ranges(snapshot.num_files)
    return measure_ranges(*bounds.columns)


def measure_ranges(least: pa.ChunkedArray, most: pa.ChunkedArray) -> ColumnRanges:
    """Ranges of files by their bounds, one row a file; a file without one of them has no
    range."""
    num_files = len(least)
    low, high = least, most
    if least.null_count or most.null_count:
        both = pc.and_(least.is_valid(), most.is_valid())
        low, high = least.filter(both), most.filter(both)
    if not len(low):
        return _without_ranges(num_files)
    scale = _text_scale(low, high) if pa.types.is_string(low.type) else _NumberScale(low.type)
    low_at, high_at = scale.places(low), scale.places(high)
    first = min(float(read_values(some).min()) for some in low_at)
    last = max(float(read_values(some).max()) for some in high_at)
    edges = np.linspace(first, last, BINS + 1)
    if scale.is_stepped:
        edges = np.unique(np.round(edges))
    starts, ends = (edges[:-1], edges[1:]) if len(edges) > 1 else (edges, edges)
    unbounded = num_files - len(low)
    points = (starts + ends) / 2
    if scale.is_stepped:
        points = np.floor(points)
    over, at_points = (
        found + unbounded
        for found in _count_over(low_at, high_at, [(starts, ends), (points, points)])
    )
    parts = tuple(
        RangePart(first=scale.label(start), last=scale.label(end), num_files=int(count))
        for start, end, count in zip(starts, ends, over, strict=True)
    )
    return ColumnRanges(
        num_files=num_files,
        unbounded=unbounded,
        parts=parts,
        mean_files=float(at_points.mean()),
        cut=_count_cut(low, high) if pa.types.is_string(low.type) else None,
    )


def _count_over(
    low: Sequence[pa.Array], high: Sequence[pa.Array], parts: Sequence[tuple[Floats, Floats]]
) -> list[npt.NDArray[np.int64]]:
    """How many files reach into each part, of several divisions by starts and ends."""
    counts = [np.zeros(len(starts), np.int64) for starts, _ in parts]
    # one for all chunks: new memory takes longer than sorting what is in it
    room = np.empty(max(map(len, [*low, *high])), np.float64)
    # a file reaches into a part unless it begins behind it or ends before it; a chunk at a time,
    # because what a processor's cache holds is sorted sooner
    for places in low:
        held = _in_order(places, room)
        for at, (_, ends) in enumerate(parts):
            counts[at] += np.searchsorted(held, ends, side="right")
    for places in high:
        held = _in_order(places, room)
        for at, (starts, _) in enumerate(parts):
            counts[at] -= np.searchsorted(held, starts, side="left")
    return counts


def _in_order(places: pa.Array, room: Floats) -> Floats:
    found = room[: len(places)]
    found[:] = read_values(places)
    found.sort()
    return found


class _NumberScale:
    """Numbers, dates and times at their own place."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self.is_stepped = pa.types.is_integer(kind) or pa.types.is_date(kind)

    def places(self, values: pa.ChunkedArray) -> list[pa.Array]:
        """Where values lie, as numbers."""
        if pa.types.is_timestamp(self._kind):
            values = values.cast(pa.int64())
        elif pa.types.is_date(self._kind):
            values = values.cast(pa.int32())
        elif pa.types.is_boolean(self._kind):
            values = values.cast(pa.uint8())
        elif pa.types.is_decimal(self._kind):
            values = values.cast(pa.float64())
        return [chunk for chunk in values.chunks if len(chunk)]

    def label(self, place: float) -> str:
        """A place as a person reads it."""
        if pa.types.is_timestamp(self._kind):
            # as a float the last time may be one that there is not
            number = min(max(round(place), LEAST_US), LAST_US)
            return _in_calendar(int64_column([number]), self._kind)
        if pa.types.is_date(self._kind):
            return _in_calendar(int32_column([round(place)]), self._kind)
        return f"{round(place):,}" if self.is_stepped else f"{place:,.6g}"


class _TextScale:
    """Text at the place that it has among all bounds."""

    is_stepped = True

    def __init__(self, known: pa.Array) -> None:
        self._known = known

    def places(self, values: pa.ChunkedArray) -> list[pa.Array]:
        """Where values lie, as numbers."""
        found = pc.index_in(values, value_set=self._known)
        return [chunk for chunk in found.chunks if len(chunk)]

    def label(self, place: float) -> str:
        """A place as a person reads it."""
        return str(self._known[round(place)].as_py())


def _text_scale(low: pa.ChunkedArray, high: pa.ChunkedArray) -> _TextScale:
    known = pc.unique(pa.chunked_array([*low.chunks, *high.chunks]))
    return _TextScale(known.take(pc.array_sort_indices(known)))


def _in_calendar(value: pa.Array, kind: pa.DataType) -> str:
    """A date or time, in every year."""
    (text,) = render_value_times(render_values(value.cast(kind)).to_pylist())
    return str(text)


def _count_cut(low: pa.ChunkedArray, high: pa.ChunkedArray) -> int:
    lengths = (pc.utf8_length(side) for side in (low, high))
    limit = pa.scalar(CUT_LENGTH, pa.int32())
    long_ones = pc.or_(*(pc.greater_equal(length, limit) for length in lengths))
    return int(pc.sum(long_ones).as_py() or 0)


def _without_ranges(num_files: int) -> ColumnRanges:
    return ColumnRanges(
        num_files=num_files, unbounded=num_files, parts=(), mean_files=None, cut=None
    )
