"""Files that would have pyarrow see something else than was looked at: by the rules of the
reader that Thrift generates, which skips what has another type than it knows, keeps the lowest
bits of numbers, and believes the types of elements that it knows and not those of the file."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import CorruptDataError
from explorer.storage.parquet._page_headers import check_first_pages, leaves_among, read_claims
from explorer.storage.parquet._thrift_compact import BINARY, I32, I64, LIST, STRUCT
from tests.data_tables import DataTable, field, struct
from tests.forged_parquet import (
    Parts,
    Raw,
    data_page,
    dictionary_page,
    end_with,
    forge_file,
    forge_struct,
    replaced,
    varint,
    zigzag,
)

_HUGE = 2**31 - 1
_LYING = [dictionary_page(_HUGE), data_page()]
_HONEST = [dictionary_page(1), data_page()]
_AGREED = [dictionary_page(2**29 - 1, _HUGE), data_page()]
_START, _SIZE = 4, sum(map(len, _LYING))


def _check(data: bytes) -> None:
    file = pa.BufferReader(data)
    for columns in read_claims(file):
        check_first_pages(file, columns)


def _more_than_64_bits(number: int) -> Raw:
    """Of which the lowest 64 are `number`."""
    return varint(zigzag(number) + 2**64)


def test_honest_file_is_read(tmp_path: Path) -> None:
    place = tmp_path / "x.parquet"
    place.write_bytes(forge_file(_HONEST))
    _check(place.read_bytes())
    assert pq.read_table(place).to_pylist() == [{"a": "x"}]


def _again(counts: Parts) -> bytes:
    return dictionary_page(1, more=[(2**16 + 7, STRUCT, counts)])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (forge_file(_LYING), "more values than its page"),
        (
            forge_file([_again([(1, I32, _HUGE), (2, I32, 0)]), data_page()]),
            "too large",  # of 16 bits the field is number 7 again
        ),
        (
            forge_file([dictionary_page(1, more=[(7, STRUCT, [(1, I32, _HUGE)])]), data_page()]),
            "stands there twice",
        ),
        (forge_file(_LYING, replaced(7, (7, I64, _more_than_64_bits(_SIZE)))), "64 bits"),
        (forge_file(_LYING, replaced(9, (9, I64, _more_than_64_bits(_START)))), "64 bits"),
        (forge_file(_LYING, replaced(4, (4, I32, varint(2**32)))), "too large"),
        # pyarrow does not see it, and begins with the page of data
        (forge_file(_HONEST, replaced(11, (11, I32, 4))), "another type"),
        # pyarrow reads numbers, of which each is the length of a text here
        (forge_file(_LYING, replaced(2, (2, LIST, (BINARY, [b"\x00\x10"])))), "another type"),
        # it gives such a column a hundred bytes
        (
            forge_file(_LYING, replaced(7, (7, I64, 0)), created_by=b"parquet-mr version 1.2.0"),
            "more values than its page",
        ),
        (
            forge_file(_AGREED, replaced(6, (6, I64, _HUGE))),
            "a larger page than",  # what is not compressed has as many bytes as it has
        ),
    ],
    ids=[
        *("values", "wrapped-field", "field-twice", "wrapped-size", "wrapped-place"),
        *("wrapped-codec", "decoy", "elements", "no-size", "agreed"),
    ],
)
def test_file_that_pyarrow_sees_otherwise_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        _check(data)


@pytest.mark.parametrize("field_id", [2, 4, 5, 7])
def test_count_of_a_footer_is_followed_before_room_is_made_for_it(
    field_id: int, tmp_path: Path
) -> None:
    footer = forge_struct([(1, I32, 1), (field_id, LIST, Raw(bytes([0xFC]) + varint(1_000_000)))])
    data = end_with(b"PAR1", footer)
    with pytest.raises(ValueError, match="cannot be followed"):
        read_claims(pa.BufferReader(data))
    table = DataTable(tmp_path / "t", struct(field("a", "string")))
    place = table.root / "x.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    table.add(place.name, size=len(data))
    table.write()
    with pytest.raises(CorruptDataError, match="its footer cannot be followed"):
        explorer.read_rows(explorer.open_table(table.root).snapshot())


def test_headers_that_many_columns_share_are_not_read_for_each_of_them() -> None:
    # an unknown field, a list of structs that are empty
    long = Raw(bytes([0xFC]) + varint(60_000) + b"\0" * 60_000)
    page = dictionary_page(1, more=[(20, LIST, long)])
    data = forge_file([page, data_page()])
    file = pa.BufferReader(data)
    ((chunk,),) = read_claims(file)
    check_first_pages(file, [chunk])
    with pytest.raises(ValueError, match="longer than the file"):
        check_first_pages(file, [chunk] * 200)


@pytest.mark.slow
def test_name_of_dots_costs_no_memory() -> None:
    tracemalloc.start()
    assert leaves_among(["." * 60_000, "a", "a.b", "b.a", "ab"], ["a"]) == [1, 2]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**20  # its beginnings would be 1.8 GB of text
