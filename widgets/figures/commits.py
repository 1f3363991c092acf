"""Commits as columns that a figure can draw, and their aggregation.

A hundred thousand commits are never a hundred thousand glyphs: amounts are those of
slices of the axis, and which commits have a mark of their own stands in `cells`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Flags, read_flags
from widgets.theme import LANES, lane_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Axis = Literal["time", "version"]
Measure = Literal["bytes", "rows", "files"]
MEASURES: tuple[Measure, ...] = ("bytes", "rows", "files")

SLICES = 160
"""Slices of the axis for what was added and removed: one every six pixels."""

SPREAD_MS = 1000.0
"""The files of a copied table are all as old as the copy: within a second, an axis
of time shows nothing, and versions are taken instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """The commits of a timeline frame, oldest first.

    Unknown numbers are NaN. `time` is in milliseconds since the epoch; `lane`
    indexes `LANES`; `frame` is the frame itself in the same order. Where rows have been
    counted since, see `with_removed`, `uncounted` is the frame as it was without them.
    """

    frame: pa.Table
    version: Ints
    time: Floats
    lane: npt.NDArray[np.int8]
    touched: Floats
    checkpoint: Flags
    problem: Flags
    axis: Axis
    uncounted: pa.Table | None = None

    @property
    def recorded(self) -> pa.Table:
        """The frame with what the commits themselves say, in the same order: it is the same
        whichever of them have been looked at."""
        return self.frame if self.uncounted is None else self.uncounted

    @property
    def x(self) -> Floats:
        """Where each commit stands on the axis."""
        return self.time if self.axis == "time" else self.version.astype(np.float64)

    def bounds(self) -> tuple[float, float]:
        """The first and last place on the axis, a little apart even for one commit."""
        x = self.x[~np.isnan(self.x)]
        if not len(x):
            return (0.0, 1.0)
        low, high = float(x.min()), float(x.max())
        pad = max((high - low) * 0.02, 0.5 if self.axis == "version" else 1000.0)
        return (low - pad, high + pad)

    @property
    def last(self) -> float:
        """The place of the last commit on the axis; 0 where none has one."""
        x = self.x[~np.isnan(self.x)]
        return float(x.max()) if len(x) else 0.0

    def changes(self, measure: Measure) -> tuple[Floats, Floats]:
        """What each commit added and removed."""
        return _changes(self.frame, measure)

    def with_removed(self, rows: Mapping[int, int]) -> Commits:
        """The same with rows that commits removed, by version, where they do not say it: to be
        shown, while what they `recorded` stays."""
        found = {self.position(version): count for version, count in rows.items()}
        column = self.frame["rows_removed"]
        values = np.array(pc.fill_null(column, 0).to_numpy())
        is_null = read_flags(column.is_null())
        for at, count in found.items():
            if at is not None and is_null[at]:
                values[at], is_null[at] = count, False
        filled = pa.array(values, pa.int64(), mask=is_null)
        at = self.frame.schema.get_field_index("rows_removed")
        frame = self.frame.set_column(at, "rows_removed", filled)
        return replace(self, frame=frame, uncounted=self.recorded)

    def position(self, version: int) -> int | None:
        """The row of `version`, or None where it is not read or gone."""
        at = int(np.searchsorted(self.version, version))
        found = at < len(self.version) and int(self.version[at]) == version
        return at if found else None


def read_commits(frame: pa.Table) -> Commits:
    """The drawable columns of a timeline frame, in any order of versions."""
    frame = frame.sort_by("version")
    time = _floats(pc.cast(frame["timestamp"], pa.int64()))
    operations = pc.dictionary_encode(frame["operation"]).combine_chunks()
    if isinstance(operations, pa.ChunkedArray):
        operations = operations.unify_dictionaries().combine_chunks()
    families = np.array(
        [*(LANES.index(lane_of(name)) for name in operations.dictionary.to_pylist()),
         LANES.index("UNKNOWN")],
        dtype=np.int8,
    )  # fmt: skip
    codes = pc.fill_null(operations.indices, len(families) - 1).to_numpy(zero_copy_only=False)
    known = time[~np.isnan(time)]
    spread = len(known) == len(time) and len(known) > 0 and float(np.ptp(known)) >= SPREAD_MS
    return Commits(
        frame=frame,
        version=frame["version"].to_numpy().astype(np.int64),
        time=time,
        lane=families[codes],
        touched=_floats(frame["files_added"])
        + _floats(frame["files_removed"])
        + np.nan_to_num(_floats(frame["deletion_vectors_added"])),
        checkpoint=read_flags(frame["is_checkpoint"]),
        problem=read_flags(pc.is_valid(frame["problem"])),
        axis="time" if spread or (len(time) < 2 and len(known)) else "version",
    )


Sorting = Literal["version", "files", "rows", "bytes"]
SORTINGS: tuple[Sorting, ...] = ("version", "files", "rows", "bytes")


def build_order(commits: Commits, by: Sorting, descending: bool) -> Ints:  # noqa: FBT001  # of the table
    """The commits by version, by files or rows added and removed together, or by the change of
    size; of those that are alike, and of those that do not say, the newest first, and the latter
    last. Rows are those that commits `recorded`: were those counted that are in sight, these
    would leave the page for others that are not counted, and so on through the whole log."""
    newest_first: Ints = np.arange(len(commits.version))[::-1]
    if by == "version":
        return newest_first if descending else newest_first[::-1]
    added, removed = _changes(commits.recorded, by)
    amount = (added - removed if by == "bytes" else added + removed)[newest_first]
    keys = np.where(np.isnan(amount), np.inf, -amount if descending else amount)
    return newest_first[np.argsort(keys, kind="stable")]


def build_histogram(commits: Commits, bins: int) -> tuple[Floats, Floats]:
    """Commits per slice of the whole axis: edges (`bins` + 1) and counts (`bins`)."""
    low, high = commits.bounds()
    x = commits.x[~np.isnan(commits.x)]
    counts, edges = np.histogram(x, bins=bins, range=(low, high))
    return edges.astype(np.float64), counts.astype(np.float64)


def build_live(commits: Commits, measure: Measure, latest: int, value: int | None) -> Floats | None:
    """What is live after each commit, in bytes, rows or files, walked back from `value`.

    `value` is that of version `latest`. What is live before a commit that does not say
    what it added and removed is NaN. None where the walk cannot start, or where it
    contradicts itself (a version 0 on nothing must leave nothing): then commits
    add files again without removing them, and nothing may be told from them.
    """
    at = commits.position(latest)
    if value is None or at is None:
        return None
    added, removed = commits.changes(measure)
    change = added - removed
    # A missing version in between breaks the chain just as an unknown size does.
    change[1:][np.diff(commits.version) != 1] = np.nan
    steps = np.cumsum(change[at:0:-1])
    live = np.full(len(commits.version), np.nan)
    live[at] = value
    live[:at] = (value - steps)[::-1]
    begins_empty = int(commits.version[0]) == 0 and not np.isnan(live[0]) and at >= 0
    if begins_empty and not np.isnan(change[0]) and live[0] != change[0]:
        return None
    return None if bool(np.any(live < 0)) else live


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What was added and removed in each slice of the axis: `left` and `right` are its
    ends, `removed` is negative. Slices in which no commit says are left out."""

    left: Floats
    right: Floats
    added: Floats
    removed: Floats


def build_changes(
    commits: Commits, measure: Measure, low: float, high: float, shown: Flags
) -> Changes:
    """The sums of the `shown` commits between `low` and `high`, by slice."""
    x = commits.x
    added, removed = commits.changes(measure)
    known = (x >= low) & (x <= high) & shown & ~(np.isnan(added) & np.isnan(removed))
    width = (high - low) / SLICES
    place = np.clip(((x[known] - low) / width).astype(np.int64), 0, SLICES - 1)
    plus, minus = (
        np.bincount(place, weights=np.nan_to_num(values[known]), minlength=SLICES).astype(
            np.float64
        )
        for values in (added, removed)
    )
    there = np.flatnonzero(np.bincount(place, minlength=SLICES))
    left: Floats = (low + there * width).astype(np.float64)
    return Changes(
        left=left,
        right=np.add(left, width, dtype=np.float64),
        added=plus[there],
        removed=-minus[there],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSums:
    """What the commits after one version up to another did together.

    A sum is None where one of them does not say. `count` of them are read; `missing` are
    not read yet or gone from the log.
    """

    count: int
    missing: int
    operations: tuple[tuple[str, int], ...]
    sums: Mapping[str, int | None]


def build_range_sums(commits: Commits, older: int, newer: int) -> RangeSums:
    """The sums over the versions `older` + 1 to `newer`."""
    inside = (commits.version > older) & (commits.version <= newer)
    count = int(np.count_nonzero(inside))
    missing = newer - older - count
    lanes, counts = np.unique(commits.lane[inside], return_counts=True)
    by_lane = sorted(zip(counts.tolist(), lanes.tolist(), strict=True), reverse=True)
    sums: dict[str, int | None] = {}
    for measure in MEASURES:
        for side, values in zip(("added", "removed"), commits.changes(measure), strict=True):
            total = float(values[inside].sum()) if count and not missing else float("nan")
            sums[f"{measure}_{side}"] = None if np.isnan(total) else int(total)
    return RangeSums(
        count=count,
        missing=missing,
        operations=tuple((LANES[lane], number) for number, lane in by_lane),
        sums=sums,
    )


def thin(x: Floats, y: Floats, limit: int) -> tuple[Floats, Floats]:
    """At most about `limit` points of a step line, the last of each slice kept."""
    known = ~np.isnan(x)
    x, y = x[known], y[known]
    if len(x) <= limit:
        return x, y
    picked = np.unique(np.linspace(0, len(x) - 1, limit).astype(np.int64))
    return x[picked], y[picked]


def _changes(frame: pa.Table, measure: Measure) -> tuple[Floats, Floats]:
    return _floats(frame[f"{measure}_added"]), _floats(frame[f"{measure}_removed"])


def _floats(column: pa.ChunkedArray | pa.Array) -> Floats:
    values = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.array(values, dtype=np.float64)
