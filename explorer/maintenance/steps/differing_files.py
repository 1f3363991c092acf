"""The logical files in which two versions of a table differ (spec: Action Reconciliation).

A file is known by its path and its deletion vector. Only these are read of every file; the
rest is read of those that differ alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.columns import ADD_COLUMNS, empty_table, schema_of
from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of
from explorer.progress import UNWATCHED, Watch, while_working
from explorer.table.snapshot import Snapshot

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
    def read() -> pa.ChunkedArray:
        return keys_of(snapshot.physical_files("add", KEY_COLUMNS))

    return while_working(read, watch, _LABEL)


def _without(
    snapshot: Snapshot, others: pa.ChunkedArray, columns: Sequence[str], watch: Watch
) -> tuple[pa.Table, int]:
    """The files of a version whose keys are not among `others`, and how many different ones
    of these it has."""
    keys = _keys(snapshot, watch)

    def compare() -> tuple[pa.ChunkedArray, int]:
        at = pc.index_in(keys, value_set=others)
        return keys.filter(at.is_null()), pc.count_distinct(at).as_py()

    wanted, num_shared = while_working(compare, watch, _LABEL)
    rows = while_working(
        lambda: snapshot.among(wanted, columns), watch, "Reading the files that differ"
    )
    return rows, num_shared
