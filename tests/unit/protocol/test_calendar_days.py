"""Days and times of every year, against numpy's calendar."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.protocol.values.calendar_days import (
    LAST_US,
    LEAST_US,
    date_of,
    days_of,
    parse_clock,
    parse_offset,
    parse_year,
    render_moment,
)

DAYS = st.integers(-(2**31), 2**31 - 1)


@given(DAYS)
def test_a_day_and_its_date_name_each_other_in_every_year(days: int) -> None:
    year, month, day = date_of(days)
    first = np.datetime64((year - 1970) * 12 + month - 1, "M").astype("M8[D]").astype(np.int64)
    assert int(first) + day - 1 == days == days_of(year, month, day)


@pytest.mark.parametrize(
    ("year", "month", "day"),
    [(2023, 2, 29), (1900, 2, 29), (-1, 2, 29), (2024, 4, 31), (2024, 13, 1), (2024, 1, 0)],
)
def test_a_day_that_there_is_not_is_refused(year: int, month: int, day: int) -> None:
    with pytest.raises(ValueError, match="not a day"):
        days_of(year, month, day)


@pytest.mark.parametrize(("year", "month"), [(0, 2), (-4, 2), (10_000, 2), (2000, 2)])
def test_leap_days_are_those_of_the_proleptic_calendar(year: int, month: int) -> None:
    assert date_of(days_of(year, month, 29)) == (year, month, 29)


def test_the_first_and_the_last_time_are_written_with_all_their_digits() -> None:
    assert render_moment(LEAST_US) == "-290308-12-21 19:59:05.224192"
    assert render_moment(LAST_US, "T", 3) == "+294247-01-10T04:00:54.775"
    assert render_moment(-1, "T", 3) == "1969-12-31T23:59:59.999"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("Z", 0), ("+01:00", 3600), ("-07:52:58", -28_378), ("+0530", 19_800), ("-3", -10_800)],
)
def test_an_offset_may_have_seconds(text: str, seconds: int) -> None:
    assert parse_offset(text) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["+19:00", "+01:60", "1:00", "+", "Europe/Berlin", "+01:00:60"])
def test_what_is_no_offset_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an offset"):
        parse_offset(text)


@pytest.mark.parametrize("text", ["24:00:00", "12", "12:60", "12:00:00.0000001"])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a time of day|microseconds"):
        parse_clock(text)


@pytest.mark.parametrize("text", ["12345678", "+1234567890"])
def test_a_year_of_too_many_digits_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="too many digits"):
        parse_year(text)


@pytest.mark.parametrize("text", ["10000", "1234567", "+123456789", "-10000"])
def test_a_year_of_many_digits_is_read(text: str) -> None:
    assert parse_year(text) == int(text)
