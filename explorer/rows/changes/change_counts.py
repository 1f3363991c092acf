"""How many rows one change of a commit is, without reading the rows
(spec: Add CDC File, Deletion Vectors)."""

from __future__ import annotations

from collections import Counter

import pyarrow.compute as pc
from pyroaring import BitMap64

from explorer.protocol.vectors.deletion_vectors import DeletionVectorDescriptor
from explorer.rows.changes.change_actions import Change, ChangedVector, RecordedChanges, WholeFile
from explorer.rows.changes.feed import recorded_types
from explorer.rows.data_file.deletion_vectors import read_deletion_vectors
from explorer.rows.data_file.parquet_file import open_data_file
from explorer.storage.ports import ReadStore


def count_change(store: ReadStore, change: Change, version: int) -> Counter[str]:
    """Rows by their type, as `read_change` would give them.

    Of a file that was added or removed the footer is read, of one that got another deletion vector
    the vectors, and of recorded changes the column of their types. Raises what `read_change`
    raises.
    """
    match change:
        case RecordedChanges(file=file):
            types = pc.value_counts(recorded_types(store, file, version)).to_pylist()
            return Counter({str(item["values"]): int(item["counts"]) for item in types})
        case WholeFile(file=file, change_type=kind):
            with open_data_file(store, file, version) as opened:
                rows = opened.num_rows
            return Counter({kind: rows - len(_bitmap(store, file.deletion_vector))})
        case ChangedVector():
            before, after = (_bitmap(store, side) for side in (change.before, change.after))
            return Counter({"delete": len(after - before), "insert": len(before - after)})


def _bitmap(store: ReadStore, vector: DeletionVectorDescriptor | None) -> BitMap64:
    return BitMap64() if vector is None else next(iter(read_deletion_vectors(store, [vector])))
