"""Where the columns of a Parquet file lie, from its footer (Parquet: File Metadata).

For fetching bytes before they are asked for, where what is missed or wrong costs a
request and nothing else, so that a footer that cannot be followed has no chunks; and for
looking at pages before they are decoded, where it is an error. pyarrow's own view of a chunk
is not taken, because it ends the process where what a stranger's footer says of one is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from explorer.storage.ports import ByteRange
from explorer.storage.thrift_fields import Fields, number_in, read_fields

_T = TypeVar("_T")

# the fields that lead to a chunk: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_TYPE, _PATH, _NUM_VALUES, _SIZE, _COMPRESSED_SIZE = 1, 3, 5, 6, 7
_DATA_PAGE, _DICTIONARY_PAGE = 9, 11

# following a byte takes about a tenth of a microsecond: more than this costs more than it saves
_LARGEST = 2**19


class ColumnChunk(NamedTuple):  # made by the hundred for each file, three times as fast
    """One leaf in one row group: `path` is dotted, `start` and `end` are bytes of the file,
    the same for a chunk that says of none; `size` is that of its pages before compression,
    `physical_type` the number of Parquet's type, and both are as the footer claims."""

    path: str
    start: int
    end: int
    size: int
    num_values: int
    physical_type: int


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
    `IndexError` or `ValueError` where the footer cannot be followed."""
    fields, _ = read_fields(footer)
    return [_chunks_of(group) for group in _elements(fields, _ROW_GROUPS, dict)]


def ranges_of(
    chunks: Sequence[Sequence[ColumnChunk]], groups: Iterable[int], columns: Iterable[str] | None
) -> list[ByteRange]:
    """The bytes of some row groups' columns; a name is a leaf or what leaves lie in, and
    None stands for all."""
    names = None if columns is None else frozenset(columns)
    return [
        (chunk.start, chunk.end)
        for group in groups
        if group < len(chunks)
        for chunk in chunks[group]
        if chunk.start < chunk.end and (names is None or not names.isdisjoint(prefixes(chunk.path)))
    ]


def prefixes(path: str) -> Iterator[str]:
    """A dotted path and what it lies in: by these names pyarrow can be asked for it."""
    yield path
    at = path.find(".")
    while at >= 0:
        yield path[:at]
        at = path.find(".", at + 1)


def _chunks_of(group: Fields) -> list[ColumnChunk]:
    return [_chunk_of(column) for column in _elements(group, _COLUMNS, dict)]


def _chunk_of(column: Fields) -> ColumnChunk:
    said = column.get(_META_DATA)
    if not isinstance(said, dict):
        said = {}
    start, size = number_in(said, _DATA_PAGE), max(number_in(said, _COMPRESSED_SIZE), 0)
    if 0 < (dictionary := number_in(said, _DICTIONARY_PAGE)) < start:
        start = dictionary
    start = max(start, 0)
    return ColumnChunk(
        path=b".".join(_elements(said, _PATH, bytes)).decode("utf-8", "replace"),
        start=start,
        end=start + size,
        size=number_in(said, _SIZE),
        num_values=number_in(said, _NUM_VALUES),
        physical_type=number_in(said, _TYPE, -1),
    )


def _elements(fields: Fields, field: int, kind: type[_T]) -> list[_T]:
    """Those of a list; where they are something else, pyarrow reads them as if they were not."""
    found = fields.get(field, [])
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise ValueError("a list of another type")
    return found
