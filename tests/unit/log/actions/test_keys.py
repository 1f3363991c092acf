"""The key of a logical file: one rule, by row and by column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.log.actions.columns import DELETION_VECTOR
from explorer.log.actions.keys import file_key
from explorer.log.reconcile.key_columns import keys_of, keys_of_arrays
from explorer.protocol.paths import decode_path, encode_path, is_absolute, normalise_path
from tests.reconciliation import logical_file, same_path

_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
_PATHS = st.one_of(
    st.builds(
        str.__add__,
        st.sampled_from(
            ["", "/", "//", "file:", "FILE:/", "file:///", "File:", "f", "s3://b/", "fi"]
        ),
        _TEXT,
    ),
    _TEXT,
)
_VECTORS = st.none() | st.builds(
    dict,
    storageType=st.sampled_from(["u", "p", "i", ""]),
    pathOrInlineDv=_TEXT,
    offset=st.none() | st.integers(-(2**31), 2**31 - 1),
)


def _columns(files: list[tuple[str, Any]]) -> tuple[pa.Array, pa.Array]:
    vectors = [
        None
        if vector is None
        else {
            "storage_type": vector["storageType"],
            "path_or_inline_dv": vector["pathOrInlineDv"],
            "offset": vector["offset"],
            "size_in_bytes": 1,
            "cardinality": 1,
        }
        for _, vector in files
    ]
    return pa.array([path for path, _ in files], pa.string()), pa.array(vectors, DELETION_VECTOR)


@pytest.mark.slow
@pytest.mark.rule("file-primary-key")
@given(st.lists(st.tuples(_PATHS, _VECTORS), max_size=8), st.integers(0, 3))
@example([("/a\nb", None), ("file:x\n/y", None)], 0)
def test_keys_in_columns_equal_keys_by_row(files: list[tuple[str, Any]], skipped: int) -> None:
    paths, vectors = _columns(files)
    wanted = [file_key(path, vector) for path, vector in files]
    assert keys_of_arrays(paths, vectors).to_pylist() == wanted
    # of a slice, and of a table in several chunks
    assert keys_of_arrays(paths[skipped:], vectors[skipped:]).to_pylist() == wanted[skipped:]
    table = pa.Table.from_arrays([paths, vectors], names=["path", "deletion_vector"])
    chunked = pa.concat_tables([table.slice(0, skipped), table.slice(skipped)])
    assert keys_of(chunked).to_pylist() == wanted


@given(st.lists(_PATHS, max_size=8))
def test_keys_without_vectors_are_paths(paths: list[str]) -> None:
    found = keys_of_arrays(pa.array(paths, pa.string()), None)
    assert found.to_pylist() == [normalise_path(path) for path in paths]


@pytest.mark.rule("dv-uniqueid-no-offset", "dv-uniqueid-offset", "file-logical-file")
@pytest.mark.rule("file-primary-key")
@given(_PATHS, _VECTORS, _PATHS, _VECTORS)
@example("/a", None, "file:/a", None)
@example("file:///a", None, "FILE:/a", None)
@example("a", None, "A", None)
def test_keys_are_equal_exactly_for_one_logical_file(
    path: str, vector: Any, other_path: str, other_vector: Any
) -> None:
    one = {"path": path, "deletionVector": vector}
    other = {"path": other_path, "deletionVector": other_vector}
    same = logical_file(one) == logical_file(other)
    assert (file_key(path, vector) == file_key(other_path, other_vector)) == same


@given(_PATHS, _PATHS)
def test_paths_are_normalised_exactly_where_they_name_one_file(one: str, other: str) -> None:
    assert (normalise_path(one) == normalise_path(other)) == (same_path(one) == same_path(other))
    assert normalise_path(normalise_path(one)) == normalise_path(one)


def test_null_paths_stay_null() -> None:
    paths = pa.array([None, "/a", None], pa.string())
    assert keys_of_arrays(paths, None).to_pylist() == [None, "file:/a", None]
    vectors = pa.nulls(3, DELETION_VECTOR)
    assert keys_of_arrays(paths, vectors).to_pylist() == [None, "file:/a", None]


@pytest.mark.rule("file-add-path-uri-decoded", "file-path-decoded-once")
@pytest.mark.rule("file-remove-path-uri-decoded", "older-003-add-path-relative")
@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [
        ("a/b.parquet", "a/b.parquet"),
        ("a%20b", "a b"),
        ("a%2520b", "a%20b"),
        ("part=x%252Fy", "part=x%2Fy"),
        ("gr%C3%B6%C3%9Fe", "größe"),
        ("größe", "größe"),
        ("a+b", "a+b"),
        ("100%25", "100%"),
        ("100%", "100%"),
    ],
)
def test_path_is_decoded_exactly_once(encoded: str, decoded: str) -> None:
    assert decode_path(encoded) == decoded


@given(_TEXT)
def test_encoded_path_is_decoded_to_itself(path: str) -> None:
    assert decode_path(encode_path(path)) == path
    assert encode_path(path).isascii()


@pytest.mark.rule("file-add-path")
@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("/a", True),
        ("file:/a", True),
        ("s3://b/a", True),
        ("abfss://c@d/a", True),
        ("a/b", False),
        ("a%3A/b", False),
        ("part=12%3A30/a", False),
        ("1:2", False),
        ("", False),
    ],
)
def test_absolute_paths(path: str, absolute: bool) -> None:
    assert is_absolute(path) is absolute
