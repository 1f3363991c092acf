"""The listing of a table's folder, compared with the names of the kept files.

A million names are looked up once. The difference is nearly always small and answers every
later question about the listing, which therefore need not stay in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.files.events import FileEvents
from explorer.files.listed import ListedFiles
from explorer.files.name_index import NameIndex
from explorer.log.plain_arrays import Flags, Numbers, build_array, read_values


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedListing:
    """`rest` are the listed files that are not among the names `kept`, and `gone` those of
    these names that were not listed."""

    kept: NameIndex
    rest: ListedFiles
    gone: pa.ChunkedArray

    def lacks(self, names: pa.ChunkedArray) -> Flags:
        """Which of these names, null for none, were not listed."""
        unknown = self.kept.positions_of(names) < 0
        known: Flags = read_values(names.is_valid())
        return known & ((unknown & ~_among(names, self.rest.paths)) | _among(names, self.gone))


def compare_listing(listed: ListedFiles, kept: NameIndex) -> ComparedListing:
    """Look up every listed file among the names of the kept files."""
    at = kept.positions_of(listed.paths)
    there = np.zeros(len(kept.names), np.bool_)
    there[at[at >= 0]] = True
    gone = kept.names.filter(build_array(~there))
    # a name that stands there twice is always found at the same one of its places
    gone = gone.filter(build_array(~there[kept.positions_of(gone)]))
    return ComparedListing(kept=kept, rest=listed.filter(at < 0), gone=gone)


def events_missing_files(
    events: FileEvents,
    kept_rows: Numbers,
    further: pa.ChunkedArray,
    found: ComparedListing,
) -> Flags:
    """For each event, whether one of its files was not listed; files outside the table's folder
    count as listed, because they are not checked.

    The names of `kept_rows` are among `further` or the kept names: it is enough to look up
    those of them that were not listed, nearly always none.
    """
    gone = further.filter(build_array(found.lacks(further)))
    gone = pa.chunked_array([*found.gone.chunks, *gone.chunks], pa.string())
    others = np.ones(events.table.num_rows, np.bool_)
    others[kept_rows] = False
    lacking = np.zeros(events.table.num_rows, np.bool_)
    for names in events.files:
        if names is not None:
            lacking |= _among(names, gone)
            lacking[others] |= found.lacks(names.filter(build_array(others)))
    return lacking


def _among(names: pa.ChunkedArray, few: pa.ChunkedArray) -> Flags:
    if not len(names) or not len(few):
        return np.zeros(len(names), np.bool_)
    found: Flags = read_values(pc.is_in(names, value_set=few))
    return found
