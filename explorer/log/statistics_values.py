"""Values of statistics that other columns or other texts hold (spec: Per-file Statistics)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.columns import bool_column, string_column
from explorer.log.time_digits import read_alike

_FALSE = bool_column([False])[0]

_DAY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?"
_ZONED: Final = _DAY + _CLOCK + r"([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_UNZONED: Final = _DAY + _CLOCK + "$"
_MOMENT: Final = _DAY + r"[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"


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


def parse_times(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Dates or times as text, and the positions of those that are none."""
    if (usual := _parse_usual_times(texts, kind)) is not None:
        return usual, []
    pattern = _DAY + "$"
    if pa.types.is_timestamp(kind):
        pattern = _UNZONED
        texts = _with_zone(texts) if kind.tz is not None else _without_zone(texts)
        if kind.tz is not None:
            pattern = _ZONED
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    fits = pc.coalesce(pc.match_substring_regex(texts, pattern), _FALSE)
    plain = pc.if_else(fits, texts, pa.nulls(len(texts), pa.string()))
    try:
        found = pc.cast(plain, kind)
    except pa.ArrowInvalid:  # such as 30 February
        found = pa.array([_one_time(text, kind) for text in plain.to_pylist()], kind)
    lost = pc.and_(texts.is_valid(), found.is_null())
    return found, pc.indices_nonzero(lost).to_pylist()


def _parse_usual_times(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The times of texts that all are as Arrow reads them, which takes a fraction of the
    time; None where one is not."""
    if (alike := read_alike(texts, kind)) is not None:
        return alike
    pattern = _DAY + "$"
    if pa.types.is_timestamp(kind):
        pattern = _MOMENT + ("$" if kind.tz is None else "Z$")
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:  # nulls are passed over
        return None
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:  # such as 30 February
        return None


def _with_zone(texts: pa.Array) -> pa.Array:
    missing = pc.match_substring_regex(texts, _UNZONED)
    if not pc.any(missing).as_py():
        return texts
    zone, nothing = (string_column(["Z", ""])[at] for at in range(2))
    return pc.if_else(missing, pc.binary_join_element_wise(texts, zone, nothing), texts)


def _without_zone(texts: pa.Array) -> pa.Array:
    # some writers put a Z behind the time on the wall
    return pc.replace_substring_regex(texts, "[zZ]$", "")


def _one_time(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    if text is None:
        return None
    try:
        return pc.cast(string_column([text]), kind)[0]
    except pa.ArrowInvalid:
        return None
