"""Times as people are told them, by the clock of UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


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


def _utc(moment: datetime, unit: str) -> str:
    # not by strftime, which writes years before 1000 with fewer digits
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", unit)


def iso_time(time: datetime) -> str:
    """ISO 8601 in UTC to the millisecond: `2026-11-01T10:22:03.125Z`."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
