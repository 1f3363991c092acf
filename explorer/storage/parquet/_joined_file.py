"""One Parquet file of column chunks that were encoded apart (Parquet: File Format, File
Metadata).

pyarrow encodes a file in one thread. Here it encodes some columns of some rows as a small
file in memory, in as many threads as there are, and the chunks of these are copied into one
file, byte by byte: pages do not know where they lie. The footer alone does, and is written
here: as pyarrow writes that of an empty file, with the row groups put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import pyarrow as pa

from explorer.storage.parquet._thrift_compact import (
    I64,
    LIST,
    STRUCT,
    Struct,
    Value,
    parse_struct,
    render_struct,
)
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings

LeafPath: TypeAlias = tuple[bytes, ...]
"""Names from a column to a leaf, as the footer has them."""

_MAGIC: Final = b"PAR1"

# FileMetaData, and a SchemaElement of it
_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4
_NAME, _NUM_CHILDREN = 4, 5
# RowGroup
_COLUMNS, _BYTES, _ROWS, _START, _COMPRESSED = 1, 2, 3, 5, 6
# ColumnChunk: nothing but a chunk's metadata and its place, which is nowhere
_PLACE, _META_DATA = 2, 3
# ColumnMetaData
_PATH, _PLAIN_SIZE, _SIZE, _DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER = (
    3,
    6,
    7,
    9,
    10,
    11,
    14,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One leaf of some rows, encoded: `data` are its pages, in any number of parts, `entry` its
    `ColumnChunk` as if they began at the byte `start`."""

    path: LeafPath
    num_rows: int
    data: Iterable[pa.Buffer | bytes]
    start: int
    entry: Struct


def encode_chunks(rows: pa.Table, settings: WriterSettings) -> tuple[Chunk, ...]:
    """The chunks of one row group of all of `rows`, one for each leaf. There is at least one
    row, and at most `ROWS_PER_GROUP`."""
    sink = pa.BufferOutputStream()
    with ParquetOutput(sink, rows.schema, settings) as file:
        file.write(rows)
    return split_file(sink.getvalue())


def split_file(file: pa.Buffer) -> tuple[Chunk, ...]:
    """The chunks of a Parquet file of one row group; raises `ValueError` where it has more,
    or what is not known here how to move."""
    footer = _parse_footer(file)
    (group,) = _list(footer, _ROW_GROUPS)
    return tuple(_chunk(file, entry, group[_ROWS][1]) for entry in _list(group, _COLUMNS))


def place_of(entry: Struct) -> tuple[int, int]:
    """Where the pages of a `ColumnChunk` begin and end; raises `KeyError` where it does not say."""
    body = entry[_META_DATA][1]
    start: int = body[_DATA_PAGE][1]
    if _DICTIONARY_PAGE in body:
        start = min(start, body[_DICTIONARY_PAGE][1])
    return start, start + body[_SIZE][1]


class ChunkSink(Protocol):
    """A binary file that is written from its beginning."""

    def write(self, data: Any, /) -> Any:
        """Write all of a buffer."""
        ...

    def tell(self) -> int:
        """How many bytes were written so far."""
        ...


class JoinedFile:
    """A Parquet file that is written chunk after chunk.

    `sink` is at its beginning; `footer` is that of a file with this schema, whose row groups do
    not count. What is written is a file once `finish` was called.
    """

    def __init__(self, sink: ChunkSink, footer: Struct) -> None:
        self._sink = sink
        self._footer = footer
        self._leaves = leaf_paths(footer)
        self._groups: list[Struct] = []
        sink.write(_MAGIC)

    def write_group(self, chunks: Iterable[Chunk]) -> int:
        """Write one row group; answers its number of rows. Raises `ValueError` where the
        chunks are not one for each leaf, all of as many rows."""
        by_path = {chunk.path: chunk for chunk in chunks}
        if by_path.keys() != set(self._leaves) or len(by_path) < len(self._leaves):
            raise ValueError("other leaves than those of the schema")
        (num_rows,) = {chunk.num_rows for chunk in by_path.values()}
        start = self._sink.tell()
        entries = [self._write_chunk(by_path[path]) for path in self._leaves]
        bodies = [entry[_META_DATA][1] for entry in entries]
        self._groups.append(
            {
                _COLUMNS: (LIST, (STRUCT, entries)),
                _BYTES: (I64, sum(body[_PLAIN_SIZE][1] for body in bodies)),
                _ROWS: (I64, num_rows),
                _START: (I64, start),
                _COMPRESSED: (I64, sum(body[_SIZE][1] for body in bodies)),
            }
        )
        return int(num_rows)

    def _write_chunk(self, chunk: Chunk) -> Struct:
        entry = _moved(chunk.entry, self._sink.tell() - chunk.start)
        for part in chunk.data:
            self._sink.write(part)
        return entry

    def finish(self) -> None:
        """Write the footer; raises `ValueError` where pyarrow does not read out of it that the
        chunks lie end to end."""
        footer = dict(self._footer)
        footer[_NUM_ROWS] = I64, sum(group[_ROWS][1] for group in self._groups)
        footer[_ROW_GROUPS] = LIST, (STRUCT, self._groups)
        text = render_struct(footer)
        end = text + len(text).to_bytes(4, "little") + _MAGIC
        _check_places(end, self._sink.tell())
        self._sink.write(end)


def _check_places(end: bytes, written: int) -> None:
    """`end` is what follows `written` bytes of a file."""
    import pyarrow.parquet as pq  # not needed to open a small table

    metadata = pq.read_metadata(pa.BufferReader(_MAGIC + end))
    at = len(_MAGIC)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            if start != at or chunk.num_values < group.num_rows:
                raise ValueError("a column chunk that lies elsewhere")
            at += chunk.total_compressed_size
    if at != written:
        raise ValueError("bytes that belong to no column chunk")


def empty_footer(schema: pa.Schema, settings: WriterSettings) -> Struct:
    """The footer of a file without rows that a `ParquetOutput` would write."""
    sink = pa.BufferOutputStream()
    with ParquetOutput(sink, schema, settings):
        pass
    return _parse_footer(sink.getvalue())


def _parse_footer(file: pa.Buffer) -> Struct:
    end = file.slice(max(0, file.size - 8)).to_pybytes()
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > file.size - 12:
        raise ValueError("no Parquet file")
    return parse_struct(file.slice(file.size - 8 - length, length).to_pybytes())


def leaf_paths(footer: Struct) -> list[LeafPath]:
    """The leaves of a schema, which is written parents first."""
    elements = iter(_list(footer, _SCHEMA))

    def below(above: LeafPath, count: int) -> Iterator[LeafPath]:
        for _ in range(count):
            element = next(elements)
            path = (*above, element[_NAME][1])
            if children := element.get(_NUM_CHILDREN, (0, 0))[1]:
                yield from below(path, children)
            else:
                yield path

    return list(below((), next(elements)[_NUM_CHILDREN][1]))


def _chunk(file: pa.Buffer, entry: Struct, num_rows: int) -> Chunk:
    body = entry[_META_DATA][1]
    start, end = place_of(entry)
    has_more_places = entry.keys() != {_PLACE, _META_DATA} or entry[_PLACE][1]
    if has_more_places or not body.keys().isdisjoint({_INDEX_PAGE, _BLOOM_FILTER}):
        raise ValueError("a chunk with more than pages")
    return Chunk(
        path=tuple(body[_PATH][1][1]),
        num_rows=num_rows,
        data=(file.slice(start, end - start),),
        start=start,
        entry=entry,
    )


def _moved(entry: Struct, by: int) -> Struct:
    """The same chunk, `by` bytes further on."""
    kind, body = entry[_META_DATA]
    places = {field: body[field] for field in (_DATA_PAGE, _DICTIONARY_PAGE) if field in body}
    moved = {field: (width, place + by) for field, (width, place) in places.items()}
    return {**entry, _META_DATA: (kind, {**body, **moved})}


def _list(struct: Struct, field: int) -> list[Value]:
    found: list[Value] = struct[field][1][1]
    return found
