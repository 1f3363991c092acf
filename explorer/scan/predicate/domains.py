"""What values of two types have in common, so that they can be compared.

A domain turns columns and constants into one Arrow type whose own order is
Spark's: 64-bit integers for everything but decimals and text.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import int64_column, int64_scalar
from explorer.log.plain_arrays import build_array
from explorer.protocol.schema import VOID, DataType, DecimalType, PrimitiveType, render_type
from explorer.protocol.values.calendar_days import DAY_US, LAST_US, LEAST_US, Day, Moment

DomainKind = Literal["boolean", "integer", "decimal", "double", "text", "binary", "day", "time"]

_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_FLOATS = frozenset({"float", "double"})
_TIMES = frozenset({"timestamp", "timestamp_ntz"})
_KINDS: dict[str, DomainKind] = {
    **dict.fromkeys(_INTEGERS, "integer"),
    **dict.fromkeys(_FLOATS, "double"),
    **dict.fromkeys(_TIMES, "time"),
    "boolean": "boolean",
    "string": "text",
    "binary": "binary",
    "date": "day",
}

# days whose microseconds fit into 64 bits
_MAX_DAY = 2**63 // DAY_US - 1
# scalars by way of an array: plain values would make pyarrow import pandas
_LEAST_DAY, _LAST_DAY, _DAY = (int64_column([-_MAX_DAY, _MAX_DAY, DAY_US])[at] for at in range(3))

NAN_KEY = 2**63 - 1
"""NaN among the keys of doubles: above infinity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A way to compare; `scale` counts for decimals."""

    kind: DomainKind
    scale: int = 0


def is_float(data_type: DataType) -> bool:
    """Whether a column of this type may hold NaN."""
    return isinstance(data_type, PrimitiveType) and data_type.name in _FLOATS


def domain_of(data_type: DataType) -> Domain | None:
    """Where values of one type are compared; None where they cannot be."""
    match data_type:
        case DecimalType(scale=scale):
            return Domain(kind="decimal", scale=scale)
        case PrimitiveType(name=name) if name in _KINDS:
            return Domain(kind=_KINDS[name])
        case _:
            return None


def common_domain(left: DataType, right: DataType) -> Domain:
    """Where values of two types are compared, as Spark would: whole numbers and
    decimals exactly, doubles as doubles, days with times from midnight on.

    Raises `InvalidArgumentError` where Spark would refuse, or guess.
    """
    first, second = _comparable(left), _comparable(right)
    if first is None or second is None:  # a null literal compares with everything
        return first or second or Domain(kind="boolean")
    kinds = {first.kind, second.kind}
    if len(kinds) == 1:
        return Domain(kind=first.kind, scale=max(first.scale, second.scale))
    if kinds == {"integer", "decimal"}:
        return Domain(kind="decimal", scale=max(first.scale, second.scale))
    if kinds <= {"integer", "decimal", "double"}:
        return Domain(kind="double")
    if kinds == {"day", "time"}:
        return Domain(kind="time")
    raise InvalidArgumentError(
        f"Values of type {render_type(left)} and {render_type(right)} cannot be compared.",
        reason="They have no order in common.",
        remedy="Write a literal of the column's type, such as 5, 'a', DATE '2026-11-01' or X'1F'.",
    )


def _comparable(data_type: DataType) -> Domain | None:
    if data_type == VOID:
        return None
    if (found := domain_of(data_type)) is not None:
        return found
    raise InvalidArgumentError(
        f"Values of type {render_type(data_type)[:120]} cannot be compared.",
        reason="Only numbers, text, binary, booleans, dates and times have an order here.",
        remedy="Compare a field inside it, or ask whether it IS NULL.",
    )


def comparable_constant(value: Any, domain: Domain) -> pa.Scalar:
    """A constant that is not null, as the domain has it."""
    if domain.kind == "decimal":
        return _decimal_scalar(value, domain.scale)
    if domain.kind in {"text", "binary"}:
        data = value if isinstance(value, bytes) else value.encode()
        offsets = pa.py_buffer(struct.pack("<ii", 0, len(data)))
        return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])[0]
    return int64_scalar(_constant_number(value, domain.kind))


def _constant_number(value: Any, kind: DomainKind) -> int:
    if kind == "double":
        return double_key(float(value))
    if kind == "day":
        return int(value.number)
    if kind == "time":
        return _microseconds(value)
    return int(value)


def double_key(number: float) -> int:
    """An integer that sorts as the double does."""
    if number != number:  # noqa: PLR0124  # NaN
        return NAN_KEY
    (bits,) = struct.unpack("<q", struct.pack("<d", number + 0.0))
    return int(bits if bits >= 0 else bits ^ 0x7FFF_FFFF_FFFF_FFFF)


def _microseconds(value: Day | Moment) -> int:
    """A time, and of a day its midnight; of days beyond the times that there are, the last."""
    if isinstance(value, Moment):
        return value.number
    return min(max(value.number * DAY_US, LEAST_US), LAST_US)


def _decimal_scalar(value: int | Decimal, scale: int) -> pa.Scalar:
    number = Decimal(value)
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits))) * 10 ** (scale + int(exponent))
    unscaled = -unscaled if sign else unscaled
    data = pa.py_buffer(int(unscaled).to_bytes(32, "little", signed=True))
    return pa.Array.from_buffers(pa.decimal256(76, scale), 1, [None, data])[0]


def comparable_column(values: pa.Array, domain: Domain) -> pa.Array:
    """A column as the domain has it, nulls kept; raises `pyarrow.ArrowInvalid`
    where a value has no place there."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    match domain.kind:
        case "decimal":
            return _as_decimals(values, domain.scale)
        case "double":
            return _double_keys(pc.cast(values, pa.float64(), safe=False))
        case "text" | "binary":
            return pc.cast(values, pa.binary())
        case "time":
            return _times(values)
        case "day":
            return pc.cast(pc.cast(pc.cast(values, pa.date32()), pa.int32()), pa.int64())
        case _:
            return pc.cast(values, pa.int64())


def _as_decimals(values: pa.Array, scale: int) -> pa.Array:
    if pa.types.is_integer(values.type):
        values = pc.cast(pc.cast(values, pa.int64()), pa.decimal128(19, 0))
    return pc.cast(values, pa.decimal256(76, scale))


def _times(values: pa.Array) -> pa.Array:
    if pa.types.is_date(values.type):
        days = pc.cast(pc.cast(pc.cast(values, pa.date32()), pa.int32()), pa.int64())
        within = pc.max_element_wise(days, _LEAST_DAY, skip_nulls=False)
        within = pc.min_element_wise(within, _LAST_DAY, skip_nulls=False)
        return pc.multiply(within, _DAY)
    in_us = pc.cast(values, pa.timestamp("us", values.type.tz), safe=False)
    return pc.cast(in_us, pa.int64())


def _double_keys(values: pa.Array) -> pa.Array:
    count = len(values)
    if count == 0:
        return pa.nulls(0, pa.int64())
    numbers = np.frombuffer(values.buffers()[1], np.float64)[values.offset : values.offset + count]
    numbers = numbers + 0.0  # -0.0 becomes 0.0
    bits = numbers.view(np.int64)
    keys = np.where(bits >= 0, bits, bits ^ 0x7FFF_FFFF_FFFF_FFFF)
    keys[np.isnan(numbers)] = NAN_KEY
    found = build_array(keys)
    if values.null_count == 0:
        return found
    return pc.if_else(values.is_valid(), found, pa.nulls(count, pa.int64()))
