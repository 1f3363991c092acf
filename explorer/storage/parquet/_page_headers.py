"""Bounds for what the first pages of a Parquet file's columns claim (Parquet: Page Header).

A dictionary is decoded into room for as many values as its header says, before one of them
is read. So a column is looked at before pyarrow decodes it: its values must fit into its
page, and what claims to be very large must agree with the footer. Positions are those that
pyarrow follows: by the place of a column in the schema, not by the name that a chunk has.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from explorer.storage.parquet._column_chunks import ColumnChunk, follow_chunks
from explorer.storage.parquet._thrift_compact import I32, STRUCT
from explorer.storage.parquet._thrift_fields import Fields, Wire, number_in, read_fields

if TYPE_CHECKING:
    import pyarrow as pa

# PageHeader
_PAGE_TYPE, _PAGE_SIZE, _COMPRESSED_PAGE_SIZE = 1, 2, 3

_UNCOMPRESSED = 0

# the field that holds the header of each kind of page, and what they all begin with
_IS_DICTIONARY = 2
_OF_KIND = {0: 5, _IS_DICTIONARY: 7, 3: 8}
_NUM_VALUES = 1
_HEADER = {
    **dict.fromkeys((_PAGE_TYPE, _PAGE_SIZE, _COMPRESSED_PAGE_SIZE), Wire(I32)),
    **dict.fromkeys(_OF_KIND.values(), Wire(STRUCT, fields={_NUM_VALUES: Wire(I32)})),
}

# the least that a value of a physical type takes in a dictionary: a text has its length before
# it, and how wide values of fixed length are, only the schema says
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4, 7: 1}

# headers have some 30 bytes, and more with extremes of long texts; pyarrow reads none that is
# longer than the last of these
_LOOKS = (2**8, 2**16, 2**24)
_FREE = 2**16

# what does no harm: totals of footers are not always exact, and need not be for it
_HARMLESS = 2**24

# in the size of a column, old writers leave out the header of its dictionary
_LEFT_OUT = 100

# a larger footer takes longer to follow than all the rest of opening its file
_LARGEST = 2**19

_MAGIC = b"PAR1"
_SHORTEST = 12

_NOT_FOLLOWED = "a page header cannot be followed"


def read_claims(file: pa.NativeFile) -> list[list[ColumnChunk]]:
    """What the footer at the end of a file says of the columns of each row group, for
    `check_first_pages`.

    Empty where the footer has more than 512 KiB, so that nothing of it is looked at, and where
    there is none, which pyarrow has words for; raises `ValueError` where it cannot be followed.
    """
    try:
        return follow_chunks(footer) if (footer := read_footer(file)) is not None else []
    except IndexError as error:
        raise ValueError("its footer cannot be followed") from error


def read_footer(file: pa.NativeFile) -> bytes | None:
    """What stands between the pages of a file and its last eight bytes; None where it has more
    than 512 KiB, or where there is none."""
    size = file.size()
    if size < _SHORTEST:
        return None
    end = file.read_at(8, size - 8)
    length = int.from_bytes(end[:4], "little")
    if not end.endswith(_MAGIC) or length > min(size - 8, _LARGEST):
        return None
    return bytes(file.read_at(length, size - 8 - length))


def leaves_among(paths: Iterable[str], names: Iterable[str]) -> list[int]:
    """The places of the leaves that pyarrow reads for these names, of all that there are."""
    wanted = frozenset(names)
    return [at for at, path in enumerate(paths) if _lies_in(path, wanted)]


def _lies_in(path: str, wanted: frozenset[str]) -> bool:
    """Whether pyarrow is asked for it: by its dotted path, or by a part of that from the
    beginning to a dot."""
    if path in wanted:
        return True
    at = path.find(".")
    while at >= 0:
        if path[:at] in wanted:
            return True
        at = path.find(".", at + 1)
    return False


def check_first_pages(file: pa.NativeFile, columns: Iterable[ColumnChunk]) -> None:
    """Raise `ValueError` where one of these columns of a row group claims what it cannot
    hold."""
    length = file.size()
    # no byte of an honest file is in two headers
    looks = _Looks(file, 2 * length + _FREE)
    for chunk in columns:
        # of a column without values no page is decoded, and its place may be anything: pyarrow
        # writes 0; for places outside of the file it has its own words
        if chunk.num_values > 0 and chunk.end <= length:
            after, kind = _check_page(looks, chunk, chunk.start)
            if kind == _IS_DICTIONARY and after < chunk.end:
                _check_page(looks, chunk, after)


def _check_page(looks: _Looks, chunk: ColumnChunk, start: int) -> tuple[int, int]:
    """Where the page at `start` ends, and its kind."""
    # where a column is said to have no bytes, pyarrow gives it those that were left out
    reach = chunk.end if chunk.start < chunk.end else chunk.end + _LEFT_OUT
    header, length = looks.header(start, reach)
    kind = number_in(header, _PAGE_TYPE, -1)
    if kind not in _OF_KIND:
        raise ValueError(_NOT_FOLLOWED)
    size, compressed = number_in(header, _PAGE_SIZE), number_in(header, _COMPRESSED_PAGE_SIZE)
    num_values = number_in(header.get(_OF_KIND[kind], {}), _NUM_VALUES)
    end = start + length + compressed
    if min(size, compressed, num_values) < 0 or end > chunk.end + _LEFT_OUT:
        raise ValueError("a page header claims a size that its column cannot have")
    if size > max(chunk.size, _HARMLESS) or (chunk.codec == _UNCOMPRESSED and size > compressed):
        raise ValueError("a page header claims a larger page than the footer says")
    if kind != _IS_DICTIONARY:
        if num_values > max(chunk.num_values, _HARMLESS):
            raise ValueError("a page header claims more values than the footer says")
    elif num_values * _WIDTHS.get(chunk.physical_type, 1) > size:
        raise ValueError("a dictionary claims more values than its page can hold")
    return end, kind


class _Looks:
    """Looks at the headers of one file's pages, as long as `budget` bytes last."""

    def __init__(self, file: pa.NativeFile, budget: int) -> None:
        self._file = file
        self._budget = budget

    def header(self, start: int, end: int) -> tuple[Fields, int]:
        """The header of the page at `start` of a column that reaches to `end`, and its length."""
        for look in _LOOKS:
            data = self._file.read_at(max(min(look, end - start), 0), start)
            fields: Fields | None = None
            try:
                fields, length = read_fields(data, _HEADER)
            except IndexError:
                length = len(data)
            self._budget -= length
            if self._budget < 0:
                raise ValueError("page headers are longer than the file")
            if fields is not None:
                return fields, length
        raise ValueError(_NOT_FOLLOWED)
