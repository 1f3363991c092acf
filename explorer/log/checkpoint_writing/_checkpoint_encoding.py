"""Actions of a checkpoint as the column chunks of its row groups, encoded in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from explorer.log.actions.fields import FileAction
from explorer.storage.parquet.joined_file import Chunk, encode_chunks
from explorer.storage.parquet.writer import WriterSettings

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

ROWS_PER_GROUP = 100_000
"""Enough to compress well, few enough to hold: some 100 MB where statistics are long."""

# more would wait for the one that reads
_ENCODERS: Final = min(4, os.cpu_count() or 1)

# while the last fields of one row group are encoded, the first ones of the next can be
_GROUPS_AT_ONCE: Final = 2

_Jobs: TypeAlias = "list[Future[tuple[Chunk, ...]]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows of one kind of file action, as many as one row group has."""

    action: FileAction
    rows: pa.ChunkedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedGroup:
    """A row group, and what kind of action all its rows are; None for those that are few."""

    action: FileAction | None
    chunks: tuple[Chunk, ...]


def encode_groups(
    schema: pa.Schema,
    small: pa.RecordBatch | None,
    pieces: Iterable[Piece],
    settings: WriterSettings,
) -> Generator[EncodedGroup, None, None]:
    """The row groups of a file of `small` actions and file actions, in this order;
    `pieces` are asked for as there is room for them."""
    # see `explorer.storage.concurrent_reads` for why it stands here
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    waiting: deque[tuple[FileAction | None, _Jobs]] = deque()
    with ThreadPoolExecutor(_ENCODERS, thread_name_prefix="delta-explorer-encode") as pool:
        encoder = _Encoder(schema, settings, pool)
        few = () if small is None else encoder.submit_small(small)
        files = ((piece.action, encoder.submit(piece)) for piece in pieces)
        try:
            for group in chain(few, files):
                waiting.append(group)
                if len(waiting) > _GROUPS_AT_ONCE:
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        finally:
            for _, jobs in waiting:
                for job in jobs:
                    job.cancel()


def _result(action: FileAction | None, jobs: _Jobs) -> EncodedGroup:
    chunks = (chunk for job in jobs for chunk in job.result())
    return EncodedGroup(action=action, chunks=tuple(chunks))


class _Encoder:
    """Encodes each field of an action apart. What has no value in any row is the same
    wherever as many rows have none, and is encoded once."""

    def __init__(
        self, schema: pa.Schema, settings: WriterSettings, pool: ThreadPoolExecutor
    ) -> None:
        self._schema = schema
        self._settings = settings
        self._pool = pool
        self._nothing: dict[tuple[FileAction, str | None, int], Future[tuple[Chunk, ...]]] = {}

    def submit_small(self, rows: pa.RecordBatch) -> Iterator[tuple[None, _Jobs]]:
        for start in range(0, rows.num_rows, ROWS_PER_GROUP):
            table = pa.Table.from_batches([rows.slice(start, ROWS_PER_GROUP)])
            yield None, [self._pool.submit(encode_chunks, table, self._settings)]

    def submit(self, piece: Piece) -> _Jobs:
        count = len(piece.rows)
        jobs = [self._submit_others(piece.action, count)] if len(self._schema) > 1 else []
        for at, field in enumerate(piece.rows.type):
            values = [rows.field(at) for rows in piece.rows.chunks]
            if sum(array.null_count for array in values) == count:
                jobs.append(self._submit_nulls(piece.action, field, count))
            else:
                jobs.append(self._pool.submit(self._encode, piece.action, field, values))
        return jobs

    def _submit_others(self, action: FileAction, count: int) -> Future[tuple[Chunk, ...]]:
        """The columns of all other actions."""

        def encode() -> tuple[Chunk, ...]:
            others = pa.schema([field for field in self._schema if field.name != action])
            nothing = [pa.nulls(count, field.type) for field in others]
            return encode_chunks(pa.Table.from_arrays(nothing, schema=others), self._settings)

        return self._once((action, None, count), encode)

    def _submit_nulls(
        self, action: FileAction, field: pa.Field, count: int
    ) -> Future[tuple[Chunk, ...]]:
        """A field without a value in any row."""

        def encode() -> tuple[Chunk, ...]:
            return self._encode(action, field, [pa.nulls(count, field.type)])

        return self._once((action, field.name, count), encode)

    def _once(
        self, key: tuple[FileAction, str | None, int], encode: Callable[[], tuple[Chunk, ...]]
    ) -> Future[tuple[Chunk, ...]]:
        if key not in self._nothing:
            self._nothing[key] = self._pool.submit(encode)
        return self._nothing[key]

    def _encode(
        self, action: FileAction, field: pa.Field, values: list[pa.Array]
    ) -> tuple[Chunk, ...]:
        rows = [pa.StructArray.from_arrays([array], fields=[field]) for array in values]
        table = pa.Table.from_arrays([pa.chunked_array(rows)], names=[action])
        return encode_chunks(table, self._settings)
