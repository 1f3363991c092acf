"""The highest row id that was given out (spec: Row Tracking).

The text calls it `highWaterMark`, the domain in real tables `rowIdHighWaterMark`, and
in an older revision it was an action of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"
HIGH_WATER_MARK_ACTION: Final = "rowIdHighWaterMark"

_SPELLINGS = ("rowIdHighWaterMark", "highWaterMark")


def parse_domain_high_water_mark(configuration: str) -> int | None:
    """The mark in the configuration of the domain `delta.rowTracking`, in either spelling;
    None where it has none."""
    try:
        value = orjson.loads(configuration)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    found = (_long(value.get(name)) for name in _SPELLINGS)
    return next((mark for mark in found if mark is not None), None)


def parse_high_water_mark_action(body: Any) -> int | None:
    """The mark of the action `rowIdHighWaterMark`; None where it is none, for newer
    revisions do not know the action."""
    return _long(body.get("highWaterMark")) if isinstance(body, Mapping) else None


def _long(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and -(2**63) <= value < 2**63 else None
