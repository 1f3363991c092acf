"""Row ids and commit versions for many files at once (spec: Row Tracking)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import int64_column
from explorer.log.record_counts import record_counts
from explorer.transaction.staged_files import complete

_ZERO = int64_column([0])[0]


def give_row_ids(
    batches: Sequence[pa.RecordBatch], mark: int, version: int
) -> tuple[tuple[pa.RecordBatch, ...], int]:
    """The batches with a base row id and a commit version in every row, and the new mark.

    Ids begin above `mark`, each file taking as many as it has physical rows; what a file
    comes with stays. Every file without an id says its `numRecords`.
    """
    given: list[pa.RecordBatch] = []
    for batch in batches:
        full = complete("add", batch)
        held = full.column("base_row_id")
        counts = record_counts(pa.chunked_array([full.column("stats")]), None).combine_chunks()
        taken = pc.if_else(held.is_null(), pc.coalesce(counts, _ZERO), _ZERO)
        numbers = np.frombuffer(taken.buffers()[1], np.int64)[taken.offset :][: len(taken)]
        ends = mark + 1 + np.cumsum(numbers)
        starts = pa.Array.from_buffers(
            pa.int64(), len(taken), [None, pa.py_buffer((ends - numbers).tobytes())]
        )
        mark += int(numbers.sum())
        this = int64_column([version])[0]
        columns = dict(zip(full.schema.names, full.columns, strict=True)) | {
            "base_row_id": pc.coalesce(held, starts),
            "default_row_commit_version": pc.coalesce(
                full.column("default_row_commit_version"), this
            ),
        }
        given.append(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))
    return tuple(given), mark
