"""Two runs of commits as one: what makes a refresh cost only what is new."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.action_rows import ActionRows
from explorer.log.key_columns import decided_keys, keys_of
from explorer.log.tail import Tail


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
            pa.concat_tables([adds, newer.adds]).to_batches(),
            holds_unknown=older.add_rows.holds_unknown or newer.add_rows.holds_unknown,
        ),
        remove_rows=ActionRows(
            "remove",
            pa.concat_tables([removes, newer.removes]).to_batches(),
            holds_unknown=older.remove_rows.holds_unknown or newer.remove_rows.holds_unknown,
        ),
        small=newer.small.over(older.small),
        problems=older.problems + newer.problems,
    )
