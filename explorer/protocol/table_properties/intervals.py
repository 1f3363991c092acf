"""Durations in table properties, as the reference reads them (spec: Table Properties).

Like `interval 30 days`, `1 week`, `2 days 12 hours` or `INTERVAL 1.5 seconds`.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

_MICROSECONDS: Final = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_PART = re.compile(r"([+-]?)\s*(\d{1,19})(?:\.(\d{0,9}))?\s+([a-z]+?)s?(?=\s|$)\s*", re.ASCII)
_LONGEST: Final = 2**63 - 1  # the reference counts microseconds in 64 bits


def parse_interval(text: str) -> timedelta:
    """The duration that `text` names.

    Raises `ValueError` with the reason where it names none, has months or
    years (they have no fixed length), is negative, or is out of range.
    """
    rest = text.strip().lower()
    rest = rest.removeprefix("interval ").strip()
    if not rest:
        raise ValueError("it is empty")
    total = 0
    while rest:
        if (match := _PART.match(rest)) is None:
            raise ValueError("it must be like `interval 2 weeks` or `30 days`")
        total += _microseconds(match)
        rest = rest[match.end() :]
    if total < 0:
        raise ValueError("it is negative")
    if total > _LONGEST:
        raise ValueError("it is longer than 64 bits of microseconds can say")
    return timedelta(microseconds=total)


def _microseconds(match: re.Match[str]) -> int:
    sign, digits, fraction, unit = match.groups()
    if unit in {"month", "year"}:
        raise ValueError(f"a {unit} has no fixed length; `365 days` would do")
    if unit not in _MICROSECONDS:
        raise ValueError(f"`{unit}` is not a unit of time")
    if fraction is not None and unit != "second":
        raise ValueError("only seconds may have a fraction")
    value = int(digits) * _MICROSECONDS[unit]
    value += int((fraction or "").ljust(6, "0")[:6])
    return -value if sign == "-" else value
