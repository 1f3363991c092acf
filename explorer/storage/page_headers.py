"""Bounds for what the first pages of a Parquet file's columns claim (Parquet: Page Header).

A dictionary is decoded into room for as many values as its header says, before one of them
is read. So a column is looked at before pyarrow decodes it: its values must fit into its
page, and what claims to be very large must agree with the footer. Positions are those that
pyarrow follows: by the place of a column in the schema, not by the name that a chunk has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.storage.column_chunks import ColumnChunk, follow_chunks, prefixes
from explorer.storage.thrift_compact import I16, I32, I64, STRUCT, CompactReader

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# PageHeader
_PAGE_TYPE, _PAGE_SIZE, _COMPRESSED_PAGE_SIZE = 1, 2, 3

# the field that holds the header of each kind of page; all begin with the number of values
_IS_DICTIONARY = 2
_OF_KIND = {0: 5, _IS_DICTIONARY: 7, 3: 8}

_NUMBERS = frozenset({I16, I32, I64})

# the least that a value of a physical type takes in a dictionary: a text has its length before
# it, and how wide values of fixed length are, only the schema says
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4, 7: 1}

# headers have some 30 bytes, and more with extremes of long texts
_FIRST_LOOK, _LONG_LOOK = 2**8, 2**16

# what does no harm: totals of footers are not always exact, and need not be for it
_HARMLESS = 2**24

# in the size of a column, old writers leave out the header of its dictionary
_LEFT_OUT = 100

# a larger footer takes longer to follow than all the rest of opening its file
_LARGEST = 2**19

_NOT_FOLLOWED = "a page header cannot be followed"


def read_claims(file: pa.NativeFile) -> list[list[ColumnChunk]]:
    """What the footer at the end of a file says of the columns of each row group, for
    `check_first_pages`.

    Empty where the footer has more than 512 KiB, so that nothing of it is looked at; raises
    `ValueError` where it cannot be followed.
    """
    size = file.size()
    length = int.from_bytes(file.read_at(4, size - 8), "little")
    if length > min(size - 8, _LARGEST):
        return []
    try:
        return follow_chunks(bytes(file.read_at(length, size - 8 - length)))
    except IndexError as error:
        raise ValueError("its footer cannot be followed") from error


def leaves_of(schema: pq.ParquetSchema, names: Iterable[str] | None) -> list[int]:
    """The places of the leaves that pyarrow reads for these names, None for all."""
    if names is None:
        return list(range(len(schema)))
    wanted = frozenset(names)
    paths = (schema.column(at).path for at in range(len(schema)))
    return [at for at, path in enumerate(paths) if not wanted.isdisjoint(prefixes(path))]


def check_first_pages(file: pa.NativeFile, columns: Iterable[ColumnChunk]) -> None:
    """Raise `ValueError` where one of these columns of a row group claims what it cannot
    hold."""
    length = file.size()
    for chunk in columns:
        # of a column without values no page is decoded, and its place may be anything: pyarrow
        # writes 0; for places outside of the file it has its own words
        if chunk.num_values > 0 and chunk.start < chunk.end <= length:
            after, kind = _check_page(file, chunk, chunk.start)
            if kind == _IS_DICTIONARY and after < chunk.end:
                _check_page(file, chunk, after)


def _check_page(file: pa.NativeFile, chunk: ColumnChunk, start: int) -> tuple[int, int]:
    """Where the page at `start` ends, and its kind."""
    page = _read_header(file, start, chunk.end)
    end = start + page.length + page.compressed_size
    if min(page.size, page.compressed_size, page.num_values) < 0 or end > chunk.end + _LEFT_OUT:
        raise ValueError("a page header claims a size that its column cannot have")
    if page.size > max(chunk.size, _HARMLESS):
        raise ValueError("a page header claims a larger page than the footer says")
    if page.kind != _IS_DICTIONARY:
        if page.num_values > max(chunk.num_values, _HARMLESS):
            raise ValueError("a page header claims more values than the footer says")
    elif page.num_values * _WIDTHS.get(chunk.physical_type, 1) > page.size:
        raise ValueError("a dictionary claims more values than its page can hold")
    return end, page.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """What the header of a page says; `length` is its own, `size` after decompression."""

    kind: int
    length: int
    size: int
    compressed_size: int
    num_values: int


def _read_header(file: pa.NativeFile, start: int, end: int) -> _Page:
    header = _Header(b"")
    for look in (_FIRST_LOOK, _LONG_LOOK):
        header = _Header(bytes(file.read_at(max(min(look, end - start), 0), start)))
        with contextlib.suppress(IndexError):
            header.read()
            return header.page()
    # extremes may be very long, and the sizes stand before them; dictionaries have none
    page = header.page()
    if page.kind == _IS_DICTIONARY:
        raise ValueError(_NOT_FOLLOWED)
    return replace(page, length=0)


class _Header(CompactReader):
    """A `PageHeader`."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._sizes: dict[int, int] = {}
        self._counts: dict[int, int] = {}

    def page(self) -> _Page:
        """What was read of it."""
        kind = self._sizes.get(_PAGE_TYPE, -1)
        if kind not in _OF_KIND:
            raise ValueError(_NOT_FOLLOWED)
        return _Page(
            kind=kind,
            length=self._at,
            size=self._sizes.get(_PAGE_SIZE, 0),
            compressed_size=self._sizes.get(_COMPRESSED_PAGE_SIZE, 0),
            num_values=self._counts.get(_OF_KIND[kind], 0),
        )

    def read(self) -> None:
        """Go through all of it; raises `IndexError` where it ends too early."""
        for field, kind in self.fields():
            if kind in _NUMBERS:
                self._sizes[field] = self.number()
            elif kind == STRUCT:
                self._read_counts(field)
            else:
                self.skip(kind)

    def _read_counts(self, of: int) -> None:
        for field, kind in self.fields():
            if field == 1 and kind in _NUMBERS:
                self._counts[of] = self.number()
            else:
                self.skip(kind)
