"""What is asked of all bytes of a column of paths, held against each path alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.files.decoded_paths import (
    decode_as_text,
    decode_in_pieces,
    decode_paths,
    may_need_normalising,
)
from explorer.log.text_bytes import holds_byte, may_begin_with

_texts = st.text(alphabet="a./:%2fé0", max_size=6)
_columns = st.tuples(
    st.lists(st.none() | _texts, max_size=12), st.integers(0, 3), st.integers(0, 12)
)


def _sliced(column: tuple[list[str | None], int, int]) -> pa.Array:
    texts, start, length = column
    return pa.array(texts, pa.string()).slice(start, length)


@given(column=_columns)
def test_character_is_found_where_a_path_has_it_and_nowhere_else(
    column: tuple[list[str | None], int, int],
) -> None:
    paths = _sliced(column)
    text = "".join(path or "" for path in paths.to_pylist())
    for letter in "/:%":
        assert holds_byte(paths, letter) == (letter in text)


@given(column=_columns)
def test_no_absolute_path_and_none_with_dots_is_overlooked(
    column: tuple[list[str | None], int, int],
) -> None:
    paths = _sliced(column)
    texts = [path for path in paths.to_pylist() if path]
    joined = "".join(texts)
    if any(path.startswith("/") for path in texts):
        assert may_begin_with(paths, "/")
    if "/" not in joined:
        assert not may_begin_with(paths, "/")
    assert may_need_normalising(paths) == ("./" in joined or "//" in joined)


@pytest.mark.parametrize("at", range(2**18 - 3, 2**18 + 3))
@pytest.mark.parametrize("odd", ["./", "//", "%/", ":a"])
def test_what_lies_across_two_pieces_of_bytes_is_found(odd: str, at: int) -> None:
    paths = pa.array(["a" * at + odd + "b" * 2**18])
    assert may_need_normalising(paths) == (odd in {"./", "//"})
    assert holds_byte(paths, odd[0])
    assert not may_begin_with(paths, "/")
    assert not may_begin_with(paths, "b")
    assert may_begin_with(paths, "a")
    assert may_begin_with(paths, "/a")


@given(column=_columns)
def test_column_is_decoded_as_each_of_its_paths(column: tuple[list[str | None], int, int]) -> None:
    paths = _sliced(column)
    expected = [None if path is None else decode_as_text(path) for path in paths.to_pylist()]
    assert decode_paths(paths).to_pylist() == expected
    assert decode_in_pieces(pa.chunked_array([paths], pa.string())).to_pylist() == expected
