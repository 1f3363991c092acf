"""How far time travel and the change data feed go, by the files that they need.

No I/O: what commits did to files, and which files are there, in; versions out. A version
needs every file that was live in it. The change feed of a version needs its change files,
or without any the files that it added and removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import ADD, CHANGE, FileEvents
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import TRUE, Flags, Numbers, read_values


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
    moved = read_values(events.table.column("data_change").fill_null(TRUE))
    moved = moved | (kinds == CHANGE)
    lost = np.zeros(count, np.bool_)
    lost[versions[missing & speaks & moved]] = True
    if events.first:
        lost[0] = True  # what a checkpoint stands for are no changes
    return Reach(first=events.first, readable=~gone, changes=~lost)


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
    """Versions in which a logical file without its bytes was live: from each add of one up
    to the next action on it."""
    at = np.flatnonzero(missing)
    if not len(at):
        return np.zeros(count, np.bool_)
    codes = events.file_codes[at]
    order = np.lexsort((at, codes))
    at, codes = at[order], codes[order]
    until = np.full(len(at), count, np.int64)
    same = codes[1:] == codes[:-1]
    until[:-1][same] = versions[at[1:]][same]
    added = kinds[at] == ADD
    change: npt.NDArray[Any] = np.zeros(count + 1, np.int64)
    np.add.at(change, versions[at][added], 1)
    np.add.at(change, until[added], -1)
    needy: Flags = np.cumsum(change[:-1]) > 0
    return needy
