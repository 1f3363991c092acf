"""A Parquet file without some of its rows: all pages that hold none of these are copied byte by
byte, the others are edited (Parquet: File Format, File Metadata).

Row groups, pages, dictionaries and everything that the footer says stay as they were, so that
the file is read as fast as before. What is edited is decoded, before and after, by pyarrow, and has
to be the same but for the rows that go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

import explorer.compute_functions as pc
from explorer.storage.parquet._joined_file import (
    Chunk,
    ChunkSink,
    JoinedFile,
    LeafPath,
    encode_chunks,
    place_of,
)
from explorer.storage.parquet._page_edits import (
    NotEditableError,
    Page,
    PagedLeaf,
    Places,
    edit_page,
    walk_pages,
)
from explorer.storage.parquet._page_headers import read_footer
from explorer.storage.parquet._thrift_compact import (
    I64,
    LIST,
    STRUCT,
    TRUE,
    Struct,
    number_in,
    parse_struct,
    parse_struct_at,
    render_struct,
)
from explorer.storage.parquet.file_bytes import ParquetSource
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.parquet.writer import WriterSettings

__all__ = ["FileWithoutRows", "NotEditableError", "Places"]

_MAGIC: Final = b"PAR1"

# FileMetaData; a SchemaElement of it
_VERSION, _SCHEMA, _NUM_ROWS, _ROW_GROUPS, _CREATED_BY, _ENCRYPTION = 1, 2, 3, 4, 6, 8
_TYPE, _TYPE_LENGTH, _REPETITION, _NAME, _NUM_CHILDREN = 1, 2, 3, 4, 5
_CONVERTED, _LOGICAL = 6, 10
_OPTIONAL, _REPEATED = 1, 2
# RowGroup, ColumnChunk
_COLUMNS, _ROWS = 1, 3
_META_DATA, _CRYPTO, _ENCRYPTED = 3, 8, 9
_INDEXES: Final = (4, 5, 6, 7)
"""Where page indexes lie, which are not copied."""
# ColumnMetaData
_CODEC, _NUM_VALUES, _PLAIN_SIZE, _SIZE, _DATA_PAGE, _DICTIONARY_PAGE, _STATISTICS = (
    4,
    5,
    6,
    7,
    9,
    11,
    12,
)
_LEFT_OUT: Final = (10, 14, 15, 16, 17)
"""Index pages, Bloom filters, and counts that editing would make wrong."""
_NOT_OF_A_PAGE: Final = (8, _DICTIONARY_PAGE, _STATISTICS, 13)
"""Key and value metadata, and what speaks of all pages."""
# Statistics
_NULL_COUNT, _MAX, _MIN, _MAX_EXACT, _MIN_EXACT = 3, 5, 6, 7, 8

_MOST_ROWS: Final = 2**24
"""Of a row group: a page is held in memory by what it claims to have."""

_Bounds: TypeAlias = tuple[bytes, bytes]

_ENDS: Final = ("min", "max")
_BITS: Final = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """A leaf of the schema: the elements that lead to it, and how its pages are read."""

    path: LeafPath
    chain: tuple[Struct, ...]
    physical_type: int
    fixed_size: int
    most_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """Bytes of a file, and others between them; read each time they are gone through."""

    source: ParquetSource
    parts: tuple[tuple[int, int] | bytes, ...]

    def __iter__(self) -> Iterator[bytes]:
        """Each once."""
        for part in self.parts:
            yield part if isinstance(part, bytes) else _read(self.source, *part)


@dataclass(slots=True, kw_only=True)
class _Edited:
    """A column of a row group that loses rows: its new chunk, and the values that go."""

    chunk: Chunk
    removed: list[pa.Table]


class FileWithoutRows:
    """An open file without the rows at `dropped`, of which it keeps at least one.

    Pages that are edited may have one of `share` values at most. Raises `NotEditableError` for a
    file whose rows cannot be taken out of its pages, before anything is written, and what pyarrow
    raises for one that cannot be read.
    """

    def __init__(
        self, source: ParquetSource, reader: ParquetReader, dropped: Places, share: int
    ) -> None:
        if source.ranged is not None:
            raise NotEditableError("a store whose files come by requests")
        text = read_footer(source.file)
        if text is None:
            raise NotEditableError("a footer that is too large")
        self._source, self._reader = source, reader
        self._footer = parse_struct(text)
        if _ENCRYPTION in self._footer:
            raise NotEditableError("an encrypted file")
        self._leaves = _leaves(self._footer)
        self.num_rows = 0
        self.removed: dict[tuple[str, ...], list[pa.Table]] = {}
        """The values that go, by the path of each leaf: tables of the column that it is in, which
        have nothing else."""
        self.near: dict[tuple[str, ...], list[pa.Table]] = {}
        """The values that stay in the same pages."""
        self._dropped = dropped
        self._rests: dict[tuple[int, int], pa.Table] = {}
        try:
            num_values = number_in(self._footer, _NUM_ROWS) * len(self._leaves)
            self._most_values = num_values // share
            self._groups = [chunks for chunks in self._plan(dropped) if chunks]
        except (KeyError, TypeError, UnicodeDecodeError) as error:
            raise NotEditableError("a footer that cannot be followed") from error
        if not self._groups:
            raise NotEditableError("a file without a row left")

    def write(self, sink: ChunkSink) -> None:
        """Write the file; raises `NotEditableError` where it is not one in the end."""
        try:
            file = JoinedFile(sink, self._footer)
            for chunks in self._groups:
                file.write_group(chunks)
            file.finish()
        except ValueError as error:
            raise NotEditableError("a file whose parts do not fit together") from error

    def rest(self, path: tuple[str, ...]) -> Iterator[pa.Table]:
        """The values of a leaf that stay, row group by row group; `KeyError` where there is no such
        leaf."""
        names = tuple(name.encode() for name in path)
        places = {leaf.path: at for at, leaf in enumerate(self._leaves)}
        for group in range(len(_structs(self._footer, _ROW_GROUPS))):
            at = places[names]
            held = self._rests.pop((group, at), None)
            yield self._read_rest(group, at) if held is None else held

    def _read_rest(self, group: int, at: int) -> pa.Table:
        counts = [number_in(held, _ROWS) for held in _structs(self._footer, _ROW_GROUPS)]
        start = sum(counts[:group])
        ends = np.searchsorted(self._dropped, [start, start + counts[group]])
        gone = (self._dropped[slice(*ends)] - start).tolist()
        rows = self._reader.read_group(group, [at], use_threads=True)
        cuts = zip([-1, *gone], [*gone, rows.num_rows], strict=True)
        return pa.concat_tables(
            [rows.slice(before + 1, after - before - 1) for before, after in cuts]
        )

    def _plan(self, dropped: Places) -> Iterator[list[Chunk]]:
        row = 0
        for number, group in enumerate(_structs(self._footer, _ROW_GROUPS)):
            count = number_in(group, _ROWS)
            entries = _structs(group, _COLUMNS)
            if len(entries) != len(self._leaves) or not 0 < count <= _MOST_ROWS:
                raise NotEditableError("row groups that are not like the schema")
            first, last = np.searchsorted(dropped, [row, row + count])
            gone = dropped[first:last] - row
            row += count
            self.num_rows += count - len(gone)
            if len(gone) == count:
                yield []
                continue
            yield [
                self._copied(leaf, entry, count)
                if not len(gone)
                else self._edited(number, at, entry, count, gone)
                for at, (leaf, entry) in enumerate(zip(self._leaves, entries, strict=True))
            ]
        if len(dropped) and dropped[-1] >= row:
            raise NotEditableError("rows beyond the end of the file")

    def _copied(self, leaf: _Leaf, entry: Struct, count: int) -> Chunk:
        start, end = place_of(entry)
        parts = _Parts(source=self._source, parts=((start, end),))
        return Chunk(path=leaf.path, num_rows=count, data=parts, start=start, entry=_plain(entry))

    def _edited(self, group: int, at: int, entry: Struct, count: int, gone: Places) -> Chunk:
        leaf, entry = self._leaves[at], _plain(entry)
        start, end = place_of(entry)
        edit = _ChunkEdit(
            source=self._source, leaf=leaf, footer=self._footer, entry=entry, gone=gone
        )
        for page in walk_pages(lambda n, p: _read(self._source, p, p + n), start, end, count):
            edit.add(page)
        self._most_values -= edit.num_edited
        if self._most_values < 0:
            raise NotEditableError("too many values lie in pages that lose a row")
        removed = pa.concat_tables(edit.removed)
        names = tuple(name.decode() for name in leaf.path)
        self.removed.setdefault(names, []).append(removed)
        self.near.setdefault(names, []).extend(edit.near)
        body = entry[_META_DATA][1]
        numbers = {
            _NUM_VALUES: count - len(gone),
            _PLAIN_SIZE: number_in(body, _PLAIN_SIZE) + edit.plain_growth,
            _SIZE: end - start + edit.growth,
        }
        body = {**body, **{key: (I64, number) for key, number in numbers.items()}}
        if _STATISTICS in body:
            kind, told = body[_STATISTICS]
            told = self._statistics(told, group, at, removed, edit.near)
            body[_STATISTICS] = kind, told
        return Chunk(
            path=leaf.path,
            num_rows=count - len(gone),
            data=_Parts(source=self._source, parts=tuple(edit.parts)),
            start=start,
            entry={**entry, _META_DATA: (STRUCT, body)},
        )

    def _statistics(
        self, told: Struct, group: int, at: int, removed: pa.Table, near: list[pa.Table]
    ) -> Struct:
        """What the footer says of a column that loses some values. A bound that one of them was is
        looked for again, first in the same pages."""
        found: Struct = {}
        gone = _leaf_of(removed)
        if _NULL_COUNT in told:
            found[_NULL_COUNT] = I64, number_in(told, _NULL_COUNT) - gone.null_count
        if _MAX not in told or _MIN not in told:
            return found
        kept = {key: told[key] for key in (_MAX, _MIN, _MAX_EXACT, _MIN_EXACT) if key in told}
        if gone.null_count == len(gone):
            return found | dict(sorted(kept.items()))
        leaf, low, high = self._leaves[at], told[_MIN][1], told[_MAX][1]
        bounds = _bounds([removed], leaf)
        if bounds is None:
            return found
        if bounds[0] == low or bounds[1] == high:
            beside = _bounds(near, leaf) or (None, None)
            is_left = (bounds[0] != low or beside[0] == low) and (
                bounds[1] != high or beside[1] == high
            )
            if not is_left:
                rest = self._rests[group, at] = self._read_rest(group, at)
                if (bounds := _bounds([rest], leaf)) is None:
                    return found
                kept[_MIN], kept[_MAX] = (told[_MIN][0], bounds[0]), (told[_MAX][0], bounds[1])
                kept.update({key: (TRUE, None) for key in (_MAX_EXACT, _MIN_EXACT) if key in told})
        return found | dict(sorted(kept.items()))


@dataclass(slots=True, kw_only=True)
class _ChunkEdit:
    """The pages of one column of a row group, on their way into the new file."""

    source: ParquetSource
    leaf: _Leaf
    footer: Struct
    entry: Struct
    gone: Places
    parts: list[tuple[int, int] | bytes] = field(default_factory=list)
    removed: list[pa.Table] = field(default_factory=list)
    near: list[pa.Table] = field(default_factory=list)
    dictionary: bytes = b""
    row: int = 0
    num_edited: int = 0
    growth: int = 0
    plain_growth: int = 0

    def add(self, page: Page) -> None:
        first, last = np.searchsorted(self.gone, [self.row, self.row + page.num_rows])
        gone = self.gone[first:last] - self.row
        self.row += page.num_rows
        if page.is_dictionary:
            self.dictionary = _read(self.source, page.start, page.end)
        if not len(gone):
            self._copy(page)
            return
        self.num_edited += page.num_rows
        stored = _read(self.source, page.start, page.end)
        new = b""
        before = self._decoded(stored, page.num_rows)
        if len(gone) < page.num_rows:
            paged = PagedLeaf(
                physical_type=self.leaf.physical_type,
                fixed_size=self.leaf.fixed_size,
                most_level=self.leaf.most_level,
                codec=number_in(self.entry[_META_DATA][1], _CODEC),
            )
            new = edit_page(page, stored[page.body - page.start :], paged, gone)
            after = self._decoded(new, page.num_rows - len(gone))
            if not _same(before.filter(_others(page.num_rows, gone)), after):
                raise NotEditableError("a page that is read otherwise once rows have gone")
            self.parts.append(new)
            self.near.append(after)
        self.removed.append(before.take(pa.array(gone)))
        self.growth += len(new) - len(stored)
        self.plain_growth += _plain_size(new) - _plain_size(stored)

    def _copy(self, page: Page) -> None:
        last = self.parts[-1] if self.parts else b""
        if not isinstance(last, bytes) and last[1] == page.start:
            self.parts[-1] = last[0], page.end
        else:
            self.parts.append((page.start, page.end))

    def _decoded(self, page: bytes, num_rows: int) -> pa.Table:
        """A file of nothing but the dictionary and this page, as pyarrow reads it."""
        chain = [
            {key: value for key, value in element.items() if key not in {_CONVERTED, _LOGICAL}}
            | {_NUM_CHILDREN: (element[_NUM_CHILDREN][0], 1)}
            for element in self.leaf.chain[:-1]
        ]
        start, data = len(_MAGIC), self.dictionary + page
        body = {
            key: value
            for key, value in self.entry[_META_DATA][1].items()
            if key not in _NOT_OF_A_PAGE
        }
        body |= {
            _NUM_VALUES: (I64, num_rows),
            _PLAIN_SIZE: (I64, _plain_size(self.dictionary) + _plain_size(page)),
            _SIZE: (I64, len(data)),
            _DATA_PAGE: (I64, start + len(self.dictionary)),
        }
        if self.dictionary:
            body[_DICTIONARY_PAGE] = I64, start
        group = {
            _COLUMNS: (LIST, (STRUCT, [{2: (I64, 0), _META_DATA: (STRUCT, body)}])),
            2: (I64, number_in(body, _PLAIN_SIZE)),
            _ROWS: (I64, num_rows),
        }
        footer = {key: self.footer[key] for key in (_VERSION, _CREATED_BY) if key in self.footer}
        footer |= {
            _SCHEMA: (LIST, (STRUCT, [*chain, self.leaf.chain[-1]])),
            _NUM_ROWS: (I64, num_rows),
            _ROW_GROUPS: (LIST, (STRUCT, [group])),
        }
        text = render_struct(dict(sorted(footer.items())))
        file = b"".join([_MAGIC, data, text, len(text).to_bytes(4, "little"), _MAGIC])
        source = replace(self.source, file=pa.BufferReader(file))
        found = ParquetReader(source).read_group(0, [0], use_threads=False)
        if found.num_rows != num_rows:
            raise NotEditableError("a page of another number of rows")
        return found


def _leaves(footer: Struct) -> list[_Leaf]:
    """The leaves of a schema, which is written parents first; the root is in each chain."""
    elements = iter(_structs(footer, _SCHEMA))

    def below(chain: tuple[Struct, ...], count: int) -> Iterator[_Leaf]:
        for _ in range(count):
            element = next(elements)
            way = (*chain, element)
            if children := element.get(_NUM_CHILDREN, (0, 0))[1]:
                yield from below(way, children)
            else:
                yield _leaf(way)

    root = next(elements)
    return list(below((root,), number_in(root, _NUM_CHILDREN)))


def _leaf(chain: tuple[Struct, ...]) -> _Leaf:
    repetitions = [element.get(_REPETITION, (0, 0))[1] for element in chain[1:]]
    if _REPEATED in repetitions:
        raise NotEditableError("columns that are repeated")
    last = chain[-1]
    return _Leaf(
        path=tuple(element[_NAME][1] for element in chain[1:]),
        chain=chain,
        physical_type=number_in(last, _TYPE),
        fixed_size=last.get(_TYPE_LENGTH, (0, 0))[1],
        most_level=repetitions.count(_OPTIONAL),
    )


def _plain(entry: Struct) -> Struct:
    """A chunk without what lies elsewhere and is not copied."""
    if _CRYPTO in entry or _ENCRYPTED in entry or 1 in entry:
        raise NotEditableError("an encrypted column, or one of another file")
    kind, body = entry[_META_DATA]
    body = {key: value for key, value in body.items() if key not in _LEFT_OUT}
    found = {key: value for key, value in entry.items() if key not in _INDEXES}
    return {**found, _META_DATA: (kind, body)}


def _bounds(rows: Sequence[pa.Table], leaf: _Leaf) -> _Bounds | None:
    """Least and greatest value of a column as a footer has them; None where it has none, or where
    they would be stored in another way."""
    if not rows:
        return None
    found = pc.min_max(_leaf_of(pa.concat_tables(rows)))
    ends = pa.concat_arrays([pa.array([found[name].as_py()], found[name].type) for name in _ENDS])
    settings = WriterSettings(
        codec="none", dictionary=False, decimals_as_integers=leaf.physical_type in {1, 2}
    )
    (chunk,) = encode_chunks(pa.table({"ends": ends}), settings)
    body = chunk.entry[_META_DATA][1]
    told = body.get(_STATISTICS, (STRUCT, {}))[1]
    if number_in(body, _TYPE) != leaf.physical_type or _MIN not in told or _MAX not in told:
        return None
    return told[_MIN][1], told[_MAX][1]


def _same(one: pa.Table, other: pa.Table) -> bool:
    pairs = zip(_layers(one), _layers(other), strict=True)
    return all(before.equals(after) for before, after in pairs)


def _layers(rows: pa.Table) -> Iterator[pa.Array]:
    """What there is of a column with a single leaf; numbers as their bits, for NaN is not NaN."""
    values = rows.column(0).combine_chunks()
    while pa.types.is_struct(values.type):
        yield values.is_valid()
        values = values.field(0)
    if pa.types.is_floating(values.type):
        values = values.view(_BITS[values.type.bit_width])
    yield values


def _leaf_of(rows: pa.Table) -> pa.ChunkedArray:
    """The values of a column with a single leaf, null where something above them is."""
    column = rows.column(0)
    while pa.types.is_struct(column.type):
        kind = column.type.field(0).type
        column = pa.chunked_array([chunk.flatten()[0] for chunk in column.chunks], kind)
    return column


def _others(count: int, gone: Places) -> pa.Array:
    mask = np.ones(count, bool)
    mask[gone] = False
    return pa.array(mask)


def _plain_size(page: bytes) -> int:
    """The bytes of a page with its header, before compression; of none 0."""
    if not page:
        return 0
    header, body = parse_struct_at(page, 0)
    return body + number_in(header, 2)


def _read(source: ParquetSource, start: int, end: int) -> bytes:
    found = bytes(source.file.read_at(end - start, start))
    if len(found) != end - start:
        raise NotEditableError("a file that ends too early")
    return found


def _structs(struct: Struct, key: int) -> Sequence[Struct]:
    found: Sequence[Struct] = struct[key][1][1]
    return found
