"""Times as people are told them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from explorer.protocol.values.utc_times import (
    render_minute,
    render_second,
    render_times,
    render_value_times,
)

NOON = datetime(2026, 11, 25, 12, 0, 7, tzinfo=UTC)


def test_a_time_is_told_by_the_clock_of_utc() -> None:
    eastern = NOON.astimezone(timezone(timedelta(hours=-5)))
    assert render_minute(eastern) == "2026-11-25 12:00 UTC"
    assert render_second(eastern) == "2026-11-25 12:00:07 UTC"
    assert render_minute(datetime(7, 1, 1, tzinfo=UTC)) == "0007-01-01 00:00 UTC"


def test_seconds_are_told_where_two_times_could_be_confused() -> None:
    later = NOON + timedelta(minutes=1)
    assert render_times([NOON, None, later, NOON], "?") == [
        "2026-11-25 12:00 UTC",
        "?",
        "2026-11-25 12:01 UTC",
        "2026-11-25 12:00 UTC",
    ]
    sooner = NOON - timedelta(seconds=1)
    assert render_times([NOON, sooner], "?") == [
        "2026-11-25 12:00:07 UTC",
        "2026-11-25 12:00:06 UTC",
    ]
    assert render_times([], "?") == []


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (
            ["2026-10-19T09:56:11.686000Z", "2026-10-19 09:56:12.400000Z", None],
            ["2026-10-19 09:56:11.686 UTC", "2026-10-19 09:56:12.400 UTC", None],
        ),
        (["2026-10-19T09:56:11.000000Z"], ["2026-10-19 09:56:11 UTC"]),
        (["2026-10-19 09:56:11.000001"], ["2026-10-19 09:56:11.000001"]),
        (["2026-10-19T09:56:11Z", "2026-10-19 09:56:11.1"],
         ["2026-10-19 09:56:11.000 UTC", "2026-10-19 09:56:11.100"]),
        (["2026-10-19", "at 2026-10-19T09:56:11Z", ""],
         ["2026-10-19", "at 2026-10-19T09:56:11Z", ""]),
    ],
    ids=["threes", "whole", "microseconds", "wall", "others"],
)  # fmt: skip
def test_times_of_a_column_have_one_form_and_as_many_digits(
    texts: list[str | None], told: list[str | None]
) -> None:
    assert render_value_times(texts) == told
