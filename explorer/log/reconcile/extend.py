"""Two runs of commits as one: what makes a refresh cost only what is new."""

from __future__ import annotations

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.action_rows import ActionRows
from explorer.log.reconcile.key_columns import decided_keys, keys_of
from explorer.log.reconcile.tail import Tail

# many refreshes leave many small pieces, and each later one looks through all of them
_MANY_PIECES = 16
_SMALL_PIECE = 1024


def extend_tail(newer: Tail, older: Tail) -> Tail:
    """The tail of both runs of commits, `newer` following `older` without a gap."""
    adds, removes = older.adds, older.removes
    if newer.decides_files:
        decided = decided_keys(newer)
        adds = adds.filter(pc.invert(pc.is_in(keys_of(adds), value_set=decided)))
        removes = removes.filter(pc.invert(pc.is_in(keys_of(removes), value_set=decided)))
    return Tail(
        add_rows=ActionRows(
            "add",
            _batches(adds, newer.adds),
            holds_unknown=older.add_rows.holds_unknown or newer.add_rows.holds_unknown,
        ),
        remove_rows=ActionRows(
            "remove",
            _batches(removes, newer.removes),
            holds_unknown=older.remove_rows.holds_unknown or newer.remove_rows.holds_unknown,
        ),
        small=newer.small.over(older.small),
        problems=older.problems + newer.problems,
        compactions=newer.compactions + older.compactions,
    )


def _batches(older: pa.Table, newer: pa.Table) -> list[pa.RecordBatch]:
    rows = pa.concat_tables([older, newer])
    pieces = rows.column(0).num_chunks
    if pieces > _MANY_PIECES and rows.num_rows < pieces * _SMALL_PIECE:
        rows = rows.combine_chunks()
    return list(rows.to_batches())
