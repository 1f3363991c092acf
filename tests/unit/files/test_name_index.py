"""Names looked up among many others, held against a dictionary."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.files.name_index import NameIndex, codes_of, fingerprints

# of every length around a word of eight bytes, and of several bytes a character
_texts = st.text(alphabet="ab/é😀\n\0", max_size=20)
_few = st.sampled_from(["", "a", "part-0", "part-00000.parquet", "part-00001.parquet", "aaaaaaaa"])
_chunks = st.lists(st.lists(st.none() | _texts | _few, max_size=8), max_size=4)

# found by a search: two texts of one number
TWINS = ("rm43aelmk45ek29_", "r6s8z=15_cc2_t89")


def _column(chunks: list[list[str | None]]) -> pa.ChunkedArray:
    # a slice, whose texts do not begin at the beginning of its bytes
    arrays = [pa.array(["x", *chunk, "yz"], pa.string()).slice(1, len(chunk)) for chunk in chunks]
    return pa.chunked_array(arrays, pa.string())


def _check(names: pa.ChunkedArray, wanted: pa.ChunkedArray) -> None:
    many = names.to_pylist()
    first: dict[str | None, int] = {}
    for text, at in zip(wanted.to_pylist(), NameIndex(names).positions_of(wanted), strict=True):
        if text is None or text not in many:
            assert at == -1
        else:
            assert many[at] == text
            assert first.setdefault(text, at) == at


@pytest.mark.slow
@given(many=_chunks, wanted=_chunks)
def test_each_text_is_found_where_it_stands_and_no_other_is(
    many: list[list[str | None]], wanted: list[list[str | None]]
) -> None:
    _check(_column(many), _column(wanted))


@pytest.mark.slow
@given(chunks=_chunks)
def test_texts_have_one_code_exactly_where_they_are_the_same(
    chunks: list[list[str | None]],
) -> None:
    names = _column([[text or "" for text in chunk] for chunk in chunks])
    pairs = set(zip(names.to_pylist(), codes_of(names).tolist(), strict=True))
    assert len(pairs) == len({text for text, _ in pairs}) == len({code for _, code in pairs})


def test_two_texts_of_one_number_are_told_apart() -> None:
    one, two = TWINS
    assert len(set(fingerprints(_column([[one, two]])).tolist())) == 1
    for many in ([[one]], [[two]], [["a", one], [two, one]], [[two], [one]]):
        _check(_column([*many, ["z"]]), _column([[one, "a"], [two, two]]))
    assert len(set(codes_of(_column([[one, two], [one]])).tolist())) == 2


def test_names_in_very_many_chunks_are_found_too() -> None:
    many = _column([[f"part-{number}.parquet"] for number in range(1_100)])
    _check(many, _column([["part-0.parquet", "part-1099.parquet", "part-1100.parquet"]]))


def test_more_names_than_are_looked_up_at_once() -> None:
    names = [f"part-{number}.parquet" for number in range(70_000)]
    found = NameIndex(_column([names])).positions_of(_column([names[::-1], ["part--1.parquet"]]))
    assert found.tolist() == [*range(69_999, -1, -1), -1]


def test_names_in_one_order_are_found_whatever_stands_between_them() -> None:
    names = [f"part-{number}.parquet" for number in range(40)]
    others = [*names[:10], "x", *names[10:20], None, *names[30:], "y", *names[20:25], *names[:3]]
    for index in (_column([names]), _column([names[:15], [], names[15:]]), _column([names, names])):
        _check(index, _column([others]))
        _check(index, _column([names[5:], others[::-1]]))


@pytest.mark.slow
@given(many=_chunks, start=st.integers(0, 8), hole=st.integers(0, 8))
def test_a_part_of_the_same_names_is_found(
    many: list[list[str | None]], start: int, hole: int
) -> None:
    names = list(dict.fromkeys(text for chunk in many for text in chunk))
    wanted = names[start:]
    wanted[hole : hole + 1] = ["elsewhere"]
    _check(_column([names[:5], names[5:]]), _column([wanted, names]))
