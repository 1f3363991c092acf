"""Where the columns of a Parquet file lie, from its footer (Parquet: File Metadata).

For fetching bytes before they are asked for, where what is missed or wrong costs a
request and nothing else, so that a footer that cannot be followed has no chunks; and for
looking at pages before they are decoded, where it is an error. pyarrow's own view of a chunk
is not taken, because it ends the process where what a stranger's footer says of one is broken.
Whose chunk one is, its place says: pyarrow does not look at the name that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from explorer.storage.parquet._thrift_compact import BINARY, I32, I64, LIST, STRUCT
from explorer.storage.parquet._thrift_fields import Fields, Wire, number_in, read_fields
from explorer.storage.ports import ByteRange

# the fields that lead to a chunk: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_TYPE, _CODEC, _NUM_VALUES, _SIZE, _COMPRESSED_SIZE = 1, 4, 5, 6, 7
_DATA_PAGE, _DICTIONARY_PAGE, _STATISTICS = 9, 11, 12
_NULL_COUNT = 3

# all others that are lists, or have some inside: a list whose elements were of another type than
# Parquet has there would be read otherwise by pyarrow
_NUMBERS, _LONG_NUMBERS = Wire(LIST, I32), Wire(LIST, I64)
_TEXTS, _STRUCTS = Wire(LIST, BINARY), Wire(LIST, STRUCT)
_COLUMN_META_DATA = {
    **dict.fromkeys((_TYPE, _CODEC), Wire(I32)),
    **dict.fromkeys((_NUM_VALUES, _SIZE, _COMPRESSED_SIZE), Wire(I64)),
    **dict.fromkeys((_DATA_PAGE, _DICTIONARY_PAGE), Wire(I64)),
    2: _NUMBERS,  # encodings
    3: _TEXTS,  # path_in_schema
    8: _STRUCTS,  # key_value_metadata
    _STATISTICS: Wire(STRUCT, fields={_NULL_COUNT: Wire(I64)}),
    13: _STRUCTS,  # encoding_stats
    16: Wire(STRUCT, fields={2: _LONG_NUMBERS, 3: _LONG_NUMBERS}),  # size_statistics
    17: Wire(STRUCT, fields={2: _NUMBERS}),  # geospatial_statistics
}
_COLUMN_CHUNK = {
    _META_DATA: Wire(STRUCT, fields=_COLUMN_META_DATA),
    8: Wire(STRUCT, fields={2: Wire(STRUCT, fields={1: _TEXTS})}),  # crypto_metadata
}
_ROW_GROUP = {
    _COLUMNS: Wire(LIST, STRUCT, _COLUMN_CHUNK),
    4: _STRUCTS,  # sorting_columns
}
_FILE_META_DATA = {
    2: _STRUCTS,  # schema
    _ROW_GROUPS: Wire(LIST, STRUCT, _ROW_GROUP),
    5: _STRUCTS,  # key_value_metadata
    7: _STRUCTS,  # column_orders
}

# following a byte takes about a tenth of a microsecond: more than this costs more than it saves
_LARGEST = 2**19

# each version of a table opens the same few checkpoints again; their footers are this small
_KEPT = 2**16
_MOST_KEPT = 32


class ColumnChunk(NamedTuple):  # made by the hundred for each file
    """One leaf in one row group: `start` and `end` are bytes of the file, the same for a chunk
    that says of none; `size` is that of its pages before compression, `codec` and
    `physical_type` are Parquet's numbers, `num_nulls` is -1 where the footer does not count
    them, and all of it is as the footer claims."""

    start: int
    end: int
    size: int
    num_values: int
    codec: int
    physical_type: int
    num_nulls: int


def parse_chunks(footer: bytes) -> list[list[ColumnChunk]]:
    """The chunks of each row group; none where the footer is too large or cannot be followed."""
    if len(footer) > _LARGEST:
        return []
    try:
        return follow_chunks(footer)
    except (IndexError, ValueError):
        return []


def follow_chunks(footer: bytes) -> list[list[ColumnChunk]]:
    """The chunks of each row group, one for each leaf of the schema in its order; raises
    `IndexError` or `ValueError` where the footer cannot be followed. Not to be changed: who
    asks of the same footer again may get the same lists."""
    return _kept(footer) if len(footer) <= _KEPT else _follow(footer)


def _follow(footer: bytes) -> list[list[ColumnChunk]]:
    fields, _ = read_fields(footer, _FILE_META_DATA)
    groups = fields.get(_ROW_GROUPS, ())
    return [[_chunk_of(column) for column in group.get(_COLUMNS, ())] for group in groups]


_kept = lru_cache(_MOST_KEPT)(_follow)


def ranges_of(
    chunks: Sequence[Sequence[ColumnChunk]], groups: Iterable[int], leaves: Sequence[int]
) -> list[ByteRange]:
    """The bytes of some row groups' columns, by their places among the leaves."""
    found = (
        chunks[group][leaf]
        for group in groups
        if group < len(chunks)
        for leaf in leaves
        if leaf < len(chunks[group])
    )
    return [(chunk.start, chunk.end) for chunk in found if chunk.start < chunk.end]


def _chunk_of(column: Fields) -> ColumnChunk:
    said: Fields = column.get(_META_DATA, {})
    start, size = number_in(said, _DATA_PAGE), max(number_in(said, _COMPRESSED_SIZE), 0)
    if 0 < (dictionary := number_in(said, _DICTIONARY_PAGE)) < start:
        start = dictionary
    start = max(start, 0)
    return ColumnChunk(
        start=start,
        end=start + size,
        size=number_in(said, _SIZE),
        num_values=number_in(said, _NUM_VALUES),
        codec=number_in(said, _CODEC),
        physical_type=number_in(said, _TYPE, -1),
        num_nulls=number_in(said.get(_STATISTICS, {}), _NULL_COUNT, -1),
    )
