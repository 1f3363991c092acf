"""How far time travel and the change data feed go, by the files that they need.

No I/O: what commits did to files, and which files are there, in; versions out. A version
needs every file that was live in it. The change feed of a version needs its change files,
or without any the files that it added and removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import ADD, CHANGE, FileEvents
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import TRUE, ZERO, Flags, Numbers, in_one_piece, read_values

FOREVER: Final = np.iinfo(np.int64).max
"""A time that never comes, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One flag for each version from `first` on: whether it can be read, and whether its
    changes can."""

    first: int
    readable: Flags
    changes: Flags

    @property
    def readable_from(self) -> int | None:
        """The oldest version from which on every one can be read; None without any."""
        broken = np.flatnonzero(~self.readable)
        oldest = int(broken[-1]) + 1 if len(broken) else 0
        return None if oldest == len(self.readable) else oldest + self.first

    def losses_to(self, other: Reach) -> tuple[list[range], list[range]]:
        """Versions, and versions of the change feed, that can be read here and not in `other`."""
        return (
            version_ranges(self.readable & ~other.readable, self.first),
            version_ranges(self.changes & ~other.changes, self.first),
        )


def build_reach(events: FileEvents, missing: Flags) -> Reach:
    """The reach of a log where `missing` says, for each event, that a file of it is gone."""
    count = events.last - events.first + 1
    versions = read_values(events.table.column("version")) - events.first
    kinds = read_values(events.table.column("kind"))
    gone = _versions_in_need(events, missing & (kinds != CHANGE), versions, kinds, count)
    with_files = np.zeros(count, np.bool_)
    with_files[versions[kinds == CHANGE]] = True
    speaks = (kinds == CHANGE) | ~with_files[versions]
    moved = _moves_rows(events) | (kinds == CHANGE)
    lost = np.zeros(count, np.bool_)
    lost[versions[missing & speaks & moved]] = True
    if not events.has_first_commit:
        lost[0] = True  # what a checkpoint stands for are not changes
    return Reach(first=events.first, readable=~gone, changes=~lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """For each version from the first of the events on, when the first of the files that it
    needs left the table for good, and when the first of those that hold its changes did; in
    milliseconds, `FOREVER` where none did. `has_change_files` says whose changes are in files
    of their own, which are none of these."""

    files: Numbers
    changes: Numbers
    has_change_files: Flags


def build_ends(events: FileEvents) -> Ends:
    """When vacuum may begin to count. A file left for good where no logical file that it
    belongs to is live, with the last of their removals: a data file stays while its vectors
    change, and one that was restored has come back. A removal that does not say when counts
    as at the beginning of time."""
    count = events.last - events.first + 1
    versions = read_values(events.table.column("version")) - events.first
    kinds = read_values(events.table.column("kind"))
    left = _left_for_good(events, kinds)
    with_files = np.zeros(count, np.bool_)
    with_files[versions[kinds == CHANGE]] = True
    speaks = _moves_rows(events) & (kinds != CHANGE) & (left < FOREVER)
    changes = np.full(count, FOREVER, np.int64)
    np.minimum.at(changes, versions[speaks], left[speaks])
    needed = _Spans.of(events, (left < FOREVER) & (kinds != CHANGE), versions, kinds, count)
    return Ends(
        files=_least_within(needed, left[needed.rows], count),
        changes=changes,
        has_change_files=with_files,
    )


def _moves_rows(events: FileEvents) -> Flags:
    """Which events changed rows of the table, as they say; those of a checkpoint changed none."""
    found = events.table.column("data_change").fill_null(TRUE)
    moved: Flags = read_values(found) & (np.arange(events.table.num_rows) >= events.num_base)
    return moved


def _left_for_good(events: FileEvents, kinds: npt.NDArray[np.int8]) -> Numbers:
    """For each event, when the data file or the vector's file of it left the table, whichever
    was first; those outside of the table's root stay, because no vacuum deletes there."""
    names = [part for part in events.files if part is not None]
    joined = pa.chunked_array([chunk for part in names for chunk in part.chunks], pa.string())
    encoded = in_one_piece(joined).dictionary_encode()
    codes = read_values(encoded.indices.fill_null(-1)).astype(np.int64)
    codes = codes.reshape(len(names), events.table.num_rows)
    rows = events.newest_rows
    times = read_values(events.table.column("time").fill_null(ZERO))[rows]
    at = np.where(kinds[rows] == ADD, FOREVER, times)
    ends = np.full(len(encoded.dictionary) + 1, np.iinfo(np.int64).min, np.int64)
    for each in codes:
        np.maximum.at(ends, each[rows], at)
    ends[-1] = FOREVER  # no name
    found: Numbers = ends[codes].min(axis=0)
    return found


def _least_within(spans: _Spans, values: Numbers, count: int) -> Numbers:
    """For each version the least of the values whose spans it is in."""
    levels = max(count.bit_length(), 1)
    found = np.full((levels, count), FOREVER, np.int64)
    lengths = spans.ends - spans.starts
    level = np.zeros(len(lengths), np.int64)
    for step in range(1, levels):
        level[lengths >= 1 << step] = step
    for start in (spans.starts, spans.ends - (1 << level)):
        np.minimum.at(found, (level, start), values)
    # each half of a span is one of the level below
    for step in range(levels - 1, 0, -1):
        half = 1 << (step - 1)
        below = found[step - 1]
        np.minimum(below, found[step], out=below)
        np.minimum(below[half:], found[step][: count - half], out=below[half:])
    least: Numbers = found[0]
    return least


def events_of_files(events: FileEvents, files: pa.Array | pa.ChunkedArray) -> Flags:
    """For each event, whether its data file or its deletion vector is among `files` (paths
    below the table's root, as a listing has them)."""
    paths, vectors = events.files
    if not len(files):
        return np.zeros(events.table.num_rows, np.bool_)
    touched: Flags = read_values(pc.is_in(paths, value_set=files))
    if vectors is not None:
        touched = touched | read_values(pc.is_in(vectors, value_set=files))
    return touched


def lacking_files(events: FileEvents, present: pa.ChunkedArray) -> tuple[Flags, Flags]:
    """For each event, whether its data file is not `present`, and whether its deletion vector
    is not; files outside of the table's root count as present, because nobody looked."""
    paths, vectors = events.files
    there = present if present.num_chunks else pa.chunked_array([string_column([])], pa.string())
    without = np.zeros(events.table.num_rows, np.bool_)
    return _lacking(paths, there), without if vectors is None else _lacking(vectors, there)


def version_ranges(flags: Flags, first: int) -> list[range]:
    """The runs of set flags as versions, the first flag being that of `first`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [
        range(int(start) + first, int(end) + first)
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]


def _lacking(names: pa.ChunkedArray, present: pa.ChunkedArray) -> Flags:
    there: Flags = read_values(pc.is_in(names, value_set=present))
    known: Flags = read_values(names.is_valid())
    return known & ~there


def _versions_in_need(
    events: FileEvents,
    missing: Flags,
    versions: Numbers,
    kinds: npt.NDArray[np.int8],
    count: int,
) -> Flags:
    """Versions in which a logical file without its bytes was live."""
    spans = _Spans.of(events, missing, versions, kinds, count)
    change: npt.NDArray[Any] = np.zeros(count + 1, np.int64)
    np.add.at(change, spans.starts, 1)
    np.add.at(change, spans.ends, -1)
    needy: Flags = np.cumsum(change[:-1]) > 0
    return needy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spans:
    """In which versions logical files were live: from each add of one, the event at one of
    `rows`, up to the next action on it."""

    rows: Numbers
    starts: Numbers
    ends: Numbers

    @classmethod
    def of(
        cls,
        events: FileEvents,
        chosen: Flags,
        versions: npt.NDArray[np.int64],
        kinds: npt.NDArray[np.int8],
        count: int,
    ) -> _Spans:
        """Those of the `chosen` events, all of a logical file or none."""
        at = np.flatnonzero(chosen)
        codes = events.file_codes[at] if len(at) else at
        order = np.lexsort((at, codes))
        at, codes = at[order], codes[order]
        until = np.full(len(at), count, np.int64)
        same = codes[1:] == codes[:-1]
        until[:-1][same] = versions[at[1:]][same]
        # of an add and a removal in one commit nothing is left
        is_span = (kinds[at] == ADD) & (until > versions[at])
        rows = at[is_span]
        return cls(rows=rows, starts=versions[rows], ends=until[is_span])
