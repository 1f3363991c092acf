"""Dates and times that Spark wrote by the calendar of before 1582."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.errors import UnsupportedError
from explorer.rows.conversion.calendars import _gregorian, former_calendar
from tests.tables import LogFolder, add, metadata

FORMER = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}
OLD = [dt.date(1000, 1, 1), dt.date(1500, 1, 1), None, dt.date(1582, 10, 15), dt.date(2020, 2, 29)]
WRITTEN = [-354_280, -171_655, None, -141_427, 18_321]
"""The days by which Spark writes them, the first two by the former calendar."""


def read(tmp_path: Any, column: pa.Array, kind: Any, footer: dict[str, str]) -> list[Any]:
    table = pa.table({"c": column}).replace_schema_metadata(footer)
    pq.write_table(table, tmp_path / "f.parquet")
    log = LogFolder(tmp_path)
    schema = {"type": "struct", "fields": [{"name": "c", "type": kind, "nullable": True}]}
    schema["fields"][0]["metadata"] = {}
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    size = (tmp_path / "f.parquet").stat().st_size
    log.commit(
        0, [protocol, metadata(schemaString=json.dumps(schema)), add("f.parquet", size=size)]
    )
    rows = explorer.read_rows(explorer.open_table(tmp_path).snapshot())
    return rows["c"].to_pylist()


def days(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.int32()).cast(pa.date32())


def micros(moments: list[int], zone: str | None = "UTC") -> pa.Array:
    return pa.array(moments, pa.int64()).cast(pa.timestamp("us", zone))


@pytest.mark.parametrize(
    "footer",
    [
        FORMER,
        {"org.apache.spark.version": "2.4.8"},
        {"org.apache.spark.version": "3.0.1", "org.apache.spark.legacyDateTime": ""},
    ],
)
def test_dates_keep_their_year_month_and_day(tmp_path: Any, footer: dict[str, str]) -> None:
    assert read(tmp_path, days(WRITTEN), "date", footer) == OLD


@pytest.mark.parametrize(
    "footer",
    [
        {},
        {"org.apache.spark.version": "3.5.0"},
        {"org.apache.spark.legacyDateTime": ""},
        {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""},
    ],
    ids=["another writer", "Spark of today", "no version", "times in 96 bits alone"],
)
def test_dates_of_other_files_are_taken_as_they_are(tmp_path: Any, footer: dict) -> None:
    shifted = [dt.date(1000, 1, 6), dt.date(1500, 1, 10), *OLD[2:]]
    assert read(tmp_path, days(WRITTEN), "date", footer) == shifted


def test_dates_inside_of_others_are_found(tmp_path: Any) -> None:
    nested = pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays([0, 2], days(WRITTEN[:2]))], ["d"]
    )
    inner = {"type": "array", "elementType": "date", "containsNull": True}
    field = {"name": "d", "type": inner, "nullable": True, "metadata": {}}
    kind = {"type": "struct", "fields": [field]}
    assert read(tmp_path, nested, kind, FORMER) == [{"d": OLD[:2]}]


def test_times_of_day_stay_in_a_zone_without_history(tmp_path: Any) -> None:
    clock = 3_600_000_000 * 13 + 7
    column = micros([-354_280 * 86_400_000_000 + clock, 5])
    footer = {**FORMER, "org.apache.spark.timeZone": "UTC"}
    found = read(tmp_path, column, "timestamp", footer)
    assert found == [
        dt.datetime(1000, 1, 1, 13, 0, 0, 7, tzinfo=dt.UTC),
        dt.datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=dt.UTC),
    ]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", ""])
def test_times_by_clocks_that_nobody_here_knows_are_told_and_not_guessed(
    tmp_path: Any, zone: str
) -> None:
    footer = {**FORMER, "org.apache.spark.timeZone": zone}
    with pytest.raises(UnsupportedError, match="before 1900"):
        read(tmp_path, micros([-3_786_825_600_000_000]), "timestamp", footer)


def test_times_since_1900_agree_everywhere(tmp_path: Any) -> None:
    footer = {**FORMER, "org.apache.spark.timeZone": "America/Los_Angeles"}
    (found,) = read(tmp_path, micros([0]), "timestamp", footer)
    assert found.timestamp() == 0


def test_times_of_96_bits_go_by_their_own_word() -> None:
    schema = pa.schema([], {"org.apache.spark.version": "3.0.3"})
    calendar = former_calendar(schema, "f")
    assert calendar is not None
    assert (calendar.plain, calendar.int96) == (False, True)


@pytest.mark.slow
def test_every_day_of_the_julian_calendar_keeps_its_name() -> None:
    """Against counting: each year has 365 days, each fourth one more."""
    start = (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days - 2  # 1 January of the year 1
    lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    wanted = []
    for year in range(1, 1582):
        for month, length in enumerate(lengths, start=1):
            leap = month == 2 and year % 4 == 0
            first = dt.date(year, month, 1)
            wanted += [first + dt.timedelta(days=day) for day in range(length + leap)]
    found = _gregorian(np.arange(start, start + len(wanted), dtype=np.int64))
    epoch = dt.date(1970, 1, 1)
    assert found.tolist() == [(day - epoch).days for day in wanted]
