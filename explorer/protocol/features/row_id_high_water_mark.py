"""The highest row id that was given out (spec: Row Tracking).

The text calls it `highWaterMark`, the domain in real tables `rowIdHighWaterMark`, and
in an older revision it was an action of that name. It is -1 before the first id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
HIGH_WATER_MARK_ACTION: Final = "rowIdHighWaterMark"

MAX_ROW_ID: Final = 2**63 - 1

_SPELLINGS = ("rowIdHighWaterMark", "highWaterMark")


def parse_domain_high_water_mark(configuration: str) -> int | None:
    """The mark in the configuration of the domain `delta.rowTracking`, in either spelling and
    the higher one of both; None where it has none, or one that nobody can read."""
    try:
        value = orjson.loads(configuration)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    found = [value[name] for name in _SPELLINGS if value.get(name) is not None]
    marks = [mark for item in found if (mark := _mark(item)) is not None]
    return max(marks) if marks and len(marks) == len(found) else None


def parse_high_water_mark_action(body: Any) -> int | None:
    """The mark of the action `rowIdHighWaterMark`; None where it is none, for newer
    revisions do not know the action."""
    return _mark(body.get("highWaterMark")) if isinstance(body, Mapping) else None


def last_row_id(base: int, stats: str | None) -> int:
    """The id of the last row of a file whose first has `base`, by its statistics: itself where
    these do not say `numRecords`, the one before it where there are no rows."""
    count = _count(stats)
    return base if count is None else min(base + count - 1, MAX_ROW_ID)


def _count(stats: str | None) -> int | None:
    try:
        value = orjson.loads(stats or "")
    except orjson.JSONDecodeError:
        try:
            value = json.loads(stats or "")  # it knows NaN and numbers beyond every double
        except (ValueError, RecursionError):
            return None
    count = value.get("numRecords") if isinstance(value, dict) else None
    return _whole(count, 0)


def _mark(value: Any) -> int | None:
    return _whole(value, -1)


def _whole(value: Any, least: int) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and least <= value <= MAX_ROW_ID else None
