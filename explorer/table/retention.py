"""How long removed files and the history stay (spec: Table Properties, Metadata Cleanup)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from explorer.protocol.known_properties import DELETED_FILE_RETENTION

DAY_MS = 86_400_000
_MS = timedelta(milliseconds=1)

SHORTEST_RETENTION = timedelta(days=7)
"""The floor: what a slow writer, or a long query, may still need."""


def retention_floor(configuration: Mapping[str, str]) -> timedelta:
    """The shortest time for which removed files are kept without a further word."""
    return max(SHORTEST_RETENTION, DELETED_FILE_RETENTION.value_of(configuration))


def milliseconds(duration: timedelta) -> int:
    """Whole milliseconds."""
    return duration // _MS


def log_cutoff_ms(now_ms: int, retention: timedelta) -> int:
    """Commits at or before this time are past their retention: midnight (UTC) of its day."""
    threshold = now_ms - milliseconds(retention)
    return threshold - threshold % DAY_MS
