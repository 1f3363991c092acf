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

# types of Thrift's compact protocol
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    *range(4),
    *range(7, 13),
)
_NUMBERS = frozenset({4, 5, 6})

# the fields that lead to a chunk: FileMetaData, RowGroup, ColumnChunk, ColumnMetaData
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_PATH, _COMPRESSED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 3, 7, 9, 11

_MAX_DEPTH = 32

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


class _Footer:
    """A `FileMetaData` in Thrift's compact protocol, read from its beginning.

    Every value takes at least one byte, so that no claimed count outlasts the footer.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def row_groups(self) -> list[list[ColumnChunk]]:
        groups: list[list[ColumnChunk]] = []
        for field, kind in self._fields():
            if field == _ROW_GROUPS and kind == _LIST:
                groups = [self._row_group() for _ in self._elements(_STRUCT)]
            else:
                self._skip(kind, 0)
        return groups

    def _row_group(self) -> list[ColumnChunk]:
        chunks: list[ColumnChunk] = []
        for field, kind in self._fields():
            if field == _COLUMNS and kind == _LIST:
                found = [self._chunk() for _ in self._elements(_STRUCT)]
                chunks = [chunk for chunk in found if chunk is not None]
            else:
                self._skip(kind, 0)
        return chunks

    def _chunk(self) -> ColumnChunk | None:
        found: ColumnChunk | None = None
        for field, kind in self._fields():
            if field == _META_DATA and kind == _STRUCT:
                found = self._meta_data()
            else:
                self._skip(kind, 0)
        return found

    def _meta_data(self) -> ColumnChunk | None:
        path = ""
        numbers: dict[int, int] = {}
        for field, kind in self._fields():
            if field == _PATH and kind == _LIST:
                path = ".".join(
                    self._binary().decode("utf-8", "replace") for _ in self._elements(_BINARY)
                )
            elif kind in _NUMBERS:
                numbers[field] = self._number()
            else:
                self._skip(kind, 0)
        start, size = numbers.get(_DATA_PAGE, 0), numbers.get(_COMPRESSED_SIZE, 0)
        start = min(start, numbers.get(_DICTIONARY_PAGE) or start)
        if start <= 0 or size <= 0:
            return None
        return ColumnChunk(path=path, start=start, end=start + size)

    def _fields(self) -> Iterator[tuple[int, int]]:
        """The id and type of each field of a struct; its value must be read before the next."""
        field = 0
        while (head := self._byte()) != _STOP:
            field = field + (head >> 4) if head >> 4 else self._number()
            yield field, head & 0x0F

    def _elements(self, wanted: int) -> range:
        head = self._byte()
        count = head >> 4
        if count == 0x0F:
            count = self._varint()
        if count and head & 0x0F != wanted:
            raise ValueError("a list of another type")
        return range(count)

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")
        return value | byte << shift

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _binary(self) -> bytes:
        length = self._varint()
        start = self._at
        self._at = start + length
        return self._data[start : self._at]

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")
        if kind in _NUMBERS:
            self._varint()
        elif kind == _BINARY:
            self._binary()
        elif kind in {_BYTE, _DOUBLE}:
            self._at += 1 if kind == _BYTE else 8
        elif kind == _STRUCT:
            for _, inner in self._fields():
                self._skip(inner, depth + 1)
        elif kind in {_LIST, _SET}:
            self._skip_list(depth)
        elif kind == _MAP:
            self._skip_map(depth)
        elif kind not in {_TRUE, _FALSE}:  # whose field's type is all there is
            raise ValueError("a type that Thrift does not have")

    def _skip_list(self, depth: int) -> None:
        head = self._byte()
        count = self._varint() if head >> 4 == 0x0F else head >> 4
        for _ in range(count):
            self._skip_element(head & 0x0F, depth)

    def _skip_map(self, depth: int) -> None:
        if count := self._varint():
            kinds = self._byte()
            for _ in range(count):
                self._skip_element(kinds >> 4, depth)
                self._skip_element(kinds & 0x0F, depth)

    def _skip_element(self, kind: int, depth: int) -> None:
        # in a list a truth value has a byte of its own
        self._skip(_BYTE if kind in {_TRUE, _FALSE} else kind, depth + 1)
