"""Arrays of plain values as those of another type, and which of them it does not hold.

Nothing is raised for a value: `PlainCast` says at which positions the type has no place for it.
Which types meet here is said in `explorer.writing.gate._assignment`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.log.plain_arrays import Flags, build_array, read_flags, read_values
from explorer.protocol.arrow_types import arrow_type
from explorer.protocol.schema import (
    DOUBLE,
    DataType,
    DecimalType,
    PrimitiveType,
)
from explorer.protocol.values.calendar_days import DAY_US, LAST_US, LEAST_US, PER_SECOND
from explorer.writing.gate._texts import (
    BITS,
    fit_decimal,
    nearest_float,
    render_plain,
    text_parser,
)

_NUMPY: Final[dict[str, Any]] = {
    "byte": np.int8,
    "short": np.int16,
    "integer": np.int32,
    "long": np.int64,
    "float": np.float32,
    "double": np.float64,
}
_TIMES: Final = frozenset(
    {"date", "timestamp", "timestamp_ntz", "timestamp_nanos", "timestamp_nanos_ntz"}
)


@dataclass(frozen=True, slots=True)
class PlainCast:
    """Values of the wanted type; `lost` are the positions of those that it does not hold, which
    are null there, None where it holds all; `why` says what is wrong with them."""

    values: pa.Array
    lost: Flags | None = None
    why: str = ""


def cast_plain(  # noqa: PLR0911  # one for each kind of pair
    values: pa.Array, source: DataType, target: DataType
) -> PlainCast:
    """Values of one plain type as values of another; nulls stay null."""
    values = _unpacked(values)
    kind = arrow_type(target)
    if values.type == kind:
        return PlainCast(values)
    first, second = _name(source), _name(target)
    if values.null_count == len(values):
        return PlainCast(pa.nulls(len(values), kind))
    if first in _TIMES and second in _TIMES:
        return _cast_times(values, second, kind)
    if second == "string":
        return _to_text(values, source)
    if second == "binary":
        return PlainCast(values.cast(kind))
    if first == "string":
        return _one_by_one(values, kind, text_parser(target), f"does not say one of type {second}")
    if first == "decimal" or second == "decimal":
        return _cast_decimals(values, source, target)
    if first in _NUMPY and second in _NUMPY:
        return _cast_numbers(values, second, kind)
    return PlainCast(values.cast(kind))


def _name(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return "decimal"
    return data_type.name if isinstance(data_type, PrimitiveType) else ""


_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
"""What holds every value of an Arrow type that no table has."""


def held_by(kind: pa.DataType) -> pa.DataType:
    """The plain Arrow type that holds every value of another one."""
    types = pa.types
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else kind
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    return _WIDER.get(kind, kind)


def _unpacked(values: pa.Array) -> pa.Array:
    """The same values in the plain type for them."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    if pa.types.is_date64(values.type):  # milliseconds of whole days
        days = _ints(values.cast(pa.int64())) // 86_400_000
        return build_array(days.astype(np.int32), ~_valid(values)).view(pa.date32())
    kind = held_by(values.type)
    return values if kind == values.type else values.cast(kind)


def _cast_numbers(values: pa.Array, second: str, kind: pa.DataType) -> PlainCast:
    numbers, valid = _numbers(values)
    if second in BITS:
        return _to_whole(numbers, valid, second)
    with np.errstate(over="ignore", invalid="ignore"):
        found = numbers.astype(_NUMPY[second])
    lost = None
    if second == "float" and numbers.dtype == np.float64:
        lost = np.isfinite(numbers) & np.isinf(found) & valid
    return _made(build_array(found, ~valid), kind, lost, "is beyond the largest of type float")


def _to_whole(numbers: npt.NDArray[Any], valid: Flags, second: str) -> PlainCast:
    end = 1 << (BITS[second] - 1)
    if numbers.dtype.kind == "f":
        wide = numbers.astype(np.float64)
        with np.errstate(invalid="ignore"):
            lost = ~np.isfinite(wide) | (wide != np.trunc(wide))
            lost |= (wide < -float(end)) | (wide >= float(end))
        whole = np.where(lost, 0, wide).astype(np.int64)
    else:
        whole = numbers.astype(np.int64)
        lost = (whole < -end) | (whole > end - 1)
        whole = np.where(lost, 0, whole)
    lost &= valid
    found = build_array(whole.astype(_NUMPY[second]), ~valid)
    return _made(found, found.type, lost, f"is not a whole number of type {second}")


def _cast_decimals(values: pa.Array, source: DataType, target: DataType) -> PlainCast:
    kind = arrow_type(target)
    whole = _name(source) in BITS
    exact = values.cast(pa.decimal128(19, 0)) if whole else values
    if isinstance(target, DecimalType) and pa.types.is_decimal(exact.type):
        try:
            return PlainCast(exact.cast(kind))
        except pa.ArrowInvalid:
            pass  # some have to be rounded, or do not fit: one by one
    if isinstance(target, DecimalType):
        convert: Callable[[Any], Any] = lambda value: _as_decimal(value, target)  # noqa: E731
        return _one_by_one(exact, kind, convert, f"does not fit into {kind.precision} digits")
    second = _name(target)
    if second in BITS:
        end = 1 << (BITS[second] - 1)
        return _one_by_one(
            exact,
            kind,
            lambda value: _as_whole(value, end),
            f"is not a whole number of type {second}",
        )
    if target == DOUBLE:
        return _one_by_one(exact, kind, float, "")
    return _one_by_one(exact, kind, nearest_float, "")


def _as_decimal(value: Any, target: DecimalType) -> Decimal | None:
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        value = Decimal(repr(value))
    return fit_decimal(value, target)


def _as_whole(value: Decimal, end: int) -> int | None:
    number = int(value)
    return number if number == value and -end <= number < end else None


def _cast_times(values: pa.Array, second: str, kind: pa.DataType) -> PlainCast:
    """Between days and times of any unit, by way of whole numbers; a time without a zone is one
    of UTC."""
    valid = _valid(values)
    if pa.types.is_date(values.type):
        unit, numbers = DAY_US, _ints(values.cast(pa.int32()).cast(pa.int64()))
    else:
        unit, numbers = 0, _ints(values.cast(pa.int64()))
    if second == "date":
        return _to_days(numbers, unit, values.type, valid)
    wanted = PER_SECOND["ns" if "nanos" in second else "us"]
    if unit:
        up, down = unit * (wanted // PER_SECOND["us"]), 1
    else:
        has = PER_SECOND[values.type.unit]
        up, down = max(wanted // has, 1), max(has // wanted, 1)
    found = numbers // down
    lost = found * down != numbers
    lost |= (found > LAST_US // up) | (found < -(-LEAST_US // up))
    found = np.where(lost, 0, found) * up
    why = "is beyond what a timestamp can be" if down == 1 else "is finer than microseconds"
    return _made(build_array(found, ~valid).view(kind), kind, lost & valid, why)


def _to_days(
    numbers: npt.NDArray[np.int64], unit: int, kind: pa.DataType, valid: Flags
) -> PlainCast:
    per_day = 1 if unit else 86_400 * PER_SECOND[kind.unit]
    days = numbers // per_day
    beyond = (days > 2**31 - 1) | (days < -(2**31))
    lost = ((days * per_day != numbers) | beyond) & valid
    found = build_array(np.where(lost, 0, days).astype(np.int32), ~valid).view(pa.date32())
    return _made(found, pa.date32(), lost, "has a time of day, and a date has none")


def _to_text(values: pa.Array, source: DataType) -> PlainCast:
    name = _name(source)
    if name == "binary":
        try:
            return PlainCast(values.cast(pa.string()))
        except pa.ArrowInvalid:
            return _one_by_one(values, pa.string(), _decoded, "is not UTF-8")
    if name == "decimal":
        return _one_by_one(values, pa.string(), lambda value: render_plain(value, source), "")
    if name not in _TIMES:
        return PlainCast(values.cast(pa.string()))
    found = values
    lost, why = None, ""
    if name != "date":
        in_us = _cast_times(values, "timestamp", pa.timestamp("us", "UTC"))
        found, lost, why = in_us.values.cast(pa.int64()), in_us.lost, in_us.why
    else:
        found = values.cast(pa.int32())
    texts = _one_by_one(found, pa.string(), lambda value: render_plain(value, source), "")
    return PlainCast(texts.values, lost, why)


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _one_by_one(
    values: pa.Array, kind: pa.DataType, convert: Callable[[Any], Any], why: str
) -> PlainCast:
    """Each different value on its own, None where the type does not hold it."""
    packed = values.dictionary_encode()
    options = list(map(_converted(convert), packed.dictionary.to_pylist()))
    known = _array(options, kind)
    found = known.take(packed.indices)
    lost_options = np.array([option is None for option in options], np.bool_)
    if not lost_options.any():
        return PlainCast(found)
    places, valid = _numbers(packed.indices)
    return PlainCast(found, lost_options[places.astype(np.int64)] & valid, why)


def _converted(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _array(options: list[Any], kind: pa.DataType) -> pa.Array:
    if kind == pa.date32():
        return pa.array(options, pa.int32()).view(kind)
    return pa.array(options, kind)


def _made(values: pa.Array, kind: pa.DataType, lost: Flags | None, why: str) -> PlainCast:
    found = values if values.type == kind else values.cast(kind)
    return PlainCast(found, lost, why) if lost is not None and lost.any() else PlainCast(found)


def _numbers(values: pa.Array) -> tuple[npt.NDArray[Any], Flags]:
    """Numbers, 0 where there is none, and where there are some."""
    valid = _valid(values)
    plain = values.fill_null(0) if values.null_count else values
    return read_values(plain), valid


def _ints(values: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = _numbers(values)[0]
    return found


def _valid(values: pa.Array) -> Flags:
    return read_flags(values.is_valid())
