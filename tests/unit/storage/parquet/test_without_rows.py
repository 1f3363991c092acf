"""A Parquet file without some of its rows holds what pyarrow reads of the others."""

from __future__ import annotations

import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.storage.local import LocalStore
from explorer.storage.parquet.file_bytes import ParquetBytes
from explorer.storage.parquet.reader import ParquetReader
from explorer.storage.parquet.without_rows import FileWithoutRows, NotEditableError

_CODECS = ("none", "snappy", "gzip", "zstd", "brotli", "lz4")


def _rows(draw: random.Random, count: int) -> pa.Table:
    def some(values: Any, nulls: float) -> list[Any]:
        return [None if draw.random() < nulls else values() for _ in range(count)]

    nulls = draw.choice([0.0, 0.1, 0.9, 1.0])
    structs = pa.struct([("n", pa.int32()), ("s", pa.struct([("t", pa.string())]))])
    columns = {
        "number": pa.array(some(lambda: draw.randrange(-(2**63), 2**63), nulls), pa.int64()),
        "few": pa.array(some(lambda: draw.randrange(5), nulls), pa.int32()),
        "text": pa.array(some(lambda: draw.choice("abcäß∂") * draw.randrange(9), nulls)),
        "same": pa.array(some(lambda: "always", nulls), pa.string()),
        "yes": pa.array(some(lambda: draw.random() < 0.5, nulls), pa.bool_()),
        "real": pa.array(
            some(lambda: draw.choice([0.0, -0.0, float("nan"), draw.random()]), nulls), pa.float64()
        ),
        "price": pa.array(
            some(lambda: Decimal(draw.randrange(10**9)).scaleb(-2), nulls), pa.decimal128(12, 2)
        ),
        "large": pa.array(some(lambda: Decimal(draw.randrange(10**30)), nulls), pa.decimal128(38)),
        "bytes": pa.array(some(lambda: draw.randbytes(draw.randrange(5)), nulls), pa.binary()),
        "nested": pa.array(
            some(
                lambda: {"n": draw.choice([None, 7]), "s": draw.choice([None, {"t": "x"}, {}])},
                nulls,
            ),
            structs,
        ),
        "must": pa.array(range(count), pa.int64()),
    }
    table = pa.table(columns)
    return table.cast(pa.schema([item.with_nullable(item.name != "must") for item in table.schema]))


def _without(path: Path, dropped: list[int], share: int = 1) -> bytes:
    with ParquetBytes(LocalStore(path.parent), path.name).open() as source:
        source.check_footer()
        kept = FileWithoutRows(source, ParquetReader(source), np.array(dropped, np.int64), share)
        sink = io.BytesIO()
        kept.write(sink)
    return sink.getvalue()


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("seed", range(24))
def test_file_without_rows_has_the_others(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    count = draw.randrange(2, 3000)
    rows = _rows(draw, count)
    path = tmp_path / "file.parquet"
    pq.write_table(
        rows,
        path,
        compression=draw.choice(_CODECS),
        use_dictionary=draw.choice([True, False, ["few", "text", "nested.s.t"]]),
        data_page_version=draw.choice(["1.0", "2.0"]),
        data_page_size=draw.choice([512, 4096, 2**20]),
        dictionary_pagesize_limit=draw.choice([256, 2**20]),
        row_group_size=draw.choice([17, 1000, count]),
        write_page_index=draw.random() < 0.5,
        write_page_checksum=draw.random() < 0.8,
        store_decimal_as_integer=draw.random() < 0.5,
    )
    many = min(draw.choice([1, 1, 3, count // 2, count - 1]), count - 1)
    dropped = sorted(draw.sample(range(count), max(many, 1)))
    mask = np.ones(count, bool)
    mask[dropped] = False

    data = _without(path, dropped)

    found = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    expected = rows.filter(pa.array(mask))
    read = found.read()
    assert read.schema.equals(pq.read_schema(path))
    for name in rows.column_names:
        one, other = read.column(name).to_pylist(), expected.column(name).to_pylist()
        assert repr(one) == repr(other), name
    _check_footer(found, read)


def _check_footer(file: pq.ParquetFile, read: pa.Table) -> None:
    at = 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        part = read.slice(at, group.num_rows).flatten().flatten()
        at += group.num_rows
        for place in range(group.num_columns):
            told, values = group.column(place), part.column(place)
            assert told.num_values == group.num_rows
            if told.statistics is None:
                continue
            assert told.statistics.null_count == values.null_count
            if told.statistics.has_min_max and not pa.types.is_floating(values.type):
                bounds = pa.compute.min_max(values).as_py()
                if pa.types.is_boolean(values.type):
                    continue
                assert told.statistics.min == bounds["min"]
                assert told.statistics.max == bounds["max"]
    assert at == read.num_rows


def test_untouched_bytes_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    rows = pa.table({"n": range(100_000), "t": [str(n) for n in range(100_000)]})
    pq.write_table(rows, path, data_page_size=2**14, row_group_size=50_000, compression="none")
    before, after = path.read_bytes(), _without(path, [70_000], share=8)
    half = pq.read_metadata(path).row_group(0).total_byte_size
    assert after[:half] == before[:half]
    assert len(before) - 1000 < len(after) < len(before)


def test_too_many_pages_are_not_edited(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"n": range(1000)}), path)
    with pytest.raises(NotEditableError, match="too many"):
        _without(path, [1], share=2)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        pytest.param(pa.table({"l": [[1], [2, 3]]}), {}, id="lists"),
        pytest.param(
            pa.table({"n": [1, 2]}),
            {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"},
            id="differences",
        ),
    ],
)
def test_what_cannot_be_taken_apart_is_refused(
    rows: pa.Table, options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(rows, path, **options)
    with pytest.raises(NotEditableError):
        _without(path, [0])


@pytest.mark.parametrize("dropped", [[0, 1], [2]])
def test_no_row_left_and_rows_beyond_the_end_are_refused(
    dropped: list[int], tmp_path: Path
) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"n": [1, 2]}), path)
    with pytest.raises(NotEditableError):
        _without(path, dropped)
