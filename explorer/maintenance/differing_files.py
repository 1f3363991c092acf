"""The logical files in which two versions of a table differ (spec: Action Reconciliation).

A file is known by its path and its deletion vector. Only these are read of every file; the
rest is read some thousand files at a time, and kept of those that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.log.key_columns import keys_of
from explorer.log.load import LoadedVersion
from explorer.log.statistics_columns import all_statistics, complete_statistics
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.table.read_files import read_files
from explorer.table.snapshot import Snapshot

_KEYS: Final = ("path", "deletion_vector")
_LABEL: Final = "Comparing the files of both versions"


def differing_files(
    newest: Snapshot,
    target: Snapshot,
    of_gone: Sequence[str] = tuple(ADD_COLUMNS),
    watch: Watch = UNWATCHED,
) -> tuple[pa.Table, pa.Table]:
    """Logical files that only `target` has, with every column of an add, and that only
    `newest` has, with the columns `of_gone`."""
    wanted = _keys(target, watch)
    gone, num_shared = _without(newest, wanted, of_gone, watch)
    if num_shared == len(wanted):  # nothing came back: so it is after appends
        return empty_table(schema_of(ADD_COLUMNS)), gone
    back, _ = _without(target, _keys(newest, watch), tuple(ADD_COLUMNS), watch)
    return back, gone


def _keys(snapshot: Snapshot, watch: Watch) -> pa.ChunkedArray:
    return while_working(lambda: keys_of(snapshot.physical_files("add", _KEYS)), watch, _LABEL)


def _without(
    snapshot: Snapshot, others: pa.ChunkedArray, columns: Sequence[str], watch: Watch
) -> tuple[pa.Table, int]:
    """The files of a version whose keys are not among `others`, and how many different ones
    of these it has."""
    if not snapshot.is_at_hand:
        rows = snapshot.physical_files("add", [*dict.fromkeys([*columns, *_KEYS])])
        at = pc.index_in(keys_of(rows), value_set=others)
        return rows.filter(at.is_null()).select(list(columns)), pc.count_distinct(at).as_py()

    def ask(loaded: LoadedVersion) -> tuple[pa.Table, int]:
        def compare() -> tuple[pa.ChunkedArray, int]:
            at = pc.index_in(keys_of(read_files(loaded, "add", _KEYS)), value_set=others)
            return at.is_null(), pc.count_distinct(at).as_py()

        kept, num_shared = while_working(compare, watch, _LABEL)
        found = [empty_table(loaded.state.schema("add", columns))]
        if pc.any(kept).as_py():
            found += _kept(loaded, kept, columns, watch)
        return pa.concat_tables(found), num_shared

    return snapshot.consult(ask)


def _kept(
    loaded: LoadedVersion, kept: pa.ChunkedArray, columns: Sequence[str], watch: Watch
) -> Iterator[pa.Table]:
    """Those of the files, in the order in which they are read, that are kept."""
    seen, total = 0, len(kept)
    for piece in _stream(loaded, columns):
        count = piece.num_rows
        mask = kept.slice(seen, count)
        seen += count
        watch.step(seen, total, "Reading the files that differ")
        if pc.any(mask).as_py():
            yield piece if pc.all(mask).as_py() else piece.filter(mask)


def _stream(loaded: LoadedVersion, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The live files in the order of `read_files`; the statistics that a checkpoint has as
    columns alone come as JSON, as there."""
    state = loaded.state
    if "stats" not in columns or state.records("add", "stats"):
        yield from (files.table for files in state.stream("add", columns, ()))
        return
    held = all_statistics(*loaded.small.required(loaded.segment.version))
    for files in state.stream("add", columns, held.leaves):
        yield complete_statistics(files, held).table
