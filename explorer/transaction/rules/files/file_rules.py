"""Adds and removes of a commit (spec: Add File and Remove File, Partition Value
Serialization, Append-only Tables)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import Problem
from explorer.log.actions.columns import int64_scalar, string_scalar
from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import EMPTY, FALSE, TRUE, ZERO
from explorer.log.reconcile.key_columns import keys_of
from explorer.log.statistics.statistics_text import parse_statistics_texts
from explorer.scan.statistics.partitions import PartitionColumn, read_partition
from explorer.table.counts import are, count, have
from explorer.transaction.read_set import logical_keys
from explorer.transaction.rules.change import (
    REPORT,
    Change,
    Described,
    Problems,
    problem,
    shown,
)

_SPEC: Final = "Add File and Remove File"
_COUNT = ("numRecords",)

_REQUIRED: Final = {
    "add": ("path", "partition_values", "size", "modification_time"),
    "remove": ("path",),
}


def validate_files(change: Change) -> Problems:
    """What every file action must say, and which of them may stand together."""
    staged = change.staged
    for action, files in (("add", change.adds), ("remove", change.removes)):
        if not files.num_rows:
            continue
        for name in _REQUIRED[action]:
            if number := files.column(name).null_count:
                yield _wrong(f"{have(number, f'{action} action')} no {name.replace('_', ' ')}.")
        if pc.any(pc.less(files.column("size"), ZERO)).as_py():
            yield _wrong(f"An {action} action has a size below zero.")
        keys = staged.added_keys if action == "add" else staged.removed_keys
        if (twice := len(keys) - len(pc.unique(keys))) > 0:
            yield _wrong(f"{have(twice, f'{action} action')} a path that another one has.")
    if not (change.adds.num_rows and change.removes.num_rows):
        return
    if pc.any(pc.is_in(staged.added_keys, value_set=staged.removed_keys)).as_py():
        root = staged.base.root
        added, removed = (logical_keys(files, root) for files in (change.adds, change.removes))
        if number := pc.sum(pc.is_in(added, value_set=removed)).as_py():
            yield _wrong(f"{are(number, 'logical file')} both added and removed.")


def validate_append_only(change: Change) -> Problems:
    """On an append-only table rows are neither changed nor removed, only rearranged. What was
    in force when it was read decides: a commit that lifts it may not take rows along, and one
    that brings it back, as a restore does, takes none from a table that is append-only."""
    if (change.before or change.after).has_active("appendOnly") and change.removed_data.num_rows:
        yield problem(
            "The table is append-only, and the commit removes "
            f"{count(change.removed_data.num_rows, 'file')} with their rows.",
            "`delta.appendOnly` is true: rows may be added, or rearranged as they are.",
            spec="Append-only Tables",
            remedy="Set `delta.appendOnly` to false first, if rows may be removed.",
        )


def validate_rearranged(change: Change) -> Problems:
    """Rows that are only rearranged, as `dataChange` false says, are there afterwards: where all
    files say how many they have, no fewer are added than removed. Streams and append-only tables
    rely on it."""
    gone = _live_rows(_rearranging(change.removes))
    if not gone:
        return
    came = _live_rows(_rearranging(change.adds))
    if came is not None and came < gone:
        yield problem(
            f"The commit says that it changes no data, but removes {count(gone - came, 'row')}.",
            "With `dataChange` false, added files must hold all rows of the removed files.",
            spec="Add File and Remove File",
            remedy=REPORT,
        )


def validate_partition_values(change: Change) -> Problems:
    """Every file says a value of each partition column, under its physical name, and one
    that the column's type can hold. What others wrote may be odd and can still be brought back,
    and completed where it is live: `validate_live_files` keeps such a file in its partition."""
    if change.staged.promises.recommits:
        return
    adds, live = change.adds, change.staged.live_where_it_adds
    if live is not None and live.num_rows:
        adds = adds.filter(pc.invert(pc.is_in(keys_of(adds), value_set=keys_of(live))))
    if adds.num_rows:
        yield from partition_values_of(change.after, adds.select(["path", "partition_values"]))


def partition_values_of(after: Described, files: pa.Table) -> Problems:
    """What is wrong with the partition values of files (`path`, `partition_values`)."""
    fields = after.partition_fields
    names = [after.physical_name(field) for field in fields]
    maps = files.column("partition_values").combine_chunks()
    if maps.null_count:
        return  # told by `validate_files`
    right = pc.equal(pc.list_value_length(_lists(maps)), int64_scalar(len(names)))
    for name in names:
        right = pc.and_(right, _has_key(maps, name))
    if not pc.all(right).as_py():
        wrong = files.column("path").filter(pc.invert(right))
        yield problem(
            f"The partition values of {shown(wrong.slice(0, 6).to_pylist())} are not complete.",
            f"A file says a value of {shown(names) if names else 'no column'} and of no other.",
            spec=_SPEC,
            remedy=REPORT,
        )
        return
    for field, name in zip(fields, names, strict=True):
        column = PartitionColumn(path=(field.name,), physical=name, data_type=field.data_type)
        facts = read_partition(maps, column)
        yield from facts.problems
        empty = pc.equal(facts.texts, EMPTY)
        nothing = pc.or_(facts.texts.is_null(), pc.coalesce(empty, FALSE))
        if not field.nullable and pc.any(nothing).as_py():
            yield _wrong(f"A file has no value of the partition column `{field.name[:120]}`.")


def counts_of(adds: pa.Table) -> pa.Array:
    """The physical rows of each file by its statistics, null where these do not say."""
    texts = adds.column("stats").combine_chunks()
    return parse_statistics_texts(texts, {_COUNT: pa.int64()}).columns[_COUNT]


def _rearranging(files: pa.Table) -> pa.Table:
    return files.filter(pc.invert(pc.coalesce(files.column("data_change"), TRUE)))


def _live_rows(files: pa.Table) -> int | None:
    """Their rows without those that vectors hide; None where a file does not say."""
    if not files.num_rows:
        return 0
    counts = record_counts(files.column("stats"), None)
    if counts.null_count:
        return None
    vectors = files.column("deletion_vector").combine_chunks()
    hidden = pc.coalesce(pc.struct_field(vectors, "cardinality"), ZERO)
    return int(pc.sum(counts).as_py() - pc.sum(hidden).as_py())


def _lists(maps: pa.MapArray) -> pa.Array:
    return pa.Array.from_buffers(
        pa.list_(maps.keys.type),
        len(maps),
        [None, maps.buffers()[1]],
        children=[maps.keys],
        offset=maps.offset,
    )


def _has_key(maps: pa.MapArray, name: str) -> pa.Array:
    # a key with a null value is there: what is looked up is the list of its values
    found = pc.map_lookup(maps, string_scalar(name), "all")
    return pc.equal(pc.coalesce(pc.list_value_length(found), int64_scalar(0)), int64_scalar(1))


def _wrong(text: str) -> Problem:
    return problem(
        text,
        "Readers find, compare and skip files by what their actions say.",
        spec=_SPEC,
        remedy=REPORT,
        kind="log_corrupt",
    )
