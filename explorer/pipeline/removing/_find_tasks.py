"""What a task does that looks for rows which a condition is true for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from explorer.pipeline.tasks.file_tasks import NUM_RECORDS, Batches, open_group
from explorer.rows.data_file.data_file import FILE_COLUMNS
from explorer.rows.request import RowRequest
from explorer.storage.ports import ReadStore
from explorer.writing.changes.found_rows import FOUND, found_table, render_positions

INDEX = "_row_index"
PATH = "_file_path"

FOUND_PARTS = pa.schema([FOUND.field("path"), FOUND.field("positions")])


@dataclass(frozen=True, slots=True, kw_only=True)
class FindRows:
    """The rows of files that the request's condition leaves; the request asks for `INDEX` alone."""

    store: ReadStore
    request: RowRequest

    def __call__(self, files: pa.Table) -> Batches:
        """Rows with the schema `FOUND`, one for each file with a match."""
        rows = []
        wanted = files.select([*FILE_COLUMNS, NUM_RECORDS])
        for opened in open_group(self.store, self.request, wanted):
            positions = BitMap64()
            for batch in opened.batches():
                if batch.num_rows:
                    positions |= BitMap64(batch.column(INDEX).to_numpy().astype(np.uint64))
            if positions:
                physical = opened.opened.num_rows
                live = physical - len(opened.vector or ())
                rows.append((opened.opened.file.path, positions, live, physical))
        if rows:
            yield from found_table(rows).to_batches()


def pack_found(batches: Batches) -> Batches:
    """Rows with `PATH` and `INDEX` as rows of `FOUND_PARTS`, one for each path of a batch."""
    for batch in batches:
        encoded = batch.column(PATH).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        index = batch.column(INDEX).to_numpy().astype(np.uint64)
        paths = encoded.dictionary
        packed = [render_positions(BitMap64(index[codes == at])) for at in range(len(paths))]
        yield pa.RecordBatch.from_arrays(
            [paths.cast(pa.string()), pa.array(packed, pa.binary())], schema=FOUND_PARTS
        )
