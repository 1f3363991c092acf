"""Days and times of every year as whole numbers (spec: Partition Value Serialization, Per-file
Statistics).

A date of Delta's counts days since 1970 in 32 bits, a timestamp microseconds in 64: the years
from -290308 to 294247, and more for dates. Python's own types end with the years 1 and 9999, so
that no value of a table goes by way of them. The calendar is the proleptic Gregorian one, with
a year 0. Years of more than four digits are written with a sign, as `+10000-01-01` is; Spark 2
wrote none, and Spark reads both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How many of a unit of time are a second."""

SECOND_US: Final = 1_000_000
DAY_US: Final = 86_400 * SECOND_US
"""Microseconds of a day."""

LEAST_US: Final = -(2**63)
LAST_US: Final = 2**63 - 1
"""The first and the last microsecond that a timestamp can be."""

_LEAST_DAY: Final = -(2**31)
_LAST_DAY: Final = 2**31 - 1
_MONTHS: Final = 12
_CYCLE_DAYS: Final = 146_097
"""Days of 400 years, after which the calendar begins again."""
_EPOCH_SHIFT: Final = 719_468
"""Days from 1 March of the year 0 to 1970."""
_MAX_YEAR_DIGITS: Final = 9
_MAX_UNSIGNED_DIGITS: Final = 7

DAY_PATTERN: Final = r"([+-]?\d{4,9})-(\d{1,2})-(\d{1,2})"
"""A day as the log has it, in three groups."""

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_OFFSET: Final = re.compile(r"([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)
_MOST_OFFSET_S: Final = 18 * 3600


@dataclass(frozen=True, slots=True, order=True)
class Day:
    """A date: `number` days since 1970-01-01."""

    number: int

    def __str__(self) -> str:
        return render_day(self.number)


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A timestamp: `number` microseconds since 1970, in UTC where it `is_instant`, else on a
    clock of no zone (`timestamp_ntz`)."""

    number: int
    is_instant: bool

    def __str__(self) -> str:
        return render_moment(self.number) + ("Z" if self.is_instant else "")


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970; raises `ValueError` where there is no such day."""
    if not 1 <= month <= _MONTHS or not 1 <= day <= _days_in(year, month):
        raise ValueError("not a day of the calendar")
    # years from March on, so that a leap day is the last one
    year -= month <= 2
    months = (month + 9) % _MONTHS
    cycle, year = divmod(year, 400)
    days = 365 * year + year // 4 - year // 100 + (153 * months + 2) // 5 + day - 1
    return cycle * _CYCLE_DAYS + days - _EPOCH_SHIFT


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970."""
    cycle, rest = divmod(days + _EPOCH_SHIFT, _CYCLE_DAYS)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    rest -= 365 * year + year // 4 - year // 100
    months = (5 * rest + 2) // 153
    month = (months + 2) % _MONTHS + 1
    return cycle * 400 + year + (month <= 2), month, rest - (153 * months + 2) // 5 + 1


def render_day(days: int) -> str:
    """`2024-10-04`, `-0001-12-31`, `+10000-01-01`."""
    year, month, day = date_of(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def render_moment(microseconds: int, separator: str = " ", digits: int | None = None) -> str:
    """`2024-10-04 12:30:00`, without a zone. `digits` are those of the fraction, the others cut
    off; None has six of them where there are microseconds, else none."""
    days, rest = divmod(microseconds, DAY_US)
    seconds, fraction = divmod(rest, SECOND_US)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    wanted = digits if digits is not None else 6 if fraction else 0
    tail = f".{fraction:06}"[: wanted + 1] if wanted else ""
    return f"{render_day(days)}{separator}{clock}{tail}"


def parse_day(text: str) -> Day:
    """A day of the log; raises `ValueError` for what is none, or beyond 32 bits."""
    found = re.fullmatch(DAY_PATTERN, text, re.ASCII)
    if found is None:
        raise ValueError("not a date")
    return checked_day(days_of(parse_year(found[1]), int(found[2]), int(found[3])))


def parse_year(digits: str) -> int:
    """A year of four to nine digits, which has a sign where there are more than seven; raises
    `ValueError` for others."""
    size = len(digits.lstrip("+-"))
    if size > (_MAX_YEAR_DIGITS if digits[0] in "+-" else _MAX_UNSIGNED_DIGITS):
        raise ValueError("a year of too many digits")
    return int(digits)


def parse_clock(text: str) -> int:
    """Microseconds of a time of day, `12:30`, `12:30:00` or `12:30:00.123`; raises `ValueError`
    for none, and where it is finer than microseconds."""
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError("not a time of day")
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    fraction = found[4] or ""
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("not a time of day")
    if fraction[6:].strip("0"):
        raise ValueError("finer than microseconds")
    seconds = (hour * 60 + minute) * 60 + second
    return seconds * SECOND_US + int(fraction[:6].ljust(6, "0"))


def parse_offset(text: str) -> int:
    """Microseconds that a zone is before UTC: `Z`, `+01:00`, `-07:52:58`; raises `ValueError`
    for what is not an offset. Zones had odd seconds before their clocks were set alike."""
    if text in {"Z", "z"}:
        return 0
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise ValueError("not an offset")
    minutes, seconds = int(found[3] or 0), int(found[4] or 0)
    total = (int(found[2]) * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _MOST_OFFSET_S:
        raise ValueError("not an offset")
    return (-total if found[1] == "-" else total) * SECOND_US


def checked_day(days: int) -> Day:
    """The day; raises `ValueError` beyond 32 bits."""
    if not _LEAST_DAY <= days <= _LAST_DAY:
        raise ValueError("beyond what a date can be")
    return Day(days)


def checked_moment(microseconds: int, *, is_instant: bool) -> Moment:
    """The time; raises `ValueError` beyond 64 bits."""
    if not LEAST_US <= microseconds <= LAST_US:
        raise ValueError("beyond what a timestamp can be")
    return Moment(microseconds, is_instant)


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31
