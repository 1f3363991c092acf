"""Parquet files of chunks that were encoded apart: the same rows as pyarrow's own file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.log.checkpoint_writing._checked_output import CheckedOutput
from explorer.storage.parquet._joined_file import (
    Chunk,
    JoinedFile,
    empty_footer,
    encode_chunks,
    split_file,
)
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings

_SETTINGS = WriterSettings(
    codec="zstd",
    page_checksums=True,
    dictionary=("s.m.key_value.key", "s.m.key_value.value", "t"),
    unbounded=frozenset({"s.a.b"}),
)
_STRUCT = pa.struct(
    [
        ("n", pa.int64()),
        ("a.b", pa.string()),
        ("m", pa.map_(pa.string(), pa.string())),
        ("l", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.bool_())]))),
    ]
)
_SCHEMA = pa.schema([("t", pa.string()), ("s", _STRUCT), ("a", pa.struct([("b", pa.float64())]))])

_bodies = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "a.b": st.none() | st.text(max_size=5),
        "m": st.none() | st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2)), max_size=3),
        "l": st.none()
        | st.lists(
            st.none()
            | st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": st.booleans()}),
            max_size=3,
        ),
    }
)
_rows = st.fixed_dictionaries(
    {
        "t": st.none() | st.text(max_size=5),
        "s": st.none() | _bodies,
        "a": st.none() | st.fixed_dictionaries({"b": st.none() | st.floats(allow_nan=False)}),
    }
)


def _join(groups: Sequence[Sequence[pa.Table]], schema: pa.Schema = _SCHEMA) -> bytes:
    """A file of row groups, each of tables with some of the columns."""
    held = io.BytesIO()
    file = JoinedFile(CheckedOutput(held), empty_footer(schema, _SETTINGS))
    for tables in groups:
        file.write_group([chunk for table in tables for chunk in encode_chunks(table, _SETTINGS)])
    file.finish()
    return held.getvalue()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(groups=st.lists(st.lists(_rows, min_size=1, max_size=30), max_size=4))
def test_joined_file_has_the_rows_that_went_into_it(groups: list[list[dict[str, Any]]]) -> None:
    tables = [pa.Table.from_pylist(rows, schema=_SCHEMA) for rows in groups]
    data = _join([[table.select(["a", "s"]), table.select(["t"])] for table in tables])
    expected = pa.concat_tables([_SCHEMA.empty_table(), *tables])
    found = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
    assert found.read().equals(expected)
    assert [found.metadata.row_group(at).num_rows for at in range(len(groups))] == [
        len(rows) for rows in groups
    ]


def test_joined_file_is_byte_for_byte_the_one_that_pyarrow_writes() -> None:
    rows = [{"t": f"t{n % 3}", "s": {"n": n, "m": [("k", str(n))], "l": []}} for n in range(500)]
    table = pa.Table.from_pylist(rows, schema=_SCHEMA)
    whole = io.BytesIO()
    with ParquetOutput(whole, _SCHEMA, _SETTINGS) as file:
        for start in range(0, 500, 200):
            file.write(table.slice(start, 200))
    pieces = [table.slice(start, 200) for start in range(0, 500, 200)]
    joined = _join([[piece.select([name]) for name in ("a", "t", "s")] for piece in pieces])
    assert joined == whole.getvalue()


def test_file_without_row_groups_is_one_of_no_rows() -> None:
    found = pq.read_table(io.BytesIO(_join([])))
    assert found.num_rows == 0
    assert found.schema == _SCHEMA


def _chunks(count: int, *names: str) -> list[Chunk]:
    table = pa.table({name: pa.nulls(count, pa.string()) for name in names})
    return list(encode_chunks(table, _SETTINGS))


@pytest.mark.parametrize(
    "chunks",
    [
        _chunks(3, "t"),
        _chunks(3, "t", "u", "v"),
        [*_chunks(3, "t"), *_chunks(4, "u")],
        [],
    ],
    ids=["one missing", "one too many", "other rows", "none"],
)
def test_row_group_of_other_leaves_or_rows_is_refused(chunks: list[Chunk]) -> None:
    schema = pa.schema([("t", pa.string()), ("u", pa.string())])
    file = JoinedFile(CheckedOutput(io.BytesIO()), empty_footer(schema, _SETTINGS))
    with pytest.raises(ValueError, match=r"\w"):
        file.write_group(chunks)


def test_bytes_between_the_chunks_are_refused() -> None:
    sink = CheckedOutput(io.BytesIO())
    file = JoinedFile(sink, empty_footer(pa.schema([("t", pa.string())]), _SETTINGS))
    file.write_group(_chunks(3, "t"))
    sink.write(b"?")
    file.write_group(_chunks(3, "t"))
    with pytest.raises(ValueError, match="lies elsewhere"):
        file.finish()


def test_bytes_after_the_last_chunk_are_refused() -> None:
    sink = CheckedOutput(io.BytesIO())
    file = JoinedFile(sink, empty_footer(pa.schema([("t", pa.string())]), _SETTINGS))
    file.write_group(_chunks(3, "t"))
    sink.write(b"?")
    with pytest.raises(ValueError, match="belong to no column chunk"):
        file.finish()


def test_only_a_file_of_one_row_group_without_indexes_is_split() -> None:
    table = pa.table({"t": ["x"] * 10})
    for options in ({"row_group_size": 5}, {"write_page_index": True}):
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, **options)
        with pytest.raises(ValueError, match=r"\w"):
            split_file(sink.getvalue())
    for data in (b"", b"PAR1", b"PAR1\x00\x00\x00\x00PAR1", b"\xff" * 40 + b"PAR1"):
        with pytest.raises((ValueError, KeyError), match=r"\w"):
            split_file(pa.py_buffer(data))
