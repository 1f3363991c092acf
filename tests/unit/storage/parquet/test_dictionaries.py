"""Which columns are stored as a dictionary."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from explorer.storage.parquet.dictionaries import dictionary_leaves
from explorer.storage.parquet.writer import ParquetOutput, WriterSettings

_ROWS = 100_000
_REPEATED = [number % 1000 for number in range(_ROWS)]
_TABLE = pa.table(
    {
        "different": pa.chunked_array([range(_ROWS // 2), range(_ROWS // 2, _ROWS)]),
        "repeated": pa.array(_REPEATED),
        "text": pa.array([f"text {number}" for number in range(_ROWS)]),
        "inner": pa.array([{"different": number} for number in range(_ROWS)]),
        "list": pa.array([[number] for number in range(_ROWS)]),
        "none": pa.nulls(_ROWS, pa.int64()),
    }
)


def test_a_column_whose_values_differ_gets_no_dictionary() -> None:
    chosen = dictionary_leaves(_TABLE)
    assert isinstance(chosen, tuple)
    assert set(chosen) == {"repeated", "inner.different", "list.list.element", "none"}
    sink = io.BytesIO()
    with ParquetOutput(sink, _TABLE.schema, WriterSettings(dictionary=chosen)) as file:
        file.write(_TABLE)
    group = pq.read_metadata(io.BytesIO(sink.getvalue())).row_group(0)
    encodings = [group.column(at).encodings for at in range(3)]
    assert ["RLE_DICTIONARY" in some for some in encodings] == [False, True, False]
    assert pq.read_table(io.BytesIO(sink.getvalue())).equals(_TABLE)


def test_values_that_come_again_far_away_count_as_repeated() -> None:
    runs = pa.table({"a": list(range(_ROWS // 4)) * 4})
    assert dictionary_leaves(runs) is True
    assert dictionary_leaves(runs.slice(0, 0)) is True


def test_narrow_values_get_one_where_it_holds_them_all() -> None:
    # 200,000 different values: a MiB holds those of four bytes, and not those of eight
    drawn = np.random.default_rng(7).integers(0, 200_000, 1_000_000)
    rows = pa.table({"narrow": drawn.astype("int32"), "wide": drawn})
    assert dictionary_leaves(rows) == ("narrow",)
