"""Texts as values of plain types, by the rules of Spark's ANSI casts, and values as texts.

Spaces and control characters of ASCII around a value are passed over, as Spark does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

import numpy as np

from explorer.protocol.schema import DataType, DecimalType, PrimitiveType
from explorer.protocol.values.calendar_days import checked_day, days_of, render_day, render_moment

Parse = Callable[[str], Any]

BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
MAX_DIGITS: Final = 38

_BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
_LOW: Final = "".join(map(chr, range(33)))  # what Java trims
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_EXACT: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_JAVA: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEX: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_DAY: Final = re.compile(
    r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL
)
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
_SPECIAL: Final = {
    "nan": math.nan,
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
}
_MAX_EXPONENT: Final = 2**31 - 1
_ENOUGH: Final = 1_000
"""Beyond so many digits before the point no decimal holds a number, and behind it none is left."""


def text_parser(target: DataType) -> Parse:
    """What a text says as a value of a plain type; None where it says none that fits. Days and
    whole numbers are integers."""
    if isinstance(target, DecimalType):
        return lambda text: _decimal(text, target)
    name = target.name if isinstance(target, PrimitiveType) else ""
    if name in BITS:
        return lambda text: _whole(text, BITS[name])
    return {"boolean": _boolean, "date": _day, "double": _double, "float": _float}[name]


def fit_decimal(value: Decimal, target: DecimalType) -> Decimal | None:
    """The number with the digits of a decimal, rounded half up as Spark does; None where it does
    not fit."""
    try:
        found = value.quantize(Decimal(1).scaleb(-target.scale), context=_CONTEXT)
    except InvalidOperation:
        return None
    digits = len(found.as_tuple().digits) if found else 0
    return found if digits <= target.precision else None


def nearest_float(value: Decimal | Fraction) -> float:
    """The float of 32 bits that is nearest to an exact number, infinite where none is."""
    exact = Fraction(value)
    with np.errstate(over="ignore"):
        middle = np.float32(float(value) if abs(exact) < 2**1000 else math.inf)
    if not np.isfinite(middle):
        return _at_the_end(exact)
    steps = [np.nextafter(middle, np.float32(side)) for side in (-math.inf, math.inf)]
    near = [item for item in (middle, *steps) if np.isfinite(item)]
    # of two that are as near, the one whose last bit is 0
    best = min(
        near, key=lambda item: (abs(Fraction(float(item)) - exact), int(item.view(np.uint32)) & 1)
    )
    return math.copysign(float(best), -1.0 if exact < 0 else 1.0)


def render_plain(value: Any, source: DataType) -> str:
    """A decimal, a day (a number) or a time in UTC (microseconds) as Spark writes it."""
    if isinstance(source, DecimalType):
        return format(value, "f")
    if isinstance(source, PrimitiveType) and source.name == "date":
        return render_day(value)
    text = render_moment(value)
    return text.rstrip("0") if "." in text else text


_CONTEXT: Final = Context(prec=2 * _ENOUGH, rounding=ROUND_HALF_UP)


def _at_the_end(exact: Fraction) -> float:
    """The largest float, where an exact number is nearer to it than to the next power of two."""
    largest = Fraction(float(np.finfo(np.float32).max))
    halfway = (largest + 2**128) / 2
    found = float(largest) if abs(exact) < halfway else math.inf
    return -found if exact < 0 else found


def _whole(text: str, bits: int) -> int | None:
    text = text.strip(_BLANKS)
    if not _WHOLE.fullmatch(text) or len(text.lstrip("+-0")) > 19:
        return None
    number = int(text)
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _boolean(text: str) -> bool | None:
    text = text.strip(_BLANKS).lower()
    return True if text in _TRUE else False if text in _FALSE else None


def _decimal(text: str, target: DecimalType) -> Decimal | None:
    text = text.strip(_LOW)
    found = _EXACT.fullmatch(text)
    if found is None or abs(int(found[1] or 0)) > _MAX_EXPONENT:
        return None
    if max(text) > "\uffff":  # Java knows the digits of other scripts up to there
        return None
    number = Decimal(text)
    if not number:
        return Decimal(0).scaleb(-target.scale)
    if number.adjusted() > _ENOUGH:
        return None
    if number.adjusted() < -_ENOUGH:
        return Decimal(0).scaleb(-target.scale)
    return fit_decimal(number, target)


def _double(text: str) -> float | None:
    if (special := _special(text)) is not None:
        return special
    found = _hexadecimal(text)
    if found is None:
        plain = _JAVA.fullmatch(text.strip(_LOW))
        found = None if plain is None else float(plain[1])
    # a number that is too large says something else than infinity
    return None if found is None or math.isinf(found) else found


def _float(text: str) -> float | None:
    if (special := _special(text)) is not None:
        return special
    plain = _JAVA.fullmatch(text.strip(_LOW))
    if plain is None:
        wide = _hexadecimal(text)
        found = None if wide is None else nearest_float(Fraction(wide))
    else:
        number = Decimal(plain[1])
        if number and abs(number.adjusted()) > _ENOUGH:
            found = math.inf if number.adjusted() > 0 else math.copysign(0.0, number)
        else:
            found = nearest_float(number) if number else math.copysign(0.0, number)
    return None if found is None or math.isinf(found) else found


def _hexadecimal(text: str) -> float | None:
    found = _HEX.fullmatch(text.strip(_LOW))
    if found is None:
        return None
    try:
        return float.fromhex(found[1])
    except OverflowError:
        return math.inf


def _special(text: str) -> float | None:
    return _SPECIAL.get(text.strip(_LOW).lower())


def _day(text: str) -> int | None:
    found = _DAY.fullmatch(text.strip(_BLANKS))
    if found is None:
        return None
    try:
        return checked_day(days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1))).number
    except ValueError:
        return None
