"""How long removed files and the history stay (spec: Table Properties, Metadata Cleanup)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from explorer.protocol.table_properties.known_properties import (
    DELETED_FILE_RETENTION,
    LOG_CLEANUP,
    LOG_RETENTION,
)

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


def describe_short_log(configuration: Mapping[str, str]) -> str | None:
    """What it means that the log is kept for less time than removed files are, in a sentence;
    None where it is not, or where what the table asks for cannot be read."""
    both = (LOG_RETENTION, DELETED_FILE_RETENTION)
    if any(known.unread_in(configuration) for known in (*both, LOG_CLEANUP)):
        return None
    log, files = (known.value_of(configuration) for known in both)
    if log >= files or not LOG_CLEANUP.value_of(configuration):
        return None
    log_said, files_said = (
        f"{known.name} ({known.text_in(configuration) or known.default})" for known in both
    )
    return (
        f"{log_said} is shorter than {files_said}: once the log is cleaned up, versions cannot be "
        "opened although their files are kept."
    )


def log_cutoff_ms(now_ms: int, retention: timedelta) -> int:
    """Commits at or before this time are past their retention: midnight (UTC) of its day."""
    threshold = now_ms - milliseconds(retention)
    return threshold - threshold % DAY_MS
