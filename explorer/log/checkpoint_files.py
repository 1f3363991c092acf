"""Checkpoint files and sidecars as Parquet, a row group at a time (spec: Checkpoints)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import pyarrow as pa

from explorer.log.checked_output import WrittenFile, open_checked_output
from explorer.log.checkpoint_content import FileRows
from explorer.progress import Watch
from explorer.storage.at_once import ahead
from explorer.storage.ports import WriteStore

ROWS_PER_GROUP = 100_000
"""Enough to compress well, few enough to hold: some 100 MB where statistics are long."""

# columns of few distinct values; looking for equal ones among paths and statistics costs a
# tenth of the time and finds none
_REPETITIVE: Final = (
    "partitionValues.key_value.key",
    "partitionValues.key_value.value",
    "tags.key_value.key",
    "tags.key_value.value",
    "deletionVector.storageType",
    "deletionVector.pathOrInlineDv",
    "clusteringProvider",
)

# pyarrow writes page by page, and each call would wait for Python's lock
_BUFFER = 2**20

_UNBOUNDED: Final = frozenset(
    {"add.stats", "metaData.schemaString", "domainMetadata.configuration"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """A Parquet file as it went out; `num_rows` are actions, `num_adds` those of them
    that are live files."""

    file: WrittenFile
    num_rows: int
    num_adds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows of one kind of file action, as many as one row group has."""

    action: str
    rows: pa.ChunkedArray


def pieces_of(files: FileRows, rows_at_most: int = ROWS_PER_GROUP) -> Iterator[Piece]:
    """All file actions, adds first, in pieces of one kind and `rows_at_most` rows."""
    yield from _regrouped("add", files.adds, rows_at_most)
    yield from _regrouped("remove", files.removes, rows_at_most)


def _regrouped(action: str, arrays: Iterable[pa.StructArray], most: int) -> Iterator[Piece]:
    """The same rows in full pieces: what comes row group by row group, or commit by
    commit, would make many tiny ones."""
    held: list[pa.StructArray] = []
    count = 0
    for array in arrays:
        rest = array
        while count + len(rest) >= most:
            held.append(rest.slice(0, most - count))
            rest = rest.slice(most - count)
            yield Piece(action=action, rows=_joined(held))
            held, count = [], 0
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield Piece(action=action, rows=_joined(held))


def _joined(arrays: list[pa.StructArray]) -> pa.ChunkedArray:
    return pa.chunked_array(arrays)


def write_rows(
    store: WriteStore,
    path: str,
    schema: pa.Schema,
    small: pa.RecordBatch | None,
    pieces: Iterable[Piece],
    watch: Watch,
) -> WrittenRows:
    """One file of `small` actions and file actions, which come as they are written."""
    import pyarrow.parquet as pq  # not needed to open a small table

    num_rows = num_adds = 0
    with open_checked_output(store, path) as sink:
        buffered = pa.BufferedOutputStream(pa.PythonFile(sink, mode="w"), _BUFFER)
        writer = pq.ParquetWriter(
            buffered,
            schema,
            compression="zstd",
            store_schema=False,
            write_page_checksum=True,
            use_dictionary=[f"{field.name}.{leaf}" for field in schema for leaf in _REPETITIVE],
            write_statistics=_bounded_leaves(schema),
        )
        with writer:
            for action, rows in ahead(chain(_first(small), _widened(schema, pieces))):
                watch.step(num_rows, None, "Writing the checkpoint")
                writer.write_table(rows, row_group_size=ROWS_PER_GROUP)
                num_rows += rows.num_rows
                num_adds += rows.num_rows if action == "add" else 0
        buffered.flush()
        written = sink.written(path)
    return WrittenRows(file=written, num_rows=num_rows, num_adds=num_adds)


def _bounded_leaves(schema: pa.Schema) -> list[str]:
    """The leaves whose least and greatest values, and nulls, tell readers which row groups
    they need not read; nothing inside of lists and maps."""
    found: list[str] = []
    pending = [(field.name, field.type) for field in reversed(schema)]
    while pending:
        name, kind = pending.pop()
        if pa.types.is_struct(kind):
            pending.extend((f"{name}.{item.name}", item.type) for item in reversed(kind))
        elif not pa.types.is_nested(kind) and name not in _UNBOUNDED:
            found.append(name)
    return found


def _first(small: pa.RecordBatch | None) -> Iterator[tuple[str, pa.Table]]:
    if small is not None:
        yield "", pa.Table.from_batches([small])


def _widened(schema: pa.Schema, pieces: Iterable[Piece]) -> Iterator[tuple[str, pa.Table]]:
    """Each piece as a table whose only column with values is that of its action."""
    nothing: dict[str, pa.Array] = {}
    for piece in pieces:
        count = len(piece.rows)
        for field in schema:
            # nearly all pieces have the same number of rows
            if field.name not in nothing or len(nothing[field.name]) != count:
                nothing[field.name] = pa.nulls(count, field.type)
        columns = [
            piece.rows if field.name == piece.action else nothing[field.name] for field in schema
        ]
        yield piece.action, pa.Table.from_arrays(columns, schema=schema)
