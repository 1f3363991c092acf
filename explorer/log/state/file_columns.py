"""Columns of some files of a log, and what can be asked of all of them piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.reconcile.key_columns import parts_of
from explorer.protocol.actions import FieldPath
from explorer.records import record
from explorer.storage.concurrent_reads import Answer

_FEW = 1_024
"""Of so many values one may go by which a chunk becomes two: many small ones are slow."""


@record
class FileColumns:
    """Columns of some files, and those leaves of their actions that their log file has."""

    table: pa.Table
    leaves: Mapping[FieldPath, pa.ChunkedArray]
    further: Callable[[str], pa.ChunkedArray] | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """A column of the same files; one that `table` lacks is read now, and once."""
        if self.further is None or name in self.table.column_names:
            return self.table.column(name)
        return self.further(name)

    def only(self, mask: pa.ChunkedArray) -> FileColumns:
        """Those of the files that the mask keeps, without what else could be asked of them."""
        count = sum(flags.true_count for flags in mask.chunks)
        columns = [_kept(values, mask, count) for values in self.table.columns]
        table = self.table.slice(0, count)  # where there are no columns, there are rows
        if columns:
            table = pa.Table.from_arrays(columns, names=self.table.column_names)
        return FileColumns(
            table=table,
            leaves={path: _kept(values, mask, count) for path, values in self.leaves.items()},
        )


def _kept(values: pa.ChunkedArray, mask: pa.ChunkedArray, count: int) -> pa.ChunkedArray:
    """Those `count` of the values that the mask keeps; chunks of which it keeps all are not
    copied."""
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(count, values.type)])
    chunks: list[pa.Array] = []
    for chunk, flags in parts_of(values, mask):
        if flags.true_count == len(flags):
            chunks.append(chunk)
        elif flags.true_count:
            chunks += _without_few(chunk, flags)
    return pa.chunked_array(chunks, values.type)


def _without_few(chunk: pa.Array, flags: pa.BooleanArray) -> list[pa.Array]:
    """Those values of a chunk that the flags keep: where few are to go, as what lies between
    them, which is no copy."""
    if len(flags) - flags.true_count > len(flags) // _FEW:
        return [pc.filter(chunk, flags)]
    starts = [-1, *pc.indices_nonzero(pc.invert(flags)).to_pylist(), len(flags)]
    return [
        chunk.slice(before + 1, after - before - 1)
        for before, after in pairwise(starts)
        if after - before > 1
    ]


class ReducibleFiles(Protocol):
    """Live files that are looked at some thousand at a time, wherever they are."""

    def reduce_files(
        self,
        columns: Sequence[str],
        leaves: Sequence[FieldPath],
        reduce: Callable[[FileColumns], Answer],
    ) -> Iterator[Answer]:
        """As `LogState.reduce_files`; `reduce` may run in another process, so that what it
        holds and answers can be pickled."""
        ...
