"""Where the columns of a Parquet file lie, from its footer (Parquet: File Metadata).

Only for fetching bytes before they are asked for: whoever decodes them reads the
footer itself, and what is missed or wrong here costs a request and nothing else. So a
footer that cannot be followed has no chunks. pyarrow's own view of a chunk is not
taken, because it ends the process where what a stranger's footer says of one is broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from explorer.storage.ports import ByteRange
from explorer.storage.thrift_compact import BINARY, I16, I32, I64, LIST, STRUCT, CompactReader

_NUMBERS = frozenset({I16, I32, I64})

# the fields that lead to a chunk: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_PATH, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 3, 7, 9, 11

# following a byte takes about a quarter of a microsecond: more than this costs more than it saves
_LARGEST = 2**19


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChunk:
    """One leaf in one row group: `path` is dotted, `start` and `end` are bytes of the file."""

    path: str
    start: int
    end: int


def parse_chunks(footer: bytes) -> list[list[ColumnChunk]]:
    """The chunks of each row group; none where the footer is too large or cannot be followed."""
    if len(footer) > _LARGEST:
        return []
    try:
        return _Footer(footer).row_groups()
    except (IndexError, ValueError):
        return []


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
        if names is None or not names.isdisjoint(_prefixes(chunk.path))
    ]


def _prefixes(path: str) -> Iterator[str]:
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
                found = [self._chunk() for _ in self._elements(STRUCT)]
                chunks = [chunk for chunk in found if chunk is not None]
            else:
                self.skip(kind)
        return chunks

    def _chunk(self) -> ColumnChunk | None:
        found: ColumnChunk | None = None
        for field, kind in self.fields():
            if field == _META_DATA and kind == STRUCT:
                found = self._meta_data()
            else:
                self.skip(kind)
        return found

    def _meta_data(self) -> ColumnChunk | None:
        path = ""
        numbers: dict[int, int] = {}
        for field, kind in self.fields():
            if field == _PATH and kind == LIST:
                path = ".".join(
                    self.binary().decode("utf-8", "replace") for _ in self._elements(BINARY)
                )
            elif kind in _NUMBERS:
                numbers[field] = self.number()
            else:
                self.skip(kind)
        start, size = numbers.get(_DATA_PAGE, 0), numbers.get(_COMPRESSED_SIZE, 0)
        start = min(start, numbers.get(_DICTIONARY_PAGE) or start)
        if start <= 0 or size <= 0:
            return None
        return ColumnChunk(path=path, start=start, end=start + size)

    def _elements(self, wanted: int) -> range:
        kind, count = self.elements()
        if count and kind != wanted:
            raise ValueError("a list of another type")
        return range(count)
