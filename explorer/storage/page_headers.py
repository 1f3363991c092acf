"""Bounds for what the first pages of a Parquet file's columns claim (Parquet: Page Header).

A dictionary is decoded into room for as many values as its header says, before one of them
is read. So a column is looked at before pyarrow decodes it: its values must fit into its
page, and what claims to be very large must agree with the footer. Positions are those that
pyarrow follows: by the place of a column in the schema, not by the name that a chunk has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from explorer.storage.column_chunks import ColumnChunk, follow_chunks, prefixes
from explorer.storage.thrift_fields import Fields, number_in, read_fields

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# PageHeader
_PAGE_TYPE, _PAGE_SIZE, _COMPRESSED_PAGE_SIZE = 1, 2, 3

# the field that holds the header of each kind of page, and what they all begin with
_IS_DICTIONARY = 2
_OF_KIND = {0: 5, _IS_DICTIONARY: 7, 3: 8}
_NUM_VALUES = 1

# the least that a value of a physical type takes in a dictionary: a text has its length before
# it, and how wide values of fixed length are, only the schema says
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4, 7: 1}

# headers have some 30 bytes, and more with extremes of long texts; pyarrow reads none that is
# longer than the last of these
_LOOKS = (2**8, 2**16, 2**24)

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


def leaves_by_name(schema: pq.ParquetSchema) -> dict[str, list[int]]:
    """For each name by which pyarrow can be asked for leaves of a schema, their places."""
    places: dict[str, list[int]] = {}
    for at in range(len(schema)):
        for name in prefixes(schema.column(at).path):
            places.setdefault(name, []).append(at)
    return places


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
    header, length = _read_header(file, start, chunk.end)
    kind = number_in(header, _PAGE_TYPE, -1)
    if kind not in _OF_KIND:
        raise ValueError(_NOT_FOLLOWED)
    size, compressed = number_in(header, _PAGE_SIZE), number_in(header, _COMPRESSED_PAGE_SIZE)
    counts = header.get(_OF_KIND[kind])
    num_values = number_in(counts, _NUM_VALUES) if isinstance(counts, dict) else 0
    end = start + length + compressed
    if min(size, compressed, num_values) < 0 or end > chunk.end + _LEFT_OUT:
        raise ValueError("a page header claims a size that its column cannot have")
    if size > max(chunk.size, _HARMLESS):
        raise ValueError("a page header claims a larger page than the footer says")
    if kind != _IS_DICTIONARY:
        if num_values > max(chunk.num_values, _HARMLESS):
            raise ValueError("a page header claims more values than the footer says")
    elif num_values * _WIDTHS.get(chunk.physical_type, 1) > size:
        raise ValueError("a dictionary claims more values than its page can hold")
    return end, kind


def _read_header(file: pa.NativeFile, start: int, end: int) -> tuple[Fields, int]:
    """The header of the page at `start` of a column that reaches to `end`, and its length."""
    for look in _LOOKS:
        with contextlib.suppress(IndexError):
            return read_fields(file.read_at(max(min(look, end - start), 0), start))
    raise ValueError(_NOT_FOLLOWED)
