"""The files that were added, removed or changed between two versions, and what that did to rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.comparison._file_pairs import (
    COMPARED_FIELDS,
    FilePairs,
    differing_fields,
    pair_files,
)
from explorer.comparison._numbers import Positions, null_mask, take
from explorer.comparison.looked_up_files import SomeFiles
from explorer.comparison.routes import Candidates, Route, recorded_fields
from explorer.log.actions.columns import string_column
from explorer.log.plain_arrays import ZERO, Flags, build_array, read_numbers
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.table.frames import sum_of
from explorer.table.snapshot import Snapshot

ADDED_COLUMNS = (
    "path",
    "size",
    "modification_time",
    "partition_values",
    "num_records",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
"""The columns of `FileChanges.added` and `removed`, as in `Snapshot.files`."""

STAYED_COLUMNS = ("path", *COMPARED_FIELDS, "num_records")
"""What is read of files that both versions have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """Rows as statistics and the cardinalities of deletion vectors tell them; None
    where they do not say.

    `added` and `removed` are live rows of added and removed files, compaction
    included. `hidden` and `restored` are by how much deletion vectors of files that
    stayed grew and shrank. `recounted` is by how much files that stayed say now that
    they hold more rows (fewer where it is negative); it is 0 but in odd tables.
    """

    added: int | None
    removed: int | None
    hidden: int | None
    restored: int | None
    recounted: int | None

    @property
    def net(self) -> int | None:
        """By how much the number of live rows differs."""
        if (
            self.added is None
            or self.removed is None
            or self.hidden is None
            or self.restored is None
            or self.recounted is None
        ):
            return None
        return self.added - self.removed - self.hidden + self.restored + self.recounted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stayed:
    """The same files as two versions have them, row by row."""

    before: pa.Table
    after: pa.Table

    def select(self, positions: Positions) -> _Stayed:
        """Some of the files."""
        return _Stayed(before=take(self.before, positions), after=take(self.after, positions))


class FileChanges:
    """Files of two versions that are not the same in both.

    `route` says how they were found: by the commits between (`log`), by those after
    a checkpoint that both rest on (`shared checkpoint`), or among all files
    (`independent`). The answer does not depend on it.
    """

    def __init__(
        self,
        candidates: Candidates,
        older: Snapshot,
        newer: Snapshot,
        watch: Watch = UNWATCHED,
    ) -> None:
        self.route: Route = candidates.route
        self._before, self._after = candidates.before, candidates.after
        self._older, self._newer = older, newer
        pairs = while_working(
            lambda: pair_files(self._before.names, self._after.names),
            watch,
            "Looking for files that are in both versions",
        )
        self._gone, self._came = pairs.gone, pairs.came
        self._fields = recorded_fields(older, newer) if len(pairs.same_before) else ()
        self._stayed, self._differing = while_working(
            lambda: self._changed_among(pairs),
            watch,
            "Comparing files that are in both versions",
        )
        watch.step(0, None, "Counting rows of added and removed files")

    def _changed_among(self, pairs: FilePairs) -> tuple[_Stayed, Flags]:
        """The files of both versions that differ, and in which of the fields."""
        stayed = _Stayed(
            before=self._before.read(pairs.same_before, STAYED_COLUMNS),
            after=self._after.read(pairs.same_after, STAYED_COLUMNS),
        )
        differing = differing_fields(stayed.before, stayed.after, self._fields)
        changed = np.flatnonzero(differing.any(axis=1)).astype(np.int64)
        return stayed.select(changed), differing[changed]

    def __repr__(self) -> str:
        """How many of each."""
        return (
            f"FileChanges(added={self.num_added}, removed={self.num_removed}, "
            f"changed={self.num_changed}, route={self.route!r})"
        )

    @property
    def num_added(self) -> int:
        """Files that only the newer version has."""
        return len(self._came)

    @property
    def num_removed(self) -> int:
        """Files that only the older version has."""
        return len(self._gone)

    @property
    def num_changed(self) -> int:
        """Files of one path that both have, with another deletion vector or other fields."""
        return len(self._differing)

    @cached_property
    def bytes_added(self) -> int:
        """The sizes of `added`."""
        return sum_of(self.added.column("size"))

    @cached_property
    def bytes_removed(self) -> int:
        """The sizes of `removed`."""
        return sum_of(self.removed.column("size"))

    @cached_property
    def added(self) -> pa.Table:
        """The added files, with `ADDED_COLUMNS` as the newer version has them."""
        return _listed(self._after, self._came, self._newer)

    @cached_property
    def removed(self) -> pa.Table:
        """The removed files, with `ADDED_COLUMNS` as the older version had them."""
        return _listed(self._before, self._gone, self._older)

    @cached_property
    def changed(self) -> pa.Table:
        """The files that stayed and differ.

        - `path`, and `partition_values` as the newer version has them
        - `changes`: the names of the columns of `Snapshot.files` that differ
        - `size_before`, `size_after`, `num_records_before`, `num_records_after`
        - `deletion_vector_before`, `deletion_vector_after`: null without one
        - `cardinality_before`, `cardinality_after`: rows that they hide, 0 without one
        """
        before, after = self._stayed.before, self._stayed.after
        shown = self._newer.with_logical_names(after.select(["path", "partition_values"]))
        columns = {
            "path": shown.column("path"),
            "partition_values": shown.column("partition_values"),
            "changes": _names_of(self._differing, self._fields),
            "size_before": before.column("size"),
            "size_after": after.column("size"),
            "num_records_before": before.column("num_records"),
            "num_records_after": after.column("num_records"),
            "deletion_vector_before": before.column("deletion_vector"),
            "deletion_vector_after": after.column("deletion_vector"),
            "cardinality_before": count_hidden_rows(before),
            "cardinality_after": count_hidden_rows(after),
        }
        return pa.Table.from_arrays(list(columns.values()), list(columns))

    @cached_property
    def rows(self) -> RowChanges:
        """What that did to rows, by statistics."""
        stayed = self._stayed
        return RowChanges(
            added=_live_rows(self.added),
            removed=_live_rows(self.removed),
            hidden=_growth(count_hidden_rows(stayed.before), count_hidden_rows(stayed.after)),
            restored=_growth(count_hidden_rows(stayed.after), count_hidden_rows(stayed.before)),
            recounted=_recounted(stayed),
        )


def _listed(files: SomeFiles, positions: Positions, snapshot: Snapshot) -> pa.Table:
    return snapshot.with_logical_names(files.read(positions, ADDED_COLUMNS))


def count_hidden_rows(files: pa.Table) -> pa.ChunkedArray:
    """How many rows of each file its deletion vector hides, null where it does not say."""
    vectors = files.column("deletion_vector")
    cardinality = pc.struct_field(vectors, "cardinality")
    return pc.if_else(pc.is_null(vectors), ZERO, cardinality)


def _live_rows(files: pa.Table) -> int | None:
    records, hidden = files.column("num_records"), count_hidden_rows(files)
    if records.null_count or hidden.null_count:
        return None
    return sum_of(records) - sum_of(hidden)


def _growth(before: pa.ChunkedArray, after: pa.ChunkedArray) -> int | None:
    """The sum of all increases."""
    if before.null_count or after.null_count:
        return None
    grown = pc.less(before, after)
    return sum_of(after.filter(grown)) - sum_of(before.filter(grown))


def _recounted(stayed: _Stayed) -> int | None:
    before, after = (side.column("num_records") for side in (stayed.before, stayed.after))
    unknown = null_mask(before) | null_mask(after)
    sizes = (read_numbers(side.column("size")) for side in (stayed.before, stayed.after))
    # the same bytes hold the same rows, whether statistics were added or removed
    if (unknown & np.not_equal(*sizes)).any():
        return None
    known = build_array(np.flatnonzero(~unknown))
    return sum_of(after.take(known)) - sum_of(before.take(known))


def _names_of(differing: Flags, fields: tuple[str, ...]) -> pa.ChunkedArray:
    """By row, the fields whose flag is set."""
    names = string_column(fields).take(build_array(np.nonzero(differing)[1]))
    offsets = np.zeros(len(differing) + 1, np.int32)
    np.cumsum(differing.sum(axis=1), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets)]
    lists = pa.Array.from_buffers(pa.list_(pa.string()), len(differing), buffers, children=[names])
    return pa.chunked_array([lists])
