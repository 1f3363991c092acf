"""Which files of another commit a read set covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import TRUE
from explorer.transaction.read_set import any_of, may_match

if TYPE_CHECKING:
    from explorer.transaction.read_set import ReadSet


def new_rows(adds: pa.Table) -> pa.Table:
    """The adds that may bring rows: an absent `dataChange` is taken for a change."""
    return adds.filter(pc.coalesce(adds.column("data_change"), TRUE))


def matching(reads: ReadSet, files: pa.Table) -> pa.Table:
    """The files that may hold a row that one of the predicates is true for."""
    masks = (may_match(read, files) for read in reads.predicates)
    return files.filter(any_of(masks, files.num_rows))
