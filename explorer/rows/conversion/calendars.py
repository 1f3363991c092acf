"""Dates and times that Spark wrote by another calendar (Spark's footer of a data file).

Before Spark 3, and where its sessions ask for it since, days before 15 October 1582 are
those of the Julian calendar, and times before 1900 those of clocks that knew no local mean
time. The footer says so. Readers have to see the same date and the same time of day, so that
such values become those of the calendar that Delta's types have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import UnsupportedError
from explorer.log.plain_arrays import ZERO, Numbers, build_array, read_values
from explorer.protocol.schema import DataType, PrimitiveType
from explorer.rows.conversion.leaf_values import Converter

# a scalar by way of an array: a plain value would make pyarrow import pandas

_VERSION, _ZONE = b"org.apache.spark.version", b"org.apache.spark.timeZone"
_LEGACY, _LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
# the first versions that say it where they still write by the former calendar
_SAYS_SO: Final = {_LEGACY: (3, 0), _LEGACY_INT96: (3, 1)}

_SWITCH_DAYS: Final = -141_427
"""15 October 1582: from that day on both calendars agree."""
_AGREE_SECONDS: Final = -2_208_988_800
"""1900: from then on clocks agree everywhere, by rules that both know."""
_DAY_SECONDS: Final = 86_400
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ZONES_WITHOUT_HISTORY: Final = frozenset(
    {b"UTC", b"Z", b"GMT", b"Etc/UTC", b"Etc/GMT", b"+00:00", b"UCT", b"Universal", b"Zulu"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerCalendar:
    """Which values of a file are by the former calendar, and in which zone; `file` is for
    messages."""

    plain: bool
    int96: bool
    zone: bytes
    file: str

    def rebase(self, found: pa.DataType, wanted: DataType) -> Converter | None:
        """What makes of a column of the type `found` one by the calendar of today; None where
        it is already."""
        if not isinstance(wanted, PrimitiveType):
            return None
        if wanted.name in ("date", "timestamp_ntz") and found == pa.date32():
            return _rebase_dates if self.plain else None
        if wanted.name != "timestamp" or not pa.types.is_timestamp(found):
            return None
        # of the times that Spark writes only those in 96 bits come without a zone
        is_former = self.plain if found.tz else self.int96
        return self._rebase_times if is_former else None

    def _rebase_times(self, times: pa.Array) -> pa.Array:
        per_second = _PER_SECOND[times.type.unit]
        numbers = times.cast(pa.int64())
        least = pc.min(numbers).as_py()
        agree = _SWITCH_DAYS * _DAY_SECONDS if self._is_plain_zone else _AGREE_SECONDS
        if least is None or least >= agree * per_second:
            return times
        if not self._is_plain_zone:
            raise self._unknown_clock()
        days, rest = np.divmod(_values_of(numbers), _DAY_SECONDS * per_second)
        rebased = _gregorian(days) * (_DAY_SECONDS * per_second) + rest
        return _replaced(numbers, rebased).cast(times.type)

    @property
    def _is_plain_zone(self) -> bool:
        return self.zone in _ZONES_WITHOUT_HISTORY

    def _unknown_clock(self) -> UnsupportedError:
        zone = self.zone.decode("utf-8", "replace")[:60] or "an unknown zone"
        return UnsupportedError(
            f"Times before 1900 in {self.file} cannot be read.",
            reason=f"Spark wrote them by the former calendar and the clocks of {zone}, whose rules "
            "are not known here: they would be off by minutes or days.",
            remedy="Leave the column out, or rewrite the file with Spark, which knows them.",
            spec="Data Files",
        )


def former_calendar(footer: pa.Schema, file: str) -> FormerCalendar | None:
    """What the metadata of a file's schema say of its calendar; None where it is today's."""
    said = footer.metadata or {}
    version = re.match(rb"(\d+)\.(\d+)", said.get(_VERSION, b""))
    if version is None:
        return None
    numbers = (int(version[1]), int(version[2]))
    plain, int96 = (key in said or numbers < first for key, first in _SAYS_SO.items())
    if not (plain or int96):
        return None
    return FormerCalendar(plain=plain, int96=int96, zone=said.get(_ZONE, b""), file=file)


def _rebase_dates(dates: pa.Array) -> pa.Array:
    numbers = dates.cast(pa.int32()).cast(pa.int64())
    least = pc.min(numbers).as_py()
    if least is None or least >= _SWITCH_DAYS:
        return dates
    rebased = _replaced(numbers, _gregorian(_values_of(numbers)))
    return rebased.cast(pa.int32()).cast(dates.type)


def _gregorian(days: Numbers) -> Numbers:
    """Days since 1970 whose year, month and day are those that the Julian calendar gives to
    `days`, before its end; the others as they are. (Richards' algorithm; 29 February of a year
    that has none is the day after the 28th, as in Spark.)"""
    e = 4 * (days + 2_440_588 + 1_401) + 3
    h = 5 * ((e % 1_461) // 4) + 2
    day = (h % 153) // 5
    month = (h // 153 + 2) % 12
    year = e // 1_461 - 4_716 + (13 - month) // 12
    months = ((year - 1_970) * 12 + month).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    return np.where(days < _SWITCH_DAYS, first + day, days)


def _replaced(numbers: pa.Array, values: Numbers) -> pa.Array:
    """Other numbers in the place of these, null where they are."""
    return build_array(values, read_values(numbers.is_null()))


def _values_of(numbers: pa.Array) -> Numbers:
    return read_values(pc.coalesce(numbers, ZERO))
