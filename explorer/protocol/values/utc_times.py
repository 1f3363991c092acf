"""Times as people are told them, by the clock of UTC: one form, `2026-11-25 14:39:07.120 UTC`.

Moments of commits and files are told to the minute or the second, values of data with the digits
that they need, in threes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

_VALUE: Final = re.compile(
    r"(?P<day>[+-]?\d{4,}-\d{2}-\d{2})[T ](?P<clock>\d{2}:\d{2}:\d{2})"
    r"(?:\.(?P<fraction>\d{1,9}))?(?P<zone>Z?)"
)


def render_minute(moment: datetime) -> str:
    """`2026-11-25 14:39 UTC`, of an aware time."""
    return f"{_utc(moment, 'minutes')} UTC"


def render_second(moment: datetime) -> str:
    """`2026-11-25 14:39:07 UTC`, of an aware time."""
    return f"{_utc(moment, 'seconds')} UTC"


def render_times(moments: Sequence[datetime | None], unknown: str) -> list[str]:
    """Times that stand below each other, to the minute; to the second where two of them that
    differ have the same minute."""
    told = {moment for moment in moments if moment is not None}
    render = render_minute if len({*map(render_minute, told)}) == len(told) else render_second
    return [unknown if moment is None else render(moment) for moment in moments]


def fraction_digits(fractions: Sequence[str]) -> int:
    """How many digits of a second, in threes, tell all of `fractions`: 0 where all are zero."""
    longest = max((len(digits.rstrip("0")) for digits in fractions), default=0)
    return -(-longest // 3) * 3


def render_value_times(texts: Sequence[str | None]) -> list[str | None]:
    """Values of one column that are times, `2026-11-25T14:39:07.120000Z`, in the form of this
    module: all with the same number of digits, and `UTC` where they are instants. What is no such
    time stays as it is."""
    found = [None if text is None else _VALUE.fullmatch(text) for text in texts]
    digits = fraction_digits([each["fraction"] or "" for each in found if each is not None])
    return [
        text if each is None else _told(each, digits)
        for text, each in zip(texts, found, strict=True)
    ]


def _told(found: re.Match[str], digits: int) -> str:
    fraction = f".{(found['fraction'] or '').ljust(digits, '0')[:digits]}" if digits else ""
    return f"{found['day']} {found['clock']}{fraction}{' UTC' if found['zone'] else ''}"


def _utc(moment: datetime, unit: str) -> str:
    # not by strftime, which writes years before 1000 with fewer digits
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", unit)


def iso_time(time: datetime) -> str:
    """ISO 8601 in UTC to the millisecond: `2026-11-01T10:22:03.125Z`."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
