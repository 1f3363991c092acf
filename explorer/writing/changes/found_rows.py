"""Rows that leave their data files: by the path of the file, and their positions in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyroaring import BitMap64

from explorer.log.actions.columns import int64_column, string_column

POSITIONS: Final = "positions"

FOUND: Final = pa.schema(
    [
        ("path", pa.string()),
        (POSITIONS, pa.binary()),
        ("num_found", pa.int64()),
        ("num_live", pa.int64()),
        ("num_physical", pa.int64()),
    ]
)
"""One row for each file in which a row was found. `path` is as in the log; `positions` are
physical, from 0, as `render_positions` has them; `num_live` and `num_physical` are the rows that
the file has without its hidden ones, and with them."""


def render_positions(positions: Iterable[int] | BitMap64) -> bytes:
    """Positions as the bytes of a bitmap."""
    found = positions if isinstance(positions, BitMap64) else BitMap64(positions)
    found.run_optimize()
    return bytes(found.serialize())


def parse_positions(data: bytes) -> BitMap64:
    """What `render_positions` made."""
    return BitMap64.deserialize(data)


def found_table(rows: Sequence[tuple[str, BitMap64, int, int]]) -> pa.Table:
    """A table `FOUND` of path, positions, live and physical rows."""
    return pa.Table.from_arrays(
        [
            string_column([path for path, *_ in rows]),
            pa.array([render_positions(positions) for _, positions, *_ in rows], pa.binary()),
            int64_column([len(positions) for _, positions, *_ in rows]),
            int64_column([live for _, _, live, _ in rows]),
            int64_column([physical for *_, physical in rows]),
        ],
        schema=FOUND,
    )


def join_found(parts: pa.Table, counts: Mapping[str, tuple[int, int]] | None = None) -> pa.Table:
    """One row for each file of `FOUND` rows, which may be several for a file; `counts` are live and
    physical rows where the parts say none."""
    every: dict[str, BitMap64] = {}
    told: dict[str, tuple[int, int]] = dict(counts or {})
    for row in _rows(parts):
        positions = parse_positions(row[POSITIONS])
        if (known := every.get(row["path"])) is None:
            every[row["path"]] = positions
        else:
            known |= positions
        if row["num_live"] is not None:
            told[row["path"]] = row["num_live"], row["num_physical"]
    return found_table([(path, found, *told[path]) for path, found in every.items()])


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=1024):
        yield from batch.to_pylist()
