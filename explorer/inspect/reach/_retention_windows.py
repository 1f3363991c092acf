"""The two retention windows of a table, with the value that counts and where it comes from
(spec: Table Properties, Metadata Cleanup)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.inspect.frames import Column, build_frame
from explorer.log.actions.columns import TIME, bool_column, int64_column, string_column, time_column
from explorer.log.plain_arrays import Numbers
from explorer.protocol.commit_json import render_milliseconds
from explorer.protocol.table_properties.known_properties import (
    DELETED_FILE_RETENTION,
    LOG_CLEANUP,
    LOG_RETENTION,
)
from explorer.protocol.table_properties.properties import ignored_properties
from explorer.protocol.table_properties.table_property import TableProperty
from explorer.table.retention import describe_short_log, log_cutoff_ms, milliseconds
from explorer.table.times import utc_time

COLUMNS: dict[str, Column] = {
    "property": (string_column, pa.string()),
    "value": (string_column, pa.string()),
    "source": (string_column, pa.string()),
    "duration_ms": (int64_column, pa.int64()),
    "cutoff": (time_column, TIME),
    "first_version": (int64_column, pa.int64()),
    "is_enforced": (bool_column, pa.bool_()),
    "meaning": (string_column, pa.string()),
}

_FILES = (
    "VACUUM may delete a file this long after its removal from the table, and Delta Spark 4.1 "
    "and newer reads no further back, whether the files exist or not"
)
_LOG = "commits and checkpoints this old may be deleted once a newer checkpoint is as old"
UNREAD = "the default: the table's own value cannot be read"
"""The source of a value that other engines may use; maintenance here refuses to go on."""

_UNREAD = (
    "maintenance here deletes nothing until it is set to a valid value; other engines fail, or "
    "take the default, which this window shows"
)
_DECIDE: Final = (DELETED_FILE_RETENTION, LOG_RETENTION, LOG_CLEANUP)
_LOG_OFF = "the table turns log cleanup off (delta.enableExpiredLogCleanup)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Both durations in milliseconds; `log_ms` is None where the log is never cut. Files
    removed, and commits made, at or before the cutoffs are past their window."""

    files_ms: int
    log_ms: int | None
    files_cutoff_ms: int
    log_cutoff_ms: int
    configuration: Mapping[str, str]

    @property
    def is_unread(self) -> bool:
        """Whether the table asks for a retention of files that cannot be read."""
        return DELETED_FILE_RETENTION.unread_in(self.configuration) is not None

    def notes(self) -> Iterator[str]:
        """What is odd about what the table asks for, in sentences."""
        for problem in ignored_properties(self.configuration, _DECIDE):
            yield f"{problem.problem} {problem.reason}"
        if (sentence := describe_short_log(self.configuration)) is not None:
            yield sentence

    def frame(self, times: Numbers) -> pa.Table:
        """One row per window: the property, its `value` as text, the `source` of that value,
        its `duration_ms`, the moment at which it begins now (`cutoff`, in the year 1 for one
        that would be before), the oldest version
        committed after that (null without any), whether anybody goes by it, and what it means.
        `times` are when the versions were committed, in milliseconds, 0 for unknown."""
        enforced = self.log_ms is not None
        rows = [
            (
                *_said(DELETED_FILE_RETENTION, self.configuration),
                self.files_ms,
                _in_calendar(self.files_cutoff_ms),
                _first_after(times, self.files_cutoff_ms),
                True,
                _meaning(DELETED_FILE_RETENTION, self.configuration, _FILES),
            ),
            (
                *_said(LOG_RETENTION, self.configuration),
                milliseconds(LOG_RETENTION.value_of(self.configuration)),
                _in_calendar(self.log_cutoff_ms),
                _first_after(times, self.log_cutoff_ms),
                enforced,
                _meaning(LOG_RETENTION, self.configuration, _LOG) if enforced else _LOG_OFF,
            ),
        ]
        return build_frame(COLUMNS, rows)


def build_windows(configuration: Mapping[str, str], now_ms: int) -> Windows:
    """The windows of a table with these properties."""
    files = milliseconds(DELETED_FILE_RETENTION.value_of(configuration))
    log = LOG_RETENTION.value_of(configuration)
    return Windows(
        files_ms=files,
        log_ms=milliseconds(log) if LOG_CLEANUP.value_of(configuration) else None,
        files_cutoff_ms=now_ms - files,
        log_cutoff_ms=log_cutoff_ms(now_ms, log),
        configuration=configuration,
    )


def _said(
    known: TableProperty[timedelta], configuration: Mapping[str, str]
) -> tuple[str, str | None, str]:
    """Name, value in force and source of a property."""
    text = known.text_in(configuration)
    if text is None:
        return known.name, known.default, "the default"
    if known.validate(configuration) is not None:
        return known.name, known.default, UNREAD
    return known.name, text, "the table"


def _meaning(
    known: TableProperty[timedelta], configuration: Mapping[str, str], meaning: str
) -> str:
    """What a window means, or that nothing of ours goes by it."""
    clause = known.unread_in(configuration)
    if known is LOG_RETENTION:
        clause = clause or LOG_CLEANUP.unread_in(configuration)
    return meaning if clause is None else f"{clause}; {_UNREAD}"


def _in_calendar(milliseconds_: int) -> int:
    return render_milliseconds(utc_time(milliseconds_))


def _first_after(times: Numbers, cutoff_ms: int) -> int | None:
    found = np.flatnonzero(times > cutoff_ms)
    return int(found[0]) if len(found) else None
