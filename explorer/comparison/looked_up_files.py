"""Some files of a version, whose columns are read as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from explorer.comparison._file_pairs import pair_files
from explorer.comparison._numbers import Positions, take
from explorer.log.actions.columns import empty_table
from explorer.log.actions.record_counts import record_counts
from explorer.log.load import LoadedVersion
from explorer.log.plain_arrays import build_array
from explorer.log.reconcile.key_columns import KEY_COLUMNS, keys_of
from explorer.table.snapshot import Snapshot

_COUNTED_AT_ONCE = 65_536


class SomeFiles(Protocol):
    """Files of one version; column names as in `Snapshot.files`."""

    @property
    def names(self) -> pa.Table:
        """Their `KEY_COLUMNS`."""
        ...

    def read(self, positions: Positions, columns: Sequence[str]) -> pa.Table:
        """Columns of those in these rows of `names`, in their order."""
        ...


class HeldFiles:
    """Adds that commits have brought and that are held anyway."""

    def __init__(self, adds: pa.Table) -> None:
        self._adds = adds
        self.names: pa.Table = adds.select(list(KEY_COLUMNS))

    def read(self, positions: Positions, columns: Sequence[str]) -> pa.Table:
        """Columns of some of them."""
        stored = [name for name in columns if name != "num_records"]
        rows = take(self._adds.select(stored), positions)
        arrays = [
            self._counts(positions) if name == "num_records" else rows.column(name)
            for name in columns
        ]
        return pa.Table.from_arrays(arrays, list(columns))

    def _counts(self, positions: Positions) -> pa.ChunkedArray:
        """Statistics are by far the longest column: only some thousand are copied at once."""
        stats = self._adds.select(["stats"])
        chunks: list[pa.Array] = []
        for start in range(0, len(positions), _COUNTED_AT_ONCE):
            rows = _rows_at(stats, positions[start : start + _COUNTED_AT_ONCE])
            chunks += record_counts(rows.column("stats"), None).chunks
        return pa.chunked_array(chunks, pa.int64())


def _rows_at(table: pa.Table, positions: Positions) -> pa.Table:
    """As `take`; rows that follow each other are not copied."""
    first, count = int(positions[0]), len(positions)
    if (positions == np.arange(first, first + count)).all():
        return table.slice(first, count)
    return take(table, positions)


class LookedUpFiles:
    """The files of a snapshot that have one of some keys; of each key the commits of
    `later`, where it is given, must speak."""

    def __init__(
        self, snapshot: Snapshot, keys: pa.ChunkedArray, later: LoadedVersion | None = None
    ) -> None:
        self._snapshot, self._later = snapshot, later
        self.names: pa.Table = self._lookup(keys, KEY_COLUMNS)

    def read(self, positions: Positions, columns: Sequence[str]) -> pa.Table:
        """Columns of some of them; only their row groups are read."""
        names = take(self.names, positions)
        if not names.num_rows:
            return self._lookup(pa.chunked_array([], pa.string()), columns)
        found = self._lookup(keys_of(names), [*dict.fromkeys([*KEY_COLUMNS, *columns])])
        # the log may have been read another way since, and be in another order
        pairs = pair_files(names, found)
        ordered = pairs.same_after[pairs.same_before.argsort()]
        return found.select(list(columns)).take(build_array(ordered))

    def _lookup(self, keys: pa.ChunkedArray, columns: Sequence[str]) -> pa.Table:
        def lookup(loaded: LoadedVersion) -> pa.Table:
            nothing = empty_table(loaded.state.schema("add", columns))
            later = None if self._later is None else self._later.state
            return pa.concat_tables([nothing, *loaded.state.among("add", keys, columns, later)])

        return self._snapshot.consult(lookup)
