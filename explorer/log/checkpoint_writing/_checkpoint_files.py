"""Checkpoint files and sidecars as Parquet, a row group at a time (spec: Checkpoints)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from explorer.log.actions.fields import FileAction
from explorer.log.checkpoint_content.content import FileActionRows
from explorer.log.checkpoint_writing._checked_output import CheckedFile, open_checked_output
from explorer.progress import Watch
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings
from explorer.storage.ports import WriteStore

ROWS_PER_GROUP: Final = 100_000
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

_UNBOUNDED: Final = frozenset(
    {"add.stats", "metaData.schemaString", "domainMetadata.configuration"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows of one kind of file action, as many as one row group has."""

    action: FileAction
    rows: pa.ChunkedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRows:
    """A Parquet file as it went out; `num_rows` are actions, `num_adds` those of them
    that are live files."""

    file: CheckedFile
    num_rows: int
    num_adds: int


def pieces_of(files: FileActionRows, rows_at_most: int = ROWS_PER_GROUP) -> Iterator[Piece]:
    """All file actions, adds first, in pieces of one kind and `rows_at_most` rows."""
    yield from _regrouped("add", files.adds, rows_at_most)
    yield from _regrouped("remove", files.removes, rows_at_most)


def _regrouped(action: FileAction, arrays: Iterable[pa.StructArray], most: int) -> Iterator[Piece]:
    """The same rows in full pieces: what comes row group by row group, or commit by
    commit, would make many tiny ones."""
    held: list[pa.StructArray] = []
    count = 0
    for array in arrays:
        rest = array
        while count + len(rest) >= most:
            held.append(rest.slice(0, most - count))
            rest = rest.slice(most - count)
            yield Piece(action=action, rows=pa.chunked_array(held))
            held, count = [], 0
        if len(rest):
            held.append(rest)
            count += len(rest)
    if held:
        yield Piece(action=action, rows=pa.chunked_array(held))


def write_rows(
    store: WriteStore,
    path: str,
    schema: pa.Schema,
    small: pa.RecordBatch | None,
    pieces: Iterable[Piece],
    watch: Watch,
) -> WrittenRows:
    """One file of `small` actions and file actions, which come as they are written."""
    num_rows = num_adds = 0
    with open_checked_output(store, path) as sink:
        with ParquetOutput(sink, schema, _settings(schema)) as file:
            for action, rows in _groups(schema, small, pieces):
                watch.step(num_rows, None, "Writing the checkpoint")
                file.write(rows)
                num_rows += rows.num_rows
                num_adds += rows.num_rows if action == "add" else 0
        written = sink.written(path)
    return WrittenRows(file=written, num_rows=num_rows, num_adds=num_adds)


def _groups(
    schema: pa.Schema, small: pa.RecordBatch | None, pieces: Iterable[Piece]
) -> Iterator[tuple[FileAction | None, pa.Table]]:
    """The row groups of a file, and what kind of file action all rows of each are; None for
    actions that are few."""
    if small is not None:
        for start in range(0, small.num_rows, ROWS_PER_GROUP):
            yield None, pa.Table.from_batches([small.slice(start, ROWS_PER_GROUP)])
    for piece in pieces:
        columns = [
            piece.rows if field.name == piece.action else pa.nulls(len(piece.rows), field.type)
            for field in schema
        ]
        yield piece.action, pa.Table.from_arrays(columns, schema=schema)


def _settings(schema: pa.Schema) -> WriterSettings:
    return WriterSettings(
        codec="zstd",
        page_checksums=True,
        dictionary=tuple(f"{field.name}.{leaf}" for field in schema for leaf in _REPETITIVE),
        unbounded=_UNBOUNDED,
    )
