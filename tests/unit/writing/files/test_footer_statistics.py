"""Statistics from footers, held against those that are counted while rows are written."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.errors import CorruptDataError
from explorer.protocol.statistics import RunningStatistics
from explorer.storage.local import LocalStore
from explorer.writing.files.file_form import FileForm
from explorer.writing.files.footer_statistics import footer_statistics

UTC = pa.timestamp("us", "UTC")
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "byte": (pa.int8(), [-128, None, 127, 3]),
    "short": (pa.int16(), [-1, 2, None, 3]),
    "whole": (pa.int32(), [None, None, None, None]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 0, 1]),
    "single": (pa.float32(), [0.1, -0.0, None, 0.0]),
    "double": (pa.float64(), [1.5, float("nan"), None, -2.0]),
    "endless": (pa.float64(), [float("inf"), 1.0, 2.0, None]),
    "text": (pa.string(), ["ä" * 40, "z", None, ""]),
    "bytes": (pa.binary(), [b"\xff", b"", None, b"a"]),
    "flag": (pa.bool_(), [True, False, None, True]),
    "day": (pa.date32(), [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31), None]),
    "at": (UTC, [-(2**62), 2**62, None, 1]),
    "wall": (pa.timestamp("us"), [1_500, None, -1_500, 0]),
    "small": (pa.decimal128(5, 2), [Decimal("-1.10"), Decimal("999.99"), None, Decimal("0.00")]),
    "middle": (pa.decimal128(18, 0), [Decimal(-(10**17)), Decimal(1), None, Decimal(10**17)]),
    "wide": (pa.decimal128(38, 3), [Decimal("-1e34"), None, Decimal("1e34"), Decimal("0.001")]),
}
ROWS = pa.table(
    {
        name: pa.array(values, pa.int64()).cast(kind)
        if pa.types.is_timestamp(kind)
        else pa.array(values, kind)
        for name, (kind, values) in COLUMNS.items()
    }
)
FORM = FileForm(
    schema=ROWS.schema,
    statistics=tuple((name,) for name in COLUMNS),
    string_prefix=32,
    codec="snappy",
    page_version="1.0",
)


@pytest.mark.parametrize("told", [True, False, ["long", "at", "wide"]], ids=str)
@pytest.mark.parametrize("rows_per_group", [1, 3, 4])
def test_they_say_what_the_rows_say_whatever_the_footer_tells(
    tmp_path: Path, told: bool | list[str], rows_per_group: int
) -> None:
    pq.write_table(
        ROWS,
        tmp_path / "rows.parquet",
        row_group_size=rows_per_group,
        write_statistics=told,
        store_decimal_as_integer=True,
    )
    running = RunningStatistics(FORM.statistics, FORM.string_prefix)
    running.add(ROWS)
    count, stats = footer_statistics(LocalStore(str(tmp_path)), "rows.parquet", FORM)
    assert count == 4
    assert orjson.loads(stats) == orjson.loads(running.render())
    assert stats == running.render()


def test_only_columns_that_are_asked_for_are_told(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    form = replace(FORM, statistics=(("long",),))
    _, stats = footer_statistics(LocalStore(str(tmp_path)), "rows.parquet", form)
    assert orjson.loads(stats)["nullCount"] == {"long": 0}
    assert orjson.loads(stats)["maxValues"] == {"long": 2**63 - 1}


def test_a_file_that_is_not_as_the_table_wants_it_is_an_error(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    at = ROWS.schema.get_field_index("at")
    for other in (
        ROWS.drop(["flag"]),
        ROWS.set_column(at, "at", ROWS.column("at").cast(pa.timestamp("us"))),
    ):
        pq.write_table(other, tmp_path / "rows.parquet")
        with pytest.raises(CorruptDataError, match="not as it was to be written"):
            footer_statistics(store, "rows.parquet", FORM)
    (tmp_path / "rows.parquet").write_bytes((tmp_path / "rows.parquet").read_bytes()[:-5])
    with pytest.raises(CorruptDataError, match="not as it was to be written"):
        footer_statistics(store, "rows.parquet", FORM)
