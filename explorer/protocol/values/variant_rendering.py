"""Variants as JSON text and as Python values (spec: Variant Data Type).

JSON is what Spark's `to_json` makes of a variant in the session time zone UTC:
keys in the order of the object, no blanks, decimals without zeros at their end,
binary in Base64, times and what is not a number as strings::

    {"a":1.5,"at":"2023-11-14 22:13:20.5+00:00","day":"2024-10-04","x":"NaN"}
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from explorer.errors import UnsupportedError
from explorer.protocol.actions import EPOCH
from explorer.protocol.values.calendar_days import render_day
from explorer.protocol.values.variant import SPEC, Float32, Temporal, TemporalKind, Variant

MAX_TEXT = 64 * 2**20
"""Characters of one variant: a few bytes may name a field with a long name again and again."""

_MICROS, _NANOS = 10**6, 10**9
_SECOND: dict[TemporalKind, int] = {
    "time": _MICROS,
    "timestamp": _MICROS,
    "timestamp_ntz": _MICROS,
    "timestamp_nanos": _NANOS,
    "timestamp_ntz_nanos": _NANOS,
}
_INSTANTS = frozenset({"timestamp", "timestamp_nanos"})
_DAY_SECONDS = 86_400

_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | {
    ord(plain): f"\\{short}" for plain, short in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
}


def render_variant(variant: Variant) -> str:
    """The JSON text of a variant; raises `UnsupportedError` where it is too long."""
    text = _Text()
    text.write(variant)
    return "".join(text.pieces)


def plain_variant(variant: Variant) -> Any:
    """A variant as Python values: dates, times and aware or naive datetimes among them.

    A timestamp of nanoseconds that is not a whole number of microseconds, and a year
    that Python's calendar lacks, are refused (`UnsupportedError`), not rounded.
    """
    if isinstance(variant, Temporal):
        return _plain_temporal(variant)
    if isinstance(variant, dict):
        return {name: plain_variant(value) for name, value in variant.items()}
    if isinstance(variant, list):
        return [plain_variant(value) for value in variant]
    return float(variant) if isinstance(variant, Float32) else variant


class _Text:
    """JSON in pieces, whose length is known before they are one string."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._left = MAX_TEXT

    def write(self, variant: Variant) -> None:
        """Add the text of one value."""
        if isinstance(variant, dict):
            self._add("{")
            for at, (name, value) in enumerate(variant.items()):
                self._add(f"{',' if at else ''}{_quoted(name)}:")
                self.write(value)
            self._add("}")
        elif isinstance(variant, list):
            self._add("[")
            for at, value in enumerate(variant):
                if at:
                    self._add(",")
                self.write(value)
            self._add("]")
        else:
            self._add(_TEXTS[type(variant)](variant))

    def _add(self, piece: str) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise UnsupportedError(
                "A variant is too long for text.",
                reason=f"As JSON it has more than {MAX_TEXT // 2**20} Mi characters.",
                remedy="Read this column with the engine that wrote it.",
                kind="limit_exceeded",
                spec=SPEC,
            )
        self.pieces.append(piece)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _decimal(number: Decimal) -> str:
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").removesuffix(".")
    return "0" if text == "-0" else text


def _number(number: float) -> str:
    """The shortest digits that mean this number, with a point, and from 10^7 and below
    10^-3 with an exponent: `100.0`, `1.0E7`, `9.99E-4` (Java's `Double.toString`)."""
    if math.isnan(number):
        return '"NaN"'
    if math.isinf(number):
        return '"Infinity"' if number > 0 else '"-Infinity"'
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    text = _shortest(number)
    mantissa, _, power = text.partition("e")
    if not -3 <= int(power) < 7:
        return f"{mantissa}E{int(power)}"
    whole, _, rest = f"{Decimal(text):f}".partition(".")
    return f"{whole}.{rest.rstrip('0') or '0'}"


def _shortest(number: float) -> str:
    """`d.de±x` with as few digits as name the number, two at least."""
    size, same = (8, _same_single) if isinstance(number, Float32) else (16, float.__eq__)
    for digits in range(1, size):
        text = f"{number:.{digits}e}"
        if same(number, float(text)):
            return text
    return f"{number:.{size}e}"


def _same_single(number: float, other: float) -> bool:
    try:
        return struct.pack("<f", number) == struct.pack("<f", other)
    except OverflowError:  # rounded beyond what single precision holds
        return False


def _temporal(moment: Temporal) -> str:
    if moment.kind == "date":
        return render_day(moment.number)
    second = _SECOND[moment.kind]
    seconds, fraction = divmod(moment.number, second)
    days, rest = divmod(seconds, _DAY_SECONDS)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    if fraction:
        text += f".{fraction:0{len(str(second)) - 1}}".rstrip("0")
    if moment.kind == "time":
        return text
    zone = "+00:00" if moment.kind in _INSTANTS else ""
    return f"{render_day(days)} {text}{zone}"


def _plain_temporal(moment: Temporal) -> date | time | datetime:
    number, kind = moment.number, moment.kind
    if _SECOND.get(kind) == _NANOS:
        number, beyond = divmod(number, 1000)
        if beyond:
            raise _not_in_python("It counts nanoseconds.")
    try:
        if kind == "date":
            return EPOCH.date() + timedelta(days=number)
        instant = EPOCH + timedelta(microseconds=number)
    except OverflowError as error:
        raise _not_in_python("Its year is not among 1 to 9999.") from error
    if kind == "time":
        return instant.time()
    return instant if kind in _INSTANTS else instant.replace(tzinfo=None)


def _not_in_python(reason: str) -> UnsupportedError:
    return UnsupportedError(
        "A time in a variant has no Python value.",
        reason=reason,
        remedy="Read the column as JSON.",
        kind="limit_exceeded",
        spec=SPEC,
    )


_TEXTS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _number,
    Float32: _number,
    Decimal: _decimal,
    str: _quoted,
    bytes: lambda value: f'"{base64.b64encode(value).decode()}"',
    UUID: lambda value: f'"{value}"',
    Temporal: lambda value: f'"{_temporal(value)}"',
}
