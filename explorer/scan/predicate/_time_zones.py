"""Time zones by their names, as times in a predicate may have them."""

from __future__ import annotations

import re
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.values.calendar_days import DAY_US, SECOND_US, date_of, parse_offset

ZONE_PATTERN: Final = r"[+-]\d[\d:]{0,7}|[A-Za-z][A-Za-z0-9_+\-:/]{0,59}"
"""What may be a zone behind a time: an offset, or a name such as Europe/Berlin."""

_FIXED: Final = re.compile(r"(?:UTC|GMT|UT)([+-].*)?|([+-].*)", re.IGNORECASE)
_FIRST_RULE_YEAR, _LAST_RULE_YEAR = 2, 9000
_SHORT_NAMES: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""What Java, and Spark with it, takes these names for."""

_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def microseconds_before_utc(zone: str, wall: int) -> int:
    """By how much the clocks of a zone are before UTC when they show `wall`, in microseconds
    since 1970. A time that they show twice is the first, one that they leave out comes after
    the gap, as in Spark. Raises `InvalidArgumentError` for a zone that is not known.
    """
    try:
        if zone in {"Z", "z"}:
            return 0
        zone = _SHORT_NAMES.get(zone, zone)
        if (fixed := _FIXED.fullmatch(zone)) is not None:
            offset = fixed[1] or fixed[2]
            return parse_offset(offset) if offset else 0
        return _by_rules(zone, wall)
    except (KeyError, ValueError, OSError) as error:  # what zoneinfo says of one it lacks
        raise InvalidArgumentError(
            f"The time zone {zone[:60]!r} is not known.",
            reason="It is neither an offset nor a name in this machine's time zone database.",
            remedy="Write an offset such as +01:00, or a name such as Europe/Berlin.",
        ) from error


def _by_rules(zone: str, wall: int) -> int:
    from datetime import datetime, timedelta  # noqa: PLC0415  # a name of a zone is rare
    from zoneinfo import ZoneInfo  # noqa: PLC0415  # as above

    days, rest = divmod(wall, DAY_US)
    year = date_of(days)[0]
    # zoneinfo asks for a datetime, and those end: beyond its years the rules are the same
    # every 400 years, and before them clocks went by the sun as in the first
    if year < _FIRST_RULE_YEAR:
        days, rest = -719_162, 0
    elif year > _LAST_RULE_YEAR:
        days -= (year - _LAST_RULE_YEAR + _CYCLE_YEARS - 1) // _CYCLE_YEARS * _CYCLE_DAYS
    asked = datetime(1970, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(days=days, microseconds=rest)
    offset = asked.utcoffset()
    assert offset is not None  # a ZoneInfo answers every aware time
    return int(offset.total_seconds()) * SECOND_US
