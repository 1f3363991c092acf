"""What a commit may do to live files, where the caller gives them (spec: Add
File and Remove File, Action Reconciliation)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.actions.columns import bool_column
from explorer.log.plain_arrays import TRUE
from explorer.log.reconcile.key_columns import keys_of
from explorer.protocol.actions import Metadata
from explorer.protocol.table_properties.known_properties import COLUMN_MAPPING_MODE
from explorer.table.counts import are, count
from explorer.transaction.identity_marks import differ_in_identity_alone
from explorer.transaction.rules.change import REPORT, Change, Problems, problem, shown

_SAME_IN_BOTH: Final = ("size", "modification_time")


def validate_live_files(change: Change) -> Problems:
    """No data file becomes live twice, none stays where all are said to go, and those that are
    said to be of an earlier version are."""
    if change.removes_every_live_file and not change.creates:
        yield from _files_that_stay(change)
    if change.is_restore and change.changes_metadata:
        yield from _not_as_earlier(change)
    yield from _live_already(change)


def _files_that_stay(change: Change) -> Problems:
    staying = change.staged.live_that_stay
    if staying is None:
        yield _stays("The commit says that it removes every live file, but these cannot be listed.")
        return
    if staying.num_rows:
        yield _stays(
            f"The commit says that it removes every live file, but {staying.num_rows:,} would "
            f"stay: {_some(staying)}."
        )
    back = pc.is_in(change.staged.added_keys, value_set=change.staged.removed_keys)
    if pc.any(back).as_py():
        again = change.adds.filter(back)
        yield _stays(
            f"The commit says that every live file goes, and {again.num_rows:,} would come back "
            f"with it: {_some(again)}."
        )


def _not_as_earlier(change: Change) -> Problems:
    earlier, staying = change.staged.restored_version, change.staged.live_that_stay
    if earlier is None or staying is None:
        yield _not_back("nobody can look which files would stay.")
        return
    if not _has_columns_of(earlier.metadata, change.after.metadata):
        yield _not_back("columns, their names in files or the partitioning would be others.")
    there = [*keys_of(staying).chunks, *keys_of(change.adds).chunks]
    lacking = earlier.files.without(pa.chunked_array(there, pa.string()))
    if lacking.num_rows:
        number = count(lacking.num_rows, "file")
        yield _not_back(f"{number} of that version would be missing: {_some(lacking)}.")
    nothing = keys_of(change.adds.slice(0, 0))
    known = keys_of(earlier.files.without(nothing))
    for files in (staying, change.adds):
        others = files.filter(pc.invert(pc.is_in(keys_of(files), value_set=known)))
        if others.num_rows:
            number = count(others.num_rows, "file")
            yield _not_back(f"{number} of other versions would be live: {_some(others)}.")


def _has_columns_of(earlier: Metadata, after: Metadata) -> bool:
    """Whether schema, partitioning and mapping are the same; identity columns may have given
    out more numbers since."""
    modes = [COLUMN_MAPPING_MODE.value_of(each.configuration) for each in (earlier, after)]
    return (
        earlier.partition_columns == after.partition_columns
        and modes[0] == modes[1]
        and differ_in_identity_alone(earlier, replace(earlier, schema_string=after.schema_string))
    )


def _live_already(change: Change) -> Problems:
    """A file that is live and is not removed is added to say more of it, and no more than that:
    under the same key (with its vector) and as rows that are there already."""
    live = change.staged.live_where_it_adds
    if live is None or not live.num_rows:
        return
    live = live.filter(pc.invert(pc.is_in(keys_of(live), value_set=keys_of(change.removes))))
    if not live.num_rows:
        return
    at = pc.index_in(keys_of(live), value_set=keys_of(change.adds).combine_chunks())
    # another vector, or another spelling of the path: readers would take it for a second file
    doubled = live.filter(at.is_null())
    if doubled.num_rows:
        yield _twice(
            f"{count(doubled.num_rows, 'data file')} would be live twice, under another deletion "
            f"vector or another spelling of the path: {_some(doubled)}."
        )
    again = change.adds.take(at.drop_null())
    others = _differ(live.filter(at.is_valid()), again)
    if pc.any(others).as_py():
        wrong = again.filter(others)
        yield _twice(
            f"{are(wrong.num_rows, 'file')} live already, and added again as new or "
            f"with another size, time or partition: {_some(wrong)}."
        )


def _differ(live: pa.Table, again: pa.Table) -> pa.ChunkedArray:
    """Which files are added again, row by row, as something else than they are: rows, size,
    time or partition; statistics, tags, row ids and who clustered them may be others."""
    found = pc.coalesce(again.column("data_change"), TRUE)
    for name in _SAME_IN_BOTH:
        old, new = (pc.cast(files.column(name), pa.int64()) for files in (live, again))
        found = pc.or_(found, pc.coalesce(pc.not_equal(old, new), TRUE))
    return pc.or_(found, pa.chunked_array([bool_column(_partitions_differ(live, again))]))


def _partitions_differ(live: pa.Table, again: pa.Table) -> list[bool]:
    before, after = (files.column("partition_values").to_pylist() for files in (live, again))
    return [dict(old or ()) != dict(new or ()) for old, new in zip(before, after, strict=True)]


def _some(files: pa.Table) -> str:
    return shown(files.column("path").slice(0, 6).to_pylist())


def _stays(text: str) -> Problem:
    return problem(
        text,
        "A file that stays holds rows of the former schema and partitioning.",
        spec="Change Metadata",
        remedy=REPORT,
    )


def _not_back(text: str) -> Problem:
    return problem(
        f"The commit says that it goes back to an earlier version, and {text}",
        "Only the files of that version are known to fit its schema and partitioning.",
        spec="Change Metadata",
        remedy=REPORT,
    )


def _twice(text: str) -> Problem:
    return problem(
        text,
        "Its rows would be read twice, or appear again in streams and in the change data feed.",
        spec="Action Reconciliation",
        remedy="Remove the file in the same commit, or write new data under a path of its own.",
        kind="log_corrupt",
    )
