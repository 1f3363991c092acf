"""Parquet files whose columns are encoded in threads: byte by byte what one thread makes."""

from __future__ import annotations

import contextlib
import io

import pyarrow as pa
import pytest

from explorer.storage.parquet import threaded_writer, writer
from explorer.storage.parquet.threaded_writer import EncodingThreads, ThreadedOutput
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings

_SETTINGS = WriterSettings(codec="zstd", page_checksums=True, decimals_as_integers=True)
_ROWS = pa.table(
    {
        "a.b": [None, "x", "y" * 100, "x"],
        "a": [{"b": 1, "c": [1.5]}, None, {"b": None, "c": []}, {"b": 4, "c": None}],
        "m": pa.array([[("k", 1)], None, [], [("k", None)]], pa.map_(pa.string(), pa.int8())),
        "n": [1, 2, 3, 4],
    }
)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (writer, threaded_writer):
        monkeypatch.setattr(module, "ROWS_PER_GROUP", 3)


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("parts", [[_ROWS], [_ROWS, _ROWS.slice(1)], []])
def test_the_file_is_the_one_that_one_thread_makes(parts: list[pa.Table]) -> None:
    alone, threaded = io.BytesIO(), io.BytesIO()
    with ParquetOutput(alone, _ROWS.schema, _SETTINGS) as file:
        for rows in parts:
            file.write(rows)
    with (
        contextlib.closing(EncodingThreads(2)) as threads,
        ThreadedOutput(threaded, _ROWS.schema, _SETTINGS, threads) as other,
    ):
        for rows in parts:
            other.write(rows)

    assert threaded.getvalue() == alone.getvalue()
    assert other.num_rows == file.num_rows == sum(rows.num_rows for rows in parts)


@pytest.mark.usefixtures("small_groups")
def test_what_waits_is_told_until_it_is_in_the_file() -> None:
    sink = io.BytesIO()
    with (
        contextlib.closing(EncodingThreads(1)) as threads,
        ThreadedOutput(sink, _ROWS.schema, _SETTINGS, threads) as file,
    ):
        file.write(_ROWS)
        assert file.waiting_bytes == _ROWS.slice(3).nbytes
        before = sink.tell()
        file.settle()
        assert not file.waiting_bytes
        assert sink.tell() > before


def test_rows_that_cannot_be_encoded_are_an_error_and_no_file() -> None:
    sink = io.BytesIO()
    schema = pa.schema([("n", pa.month_day_nano_interval())])
    with (
        pytest.raises(pa.ArrowNotImplementedError),
        contextlib.closing(EncodingThreads(1)) as threads,
        ThreadedOutput(sink, schema, _SETTINGS, threads) as file,
    ):
        file.write(pa.table([pa.nulls(1, schema.field(0).type)], schema=schema))
    assert b"PAR1" not in sink.getvalue()[4:]


def test_a_column_that_fails_fails_the_file() -> None:
    sink = io.BytesIO()
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), ("t", pa.string())])
    with (
        pytest.raises(pa.ArrowInvalid),
        contextlib.closing(EncodingThreads(2)) as threads,
        ThreadedOutput(sink, schema, _SETTINGS, threads) as file,
    ):
        file.write(pa.table([[1, None], ["a", "b"]], schema=schema))
    assert b"PAR1" not in sink.getvalue()[4:]
