"""What `dataChange` false says (spec: Add File and Remove File)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.actions.record_counts import record_counts
from explorer.log.plain_arrays import TRUE, ZERO
from explorer.table.counts import count
from explorer.transaction.rules.change import REPORT, Change, Problems, problem


def validate_rearranged(change: Change) -> Problems:
    """Rows that are only rearranged are there afterwards: where all files say how many they
    have, no fewer are added than removed. Streams and append-only tables rely on it."""
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
