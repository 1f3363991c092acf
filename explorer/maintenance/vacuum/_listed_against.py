"""What lies below a table's root, held against what the first way to the kept files keeps.

A million names are looked up once. What they leave is nearly always small, and whatever is
asked of the listing afterwards is answered by it, so that the listing need not be held.
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
class ListedAgainst:
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


def hold_against(listed: ListedFiles, kept: NameIndex) -> ListedAgainst:
    """Look every listed file up among the names that are kept."""
    at = kept.positions_of(listed.paths)
    there = np.zeros(len(kept.names), np.bool_)
    there[at[at >= 0]] = True
    gone = kept.names.filter(build_array(~there))
    # a name that stands there twice is always found at the same one of its places
    gone = gone.filter(build_array(~there[kept.positions_of(gone)]))
    return ListedAgainst(kept=kept, rest=listed.filter(at < 0), gone=gone)


def lacking_events(
    events: FileEvents,
    kept_rows: Numbers,
    further: pa.ChunkedArray,
    found: ListedAgainst,
) -> Flags:
    """For each event, whether a file of it was not listed; files outside of the table's root
    count as listed, because nobody looked.

    The names of `kept_rows` are `further` ones or among those that the first way keeps: what
    is gone of these says it all, and nearly always nothing is.
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
