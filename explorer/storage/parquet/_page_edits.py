"""Pages of a column without some of its rows (Parquet: Data Pages, Page Header).

A page is taken apart as far as rows have places in it: its levels, and its values or their places
in the dictionary. Every other byte of a column stays as it is. Columns that lie in lists or maps,
and encodings in which a value depends on the one before it, are not edited.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.storage.parquet._hybrid_runs import Numbers, decode_runs, encode_runs
from explorer.storage.parquet._thrift_compact import (
    FALSE,
    I32,
    Struct,
    number_in,
    parse_struct_at,
    render_struct,
)

Places: TypeAlias = npt.NDArray[np.int64]
"""Positions of rows, from 0, in ascending order."""

# PageHeader
_TYPE, _SIZE, _COMPRESSED_SIZE, _CRC, _DATA, _DATA_V2 = 1, 2, 3, 4, 5, 8
_V1_PAGE, DICTIONARY_PAGE, _V2_PAGE = 0, 2, 3
# DataPageHeader, DataPageHeaderV2
_NUM_VALUES, _V1_ENCODING, _V1_LEVELS, _V1_STATISTICS = 1, 2, 3, 5
_NUM_NULLS, _NUM_ROWS, _ENCODING, _LEVELS_SIZE, _REPEATED_SIZE, _COMPRESSED, _STATISTICS = (
    2,
    3,
    4,
    5,
    6,
    7,
    8,
)
_PLAIN, _PLAIN_DICTIONARY, _RLE, _DICTIONARY = 0, 2, 3, 8

_CODECS: Final = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_UNCOMPRESSED: Final = 0

_BOOLEAN, _TEXT = 0, 6
_WIDTHS: Final = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
_FIXED: Final = 7

_LOOKS: Final = (2**8, 2**16, 2**20)
"""Bytes that are looked at for the header of a page."""

_LENGTH: Final = 4


class NotEditableError(ValueError):
    """Rows cannot be taken out of a page as it is; another way has to be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedLeaf:
    """A column without repetition: Parquet's number of its type, the bytes of a value of fixed
    length, how many of the fields that lead to it may be null, and its codec."""

    physical_type: int
    fixed_size: int
    most_level: int
    codec: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: its header, where that begins, and where the page ends; `num_rows` are 0 for a
    dictionary."""

    header: Struct
    start: int
    body: int
    end: int
    num_rows: int

    @property
    def is_dictionary(self) -> bool:
        """Whether it holds the values that others name."""
        return self.num_rows == 0


ReadAt: TypeAlias = Callable[[int, int], bytes]
"""So many bytes of a file, from a place on."""


def walk_pages(read: ReadAt, start: int, end: int, num_rows: int) -> Iterator[Page]:
    """The pages of a column of so many rows; raises `NotEditableError` where they do not fill it,
    or hold another number of rows."""
    rows = 0
    while start < end:
        header, body = _read_header(read, start, end)
        page = _page(header, start, body)
        if page.end > end or (page.is_dictionary and rows):
            raise NotEditableError("a page that lies where it cannot")
        yield page
        rows += page.num_rows
        start = page.end
    if rows != num_rows:
        raise NotEditableError("pages of another number of rows")


def edit_page(page: Page, body: bytes, leaf: PagedLeaf, dropped: Places) -> bytes:
    """The page, with its header, without the rows at `dropped`, of which it keeps at least one.

    Raises `NotEditableError` for what is not known here.
    """
    try:
        if number_in(page.header, _TYPE) == _V1_PAGE:
            return _edit_v1(page, body, leaf, dropped)
        return _edit_v2(page, body, leaf, dropped)
    except NotEditableError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, pa.ArrowException, OSError) as error:
        raise NotEditableError("a page that is not what its header says") from error


def _read_header(read: ReadAt, start: int, end: int) -> tuple[Struct, int]:
    for look in _LOOKS:
        data = read(min(look, end - start), start)
        try:
            header, length = parse_struct_at(data, 0)
        except IndexError:
            continue
        except ValueError as error:
            raise NotEditableError("a page header that cannot be followed") from error
        return header, start + length
    raise NotEditableError("a page header that cannot be followed")


def _page(header: Struct, start: int, body: int) -> Page:
    try:
        kind, size = number_in(header, _TYPE), number_in(header, _COMPRESSED_SIZE)
        if kind == DICTIONARY_PAGE:
            num_rows = 0
        else:
            inner = header[{_V1_PAGE: _DATA, _V2_PAGE: _DATA_V2}[kind]][1]
            num_rows = number_in(inner, _NUM_VALUES)
            if num_rows <= 0 or (kind == _V2_PAGE and number_in(inner, _NUM_ROWS) != num_rows):
                raise NotEditableError("a page whose values are no rows")
    except (KeyError, TypeError) as error:
        raise NotEditableError("a page of another kind") from error
    if size < 0:
        raise NotEditableError("a page of an impossible size")
    return Page(header=header, start=start, body=body, end=body + size, num_rows=num_rows)


def _edit_v1(page: Page, body: bytes, leaf: PagedLeaf, dropped: Places) -> bytes:
    inner = page.header[_DATA][1]
    plain = _decompress(body, number_in(page.header, _SIZE), leaf.codec)
    levels, at = b"", 0
    if leaf.most_level:
        if number_in(inner, _V1_LEVELS) != _RLE:
            raise NotEditableError("levels that are packed in another way")
        at = _LENGTH + int.from_bytes(plain[:_LENGTH], "little")
        levels = plain[_LENGTH:at]
    kept = _edit_values(
        levels, plain[at:], page.num_rows, number_in(inner, _V1_ENCODING), leaf, dropped
    )
    parts = [kept.values]
    if leaf.most_level:
        parts = [len(kept.levels).to_bytes(_LENGTH, "little"), kept.levels, kept.values]
    plain = b"".join(parts)
    inner = {field: value for field, value in inner.items() if field != _V1_STATISTICS}
    inner[_NUM_VALUES] = I32, page.num_rows - len(dropped)
    header = {**page.header, _DATA: (page.header[_DATA][0], inner)}
    return _rendered(header, len(plain), _compress(plain, leaf.codec))


def _edit_v2(page: Page, body: bytes, leaf: PagedLeaf, dropped: Places) -> bytes:
    inner = page.header[_DATA_V2][1]
    size = number_in(inner, _LEVELS_SIZE)
    if number_in(inner, _REPEATED_SIZE):
        raise NotEditableError("a column that is repeated")
    is_compressed = inner.get(_COMPRESSED, (0, None))[0] != FALSE
    codec = leaf.codec if is_compressed else _UNCOMPRESSED
    values = _decompress(body[size:], number_in(page.header, _SIZE) - size, codec)
    kept = _edit_values(
        body[:size], values, page.num_rows, number_in(inner, _ENCODING), leaf, dropped
    )
    inner = {field: value for field, value in inner.items() if field != _STATISTICS}
    count = page.num_rows - len(dropped)
    numbers = {
        _NUM_VALUES: count,
        _NUM_ROWS: count,
        _NUM_NULLS: number_in(inner, _NUM_NULLS) - kept.dropped_nulls,
        _LEVELS_SIZE: len(kept.levels),
    }
    inner.update({field: (I32, number) for field, number in numbers.items()})
    header = {**page.header, _DATA_V2: (page.header[_DATA_V2][0], inner)}
    # what holds no value is not compressed by everybody
    packed = body[size:] if kept.values == values else _compress(kept.values, codec)
    stored = kept.levels + packed
    return _rendered(header, len(kept.levels) + len(kept.values), stored)


def _rendered(header: Struct, size: int, stored: bytes) -> bytes:
    header = {**header, _SIZE: (I32, size), _COMPRESSED_SIZE: (I32, len(stored))}
    if _CRC in header:
        crc = zlib.crc32(stored)
        header[_CRC] = I32, crc - 2**32 if crc >= 2**31 else crc
    return render_struct(header) + stored


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The levels and values of the rows that stay."""

    levels: bytes
    values: bytes
    dropped_nulls: int


def _edit_values(
    levels: bytes, values: bytes, count: int, encoding: int, leaf: PagedLeaf, dropped: Places
) -> _Kept:
    if not leaf.most_level:
        return _Kept(
            levels=b"", values=_without(values, count, encoding, leaf, dropped), dropped_nulls=0
        )
    width = leaf.most_level.bit_length()
    every = decode_runs(levels, width, count)
    is_valid = every == leaf.most_level
    # of the values alone: a null has none
    places = np.cumsum(is_valid) - 1
    held = places[dropped[is_valid[dropped]]].astype(np.int64)
    return _Kept(
        levels=encode_runs(np.delete(every, dropped), width),
        values=_without(values, int(is_valid.sum()), encoding, leaf, held),
        dropped_nulls=len(dropped) - len(held),
    )


def _without(values: bytes, count: int, encoding: int, leaf: PagedLeaf, dropped: Places) -> bytes:
    """`count` values without those at `dropped`."""
    if encoding in {_DICTIONARY, _PLAIN_DICTIONARY}:
        if not count:
            return values
        width = values[0]
        return bytes([width]) + encode_runs(_deleted(values[1:], width, count, dropped), width)
    if encoding == _RLE and leaf.physical_type == _BOOLEAN:
        end = _LENGTH + int.from_bytes(values[:_LENGTH], "little")
        runs = encode_runs(_deleted(values[_LENGTH:end], 1, count, dropped), 1)
        return len(runs).to_bytes(_LENGTH, "little") + runs
    if encoding != _PLAIN:
        raise NotEditableError("values that are encoded in another way")
    if leaf.physical_type == _BOOLEAN:
        bits = np.unpackbits(np.frombuffer(values, np.uint8), bitorder="little", count=count)
        return np.packbits(np.delete(bits, dropped), bitorder="little").tobytes()
    if leaf.physical_type == _TEXT:
        return _without_texts(values, count, dropped)
    width = leaf.fixed_size if leaf.physical_type == _FIXED else _WIDTHS[leaf.physical_type]
    if len(values) != count * width:
        raise NotEditableError("values that take another number of bytes")
    spans = ((int(at) * width, (int(at) + 1) * width) for at in dropped)
    return _cut_out(values, spans)


def _deleted(runs: bytes, width: int, count: int, dropped: Places) -> Numbers:
    return np.delete(decode_runs(runs, width, count), dropped)


def _without_texts(values: bytes, count: int, dropped: Places) -> bytes:
    spans: list[tuple[int, int]] = []
    number = at = 0
    for wanted in dropped.tolist():
        start = at
        while number <= wanted:
            start, at = at, at + _LENGTH + int.from_bytes(values[at : at + _LENGTH], "little")
            number += 1
        spans.append((start, at))
    if number > count or at > len(values):
        raise NotEditableError("values that take another number of bytes")
    return _cut_out(values, iter(spans))


def _cut_out(values: bytes, spans: Iterator[tuple[int, int]]) -> bytes:
    parts, at = [], 0
    for start, end in spans:
        parts.append(values[at:start])
        at = end
    return b"".join([*parts, values[at:]])


def _decompress(data: bytes, size: int, codec: int) -> bytes:
    if codec == _UNCOMPRESSED:
        found = data
    elif codec not in _CODECS:
        raise NotEditableError("a codec that is not known")
    else:
        found = pa.decompress(data, size, _CODECS[codec], asbytes=True) if size else b""
    if len(found) != size:
        raise NotEditableError("a page of another size")
    return found


def _compress(data: bytes, codec: int) -> bytes:
    if codec == _UNCOMPRESSED:
        return data
    found: bytes = pa.compress(data, _CODECS[codec], asbytes=True)
    return found
