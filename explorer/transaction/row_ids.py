"""Row ids and commit versions of the files of a commit (spec: Row Tracking).

A file has as many ids as it has physical rows, from its `baseRowId` on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import int64_column, int64_scalar
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import ZERO, build_array, read_numbers
from explorer.protocol.features.row_id_high_water_mark import MAX_ROW_ID
from explorer.protocol.file_actions import RemoveFile
from explorer.transaction.read_set import among, path_keys

if TYPE_CHECKING:
    from explorer.transaction.staged import StagedCommit

ID_COLUMNS: Final = ("base_row_id", "default_row_commit_version")
"""What file actions say of the ids of their rows."""

_ONE, _MAX = (int64_column([1, MAX_ROW_ID])[at] for at in range(2))


def give_row_ids(
    adds: pa.Table, removes: pa.Table, mark: int, version: int
) -> tuple[pa.Table, int]:
    """The adds with a base row id and a commit version in every row, and the new mark.

    Ids begin above `mark` and above those that other files of the commit have, each file
    taking as many as it has physical rows; what a file comes with stays, and so does what
    `removes` say of its path. Every file without an id says its `numRecords`.
    """
    adds = with_known_ids(adds, removes)
    held, versions = (adds.column(name) for name in ID_COLUMNS)
    if held.null_count:
        counts = record_counts(adds.column("stats"), None)
        numbers = read_numbers(pc.if_else(held.is_null(), counts, ZERO))
        below = mark_below(adds, mark)
        ends = below + 1 + np.cumsum(numbers)
        held = pc.coalesce(held, pa.chunked_array([build_array(ends - numbers)]))
        if number := int(numbers.sum()):
            mark = below + number
    versions = pc.coalesce(versions, int64_scalar(version))
    return _with_ids(adds, held, versions), mark


def with_known_ids(adds: pa.Table, removes: pa.Table) -> pa.Table:
    """The adds, where they come without ids with those that the remove of the same path says:
    the data file stays, whatever its vector or its statistics are now, and its rows keep
    their ids (spec: Writer Requirements for Row Tracking)."""
    told = ids_of_removes(adds, removes)
    if told is None:
        return adds
    known = zip(ID_COLUMNS, told, strict=True)
    return _with_ids(adds, *(pc.coalesce(adds.column(name), values) for name, values in known))


def ids_of_removes(
    adds: pa.Table, removes: pa.Table
) -> tuple[pa.ChunkedArray, pa.ChunkedArray] | None:
    """For each add the base row id and the commit version that the remove of its path says,
    null where it says none or there is none; None where there is none for any."""
    says = pc.or_(*(removes.column(name).is_valid() for name in ID_COLUMNS))
    said = removes.filter(says)
    if not (adds.num_rows and said.num_rows):
        return None
    # both are of one commit, which spells a path in one way
    mine, theirs = (path_keys(files, None).combine_chunks() for files in (adds, said))
    at = pc.index_in(mine, value_set=theirs)
    if at.null_count == len(at):
        return None
    base, version = (said.column(name).take(at) for name in ID_COLUMNS)
    return base, version


def with_ids_since(staged: StagedCommit, adds: pa.Table) -> StagedCommit:
    """The same commit, whose removes say the ids that `adds`, those of a commit before it, have for
    their files, as whoever gives ids to all files of a table does: a remove says those of the
    last add of its path (spec: Writer Requirements for Row Tracking). What it adds needs none of
    them: where files without ids may be there, ids are not kept for rows that go to another
    file, and a path that both add is a conflict."""
    root = staged.base.root
    again = among(adds, staged.removed_keys, root)
    if not again.num_rows:
        return staged
    removes = staged.files("remove")
    keys = path_keys(again, root).combine_chunks()
    at = pc.index_in(path_keys(removes, root), value_set=keys)
    pairs = ((again.column(name).take(at), removes.column(name)) for name in ID_COLUMNS)
    removes = _with_ids(removes, *(pc.if_else(at.is_valid(), new, old) for new, old in pairs))
    few = len(staged.of(RemoveFile))  # those of `actions` come first
    ids = iter(removes.slice(0, few).select(ID_COLUMNS).to_pylist())
    return replace(
        staged,
        actions=tuple(
            replace(item, **next(ids)) if isinstance(item, RemoveFile) else item
            for item in staged.actions
        ),
        removes=tuple(removes.slice(few).to_batches()),
    )


def mark_below(adds: pa.Table, mark: int) -> int:
    """Above it begin the fresh ids of a commit with these adds: the mark, or the highest id
    that one of them has, where a file of the log has ids beyond the mark."""
    highest = highest_row_id(adds)
    return mark if highest is None else max(mark, highest)


def highest_row_id(adds: pa.Table) -> int | None:
    """Of the ids that the rows of these files have; None where they have none."""
    held = adds.filter(pc.greater_equal(adds.column("base_row_id"), ZERO))
    if not held.num_rows:
        return None
    return int(pc.max(last_row_ids(held)).as_py())


def last_row_ids(held: pa.Table) -> pa.ChunkedArray:
    """The id of the last row of each file, all of which have a base row id of at least 0:
    itself where the number of rows is unknown, the one before it where there are none.
    """
    bases = held.column("base_row_id")
    others = pc.subtract(pc.coalesce(record_counts(held.column("stats"), None), _ONE), _ONE)
    return pc.add(bases, pc.min_element_wise(others, pc.subtract(_MAX, bases)))


def _with_ids(files: pa.Table, *values: pa.ChunkedArray) -> pa.Table:
    for name, column in zip(ID_COLUMNS, values, strict=True):
        files = files.set_column(files.schema.get_field_index(name), name, column)
    return files
