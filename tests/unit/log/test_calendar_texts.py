"""Columns of dates and times as texts and back, in every year."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.log.calendar_texts import parse_calendar, render_calendar, render_values

INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NUMBERS = st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1)


def times_of(numbers: list[int | None], kind: pa.DataType) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(kind)


@pytest.mark.slow
@given(NUMBERS, st.sampled_from([INSTANT, LOCAL]))
def test_a_time_of_any_year_comes_back_from_its_text(numbers: list[int], kind: pa.DataType) -> None:
    times = times_of(numbers, kind)
    assert parse_calendar(render_calendar(times), kind).equals(times)


@pytest.mark.slow
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_a_date_of_any_year_comes_back_from_its_text(numbers: list[int]) -> None:
    days = pa.array(numbers, pa.int32()).cast(pa.date32())
    assert parse_calendar(render_calendar(days), pa.date32()).equals(days)


def test_years_of_more_digits_have_a_sign_and_the_usual_ones_are_as_arrow_writes_them() -> None:
    numbers = [253_402_300_800_000_000, -62_167_219_200_000_001, 0, None]
    assert render_values(times_of(numbers, INSTANT)).to_pylist() == [
        "+10000-01-01 00:00:00.000000Z",
        "-0001-12-31 23:59:59.999999Z",
        "1970-01-01 00:00:00.000000Z",
        None,
    ]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("0001-01-01T00:00:00.000-07:52:58", "0001-01-01T07:52:58"),
        ("1900-01-01T00:00:00.000+00:19:32", "1899-12-31T23:40:28"),
        ("+10000-01-01T00:00:00.000Z", "10000-01-01T00:00:00"),
        ("10000-01-01T00:00:00.000Z", "10000-01-01T00:00:00"),
        ("+294247-01-10T04:00:54.775Z", "294247-01-10T04:00:54.775"),
        ("-290308-12-21T19:59:05.225Z", "-290308-12-21T19:59:05.225"),
        ("-0001-01-01T00:00:00.000Z", "-0001-01-01T00:00:00"),
    ],
)
def test_times_of_every_year_are_read(text: str, known: str) -> None:
    expected = int(np.datetime64(known, "us").astype(np.int64))
    found = parse_calendar(pa.array([text]), INSTANT).cast(pa.int64()).to_pylist()
    assert found == [expected]


def test_the_first_time_cut_to_milliseconds_is_the_first_time() -> None:
    found = parse_calendar(pa.array(["-290308-12-21T19:59:05.224Z"]), INSTANT)
    assert found.cast(pa.int64()).to_pylist() == [-(2**63)]


@pytest.mark.parametrize(
    "text",
    [
        "00010000-01-01T00:00:00Z",
        "+294248-01-01T00:00:00Z",
        "2024-02-30T00:00:00Z",
        "2024-01-01T25:00:00Z",
        "2024-01-01T00:00:00-07:52:61",
        "soon",
    ],
)
def test_what_is_no_time_is_null(text: str) -> None:
    assert parse_calendar(pa.array([text]), INSTANT).null_count == 1


def test_an_offset_says_nothing_of_a_clock_on_the_wall() -> None:
    texts = pa.array(["+10000-01-01T00:00:00Z", "+10000-01-01T00:00:00+01:00"])
    assert parse_calendar(texts, LOCAL).is_valid().to_pylist() == [True, False]
