"""Values of statistics that other columns or other texts hold (spec: Per-file Statistics)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

import explorer.compute_functions as pc
from explorer.log.actions.columns import string_column
from explorer.log.calendar_texts import parse_calendar

# exactly the days and times that there are, so that casting them refuses none
_LEAP: Final = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_DAY: Final = (
    r"^([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    r"|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    rf"|{_LEAP}-02-29)"
)
_SECOND: Final = r"[0-5][0-9](\.[0-9]+)?"
_CLOCK: Final = rf"[T ]([01][0-9]|2[0-3]):[0-5][0-9](:{_SECOND})?"
_ZONE: Final = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"
_ZONED: Final = f"{_DAY}{_CLOCK}{_ZONE}$"
_MOMENT: Final = rf"{_DAY}[T ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,6}})?"
_UNZONED: Final = f"{_DAY}({_CLOCK})?$"

_LENGTHS_OF_DATES: Final = len("2025-01-06"), len("2025-01-06")
_LENGTHS_OF_TIMES: Final = len("2025-01-06T12:34:56"), len("2025-01-06T12:34:56.123456")


def fit_values(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Values of a checkpoint's struct, written when the column may have had a narrower
    type; None where they are of another kind."""
    if not _is_narrower(values.type, kind):
        return None
    try:
        if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
            values = pc.floor_temporal(values, unit="microsecond")
        if pa.types.is_timestamp(values.type) and values.type.tz != kind.tz:
            values = pc.cast(pc.cast(values, pa.timestamp("us")), pa.int64())
        if pa.types.is_integer(values.type) and pa.types.is_decimal(kind):
            values = pc.cast(pc.cast(values, pa.int64()), pa.decimal128(19, 0))
        return pc.cast(values, kind)
    except pa.ArrowInvalid:
        return None


def _is_narrower(found: pa.DataType, kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_string(kind):
        return bool(types.is_string(found) or types.is_large_string(found))
    if types.is_timestamp(kind):
        return bool(types.is_timestamp(found) or (types.is_date(found) and kind.tz is None))
    if types.is_floating(kind):
        narrow = types.is_floating(found) and found.bit_width <= kind.bit_width
        return bool(narrow or (types.is_integer(found) and types.is_float64(kind)))
    if types.is_decimal(kind):
        return bool(types.is_decimal(found) or types.is_integer(found))
    if types.is_integer(kind):
        return bool(types.is_integer(found))
    return bool(found == kind)


def drop_overflow(values: pa.Array) -> tuple[pa.Array, list[int]]:
    """Floating-point numbers that were text, and the positions of those that their type
    does not hold, which are null: they would bound by infinity what is not a bound at all."""
    beyond = pc.is_inf(values)
    if not pc.any(beyond).as_py():
        return values, []
    kept = pc.if_else(beyond, pa.nulls(1, values.type)[0], values)
    return kept, pc.indices_nonzero(beyond).to_pylist()


def parse_times(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Dates or times as text, and the positions of those that are none."""
    found = _read_plain(texts, kind)
    if found is None:
        found = _read_any(texts, kind)
    if found.null_count == texts.null_count:
        return found, []
    lost = pc.and_(texts.is_valid(), found.is_null())
    return found, pc.indices_nonzero(lost).to_pylist()


def _read_plain(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Dates, or times with seconds and the zone of the type, as nearly every writer has them; None
    where one is written otherwise, or is none.

    Arrow also takes times without seconds or minutes, and zones in several forms: their length
    tells them apart.
    """
    has_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    least, most = _LENGTHS_OF_DATES if pa.types.is_date(kind) else _LENGTHS_OF_TIMES
    lengths = pc.min_max(pc.binary_length(texts))
    shortest, longest = lengths["min"].as_py(), lengths["max"].as_py()
    if shortest is None or shortest < least + has_zone or longest > most + has_zone:
        return None
    if has_zone and not pc.all(pc.ends_with(texts, "Z")).as_py():
        return None
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return None


def _read_any(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Those of several forms, null where one is none; many times slower than `_read_plain`."""
    fits = pc.match_substring_regex(texts, _usual(kind))
    if pc.all(fits).as_py() is False and pa.types.is_timestamp(kind):  # nulls are passed over
        texts = _without_zone(texts) if kind.tz is None else _with_zone(texts)
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
        fits = pc.match_substring_regex(texts, _UNZONED if kind.tz is None else _ZONED)
    if pc.all(fits).as_py() is not False:
        return pc.cast(texts, kind)
    nothing = pa.nulls(1, pa.string())[0]
    others = parse_calendar(pc.if_else(fits, nothing, texts), kind)
    return pc.coalesce(pc.cast(pc.if_else(fits, texts, nothing), kind), others)


def _usual(kind: pa.DataType) -> str:
    """What nearly every writer writes, which needs nothing done to it."""
    if pa.types.is_date(kind):
        return _DAY + "$"
    return _MOMENT + ("$" if kind.tz is None else "Z$")


def _with_zone(texts: pa.Array) -> pa.Array:
    missing = pc.match_substring_regex(texts, _UNZONED)
    if not pc.any(missing).as_py():
        return texts
    zone, nothing = (string_column(["Z", ""])[at] for at in range(2))
    return pc.if_else(missing, pc.binary_join_element_wise(texts, zone, nothing), texts)


def _without_zone(texts: pa.Array) -> pa.Array:
    # some writers put a Z behind the time on the wall; two are no zone
    return pc.replace_substring_regex(texts, "([^zZ])[zZ]$", r"\1")
