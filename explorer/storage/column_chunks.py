"""Where the columns of a Parquet file lie, from its footer (Parquet: File Metadata).

For fetching bytes before they are asked for, where what is missed or wrong costs a
request and nothing else, so that a footer that cannot be followed has no chunks; and for
looking at pages before they are decoded, where it is an error. pyarrow's own view of a chunk
is not taken, because it ends the process where what a stranger's footer says of one is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from explorer.storage.ports import ByteRange
from explorer.storage.thrift_compact import BINARY, I16, I32, I64, LIST, STRUCT, CompactReader

_NUMBERS = frozenset({I16, I32, I64})

# the fields that lead to a chunk: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_TYPE, _PATH, _NUM_VALUES, _SIZE, _COMPRESSED_SIZE = 1, 3, 5, 6, 7
_DATA_PAGE, _DICTIONARY_PAGE = 9, 11

# following a byte takes about a quarter of a microsecond: more than this costs more than it saves
_LARGEST = 2**19


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChunk:
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
    return _Footer(footer).row_groups()


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


class _Footer(CompactReader):
    """A `FileMetaData`."""

    def row_groups(self) -> list[list[ColumnChunk]]:
        groups: list[list[ColumnChunk]] = []
        for field, kind in self.fields():
            if field == _ROW_GROUPS and kind == LIST:
                groups = [self._row_group() for _ in self._elements(STRUCT)]
            else:
                self.skip(kind)
        return groups

    def _row_group(self) -> list[ColumnChunk]:
        chunks: list[ColumnChunk] = []
        for field, kind in self.fields():
            if field == _COLUMNS and kind == LIST:
                chunks = [self._chunk() for _ in self._elements(STRUCT)]
            else:
                self.skip(kind)
        return chunks

    def _chunk(self) -> ColumnChunk:
        path = ""
        numbers: dict[int, int] = {}
        for field, kind in self.fields():
            if field == _META_DATA and kind == STRUCT:
                path = self._meta_data(numbers)
            else:
                self.skip(kind)
        start, size = numbers.get(_DATA_PAGE, 0), max(numbers.get(_COMPRESSED_SIZE, 0), 0)
        if 0 < numbers.get(_DICTIONARY_PAGE, 0) < start:
            start = numbers[_DICTIONARY_PAGE]
        start = max(start, 0)
        return ColumnChunk(
            path=path,
            start=start,
            end=start + size,
            size=numbers.get(_SIZE, 0),
            num_values=numbers.get(_NUM_VALUES, 0),
            physical_type=numbers.get(_TYPE, -1),
        )

    def _meta_data(self, numbers: dict[int, int]) -> str:
        path = ""
        for field, kind in self.fields():
            if field == _PATH and kind == LIST:
                path = ".".join(
                    self.binary().decode("utf-8", "replace") for _ in self._elements(BINARY)
                )
            elif kind in _NUMBERS:
                numbers[field] = self.number()
            else:
                self.skip(kind)
        return path

    def _elements(self, wanted: int) -> range:
        kind, count = self.elements()
        if count and kind != wanted:
            raise ValueError("a list of another type")
        return range(count)
