"""Literals of a predicate as typed values.

Numbers with a point are decimals, with an exponent doubles. Text stands for a
value of the type that it is compared with, read as Spark's casts do. Times
without a zone are in UTC.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final, cast

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    VOID,
    DataType,
    DecimalType,
    PrimitiveType,
    render_type,
)
from explorer.protocol.values.calendar_days import (
    DAY_US,
    Day,
    Moment,
    checked_day,
    checked_moment,
    days_of,
    parse_clock,
)
from explorer.scan.predicate._time_zones import ZONE_PATTERN, microseconds_before_utc
from explorer.scan.predicate.domains import domain_of
from explorer.scan.predicate.predicate import Constant, ConstantValue

_MAX_DIGITS: Final = 38
_EXACT: Final = Context(prec=2 * _MAX_DIGITS, rounding=ROUND_HALF_UP)
"""Python's own context has fewer digits."""
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_DAY = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)
_TIME = re.compile(
    rf"[T ](\d{{1,2}}:\d{{1,2}}(?::\d{{1,2}}(?:\.\d{{1,6}})?)?)\s*({ZONE_PATTERN})?", re.ASCII
)
# types of casts as sqlglot calls them in Spark's dialect
_CAST_TYPES: Final = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "TEXT": "string",
    "VARCHAR": "string",
    "BINARY": "binary",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz",
}


def is_text(data_type: DataType) -> bool:
    """Whether it is the type of text."""
    return data_type == STRING


def text_of(node: Any) -> Any:
    """What a node of sqlglot's tree casts to a text of whatever length, None for another one. A
    text stays as it is: no length cuts anything off, or fills anything up."""
    if not _is_cast(node) or node.args["to"].this.name != "TEXT":
        return None
    return node.this


def parse_literal(node: Any) -> Constant | None:  # noqa: PLR0911  # one per kind of literal
    """The constant that a node of sqlglot's tree is; None where it is none."""
    match type(node).__name__:
        case "Literal":
            text = str(node.this)
            return _text(text) if node.is_string else _number(text)
        case "RawString":
            return _text(str(node.this))
        case "Null":
            return Constant(value=None, data_type=VOID)
        case "Boolean":
            return Constant(value=bool(node.this), data_type=BOOLEAN)
        case "HexString":
            return _binary(str(node.this))
        case "Neg":
            return _negative(parse_literal(node.this), is_typed=_is_cast(node.this))
        case "Cast" | "TryCast":
            return _cast(node)
        case _:
            return None


def fit_text(constant: Constant, data_type: DataType) -> Constant:
    """Text as a value of the type that it is compared with; everything else as it is."""
    if not isinstance(constant.value, str) or data_type in {STRING, VOID, BINARY}:
        return constant
    if domain_of(data_type) is None:  # nothing is compared with it, text neither
        return constant
    if isinstance(data_type, DecimalType):
        data_type = DOUBLE  # what Spark compares them as
    if isinstance(data_type, PrimitiveType) and data_type.name in _BITS:
        data_type = LONG
    return _convert(constant.value, data_type)


def _text(text: str) -> Constant:
    return Constant(value=text, data_type=STRING)


def _number(text: str) -> Constant:
    if not _NUMBER.fullmatch(text):
        raise _unreadable(text, "number")
    if "e" in text.lower():
        return _double(float(text))
    if "." in text:
        return _decimal(text)
    if len(text) > _MAX_DIGITS:
        raise _unreadable(text, "number of at most 38 digits")
    return _integer(int(text))


def _integer(number: int) -> Constant:
    for name, bits in (("integer", 32), ("long", 64)):
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return Constant(value=number, data_type=PrimitiveType(name=name))
    return _decimal(str(number))


def _decimal(text: str) -> Constant:
    try:
        number = Decimal(text)
        if number.is_finite() and number.as_tuple().exponent > 0:  # type: ignore[operator]
            number = number.quantize(Decimal(1), context=_EXACT)
    except InvalidOperation as error:
        raise _unreadable(text, "number of at most 38 digits") from error
    if not number.is_finite() or len(text) > _MAX_DIGITS + 3:
        raise _unreadable(text, "number of at most 38 digits")
    digits, scale = len(number.as_tuple().digits), -int(number.as_tuple().exponent)
    precision = max(digits, scale, 1)
    if precision > _MAX_DIGITS:
        raise _unreadable(text, "number of at most 38 digits")
    return Constant(value=number, data_type=DecimalType(precision=precision, scale=scale))


def _double(number: float) -> Constant:
    return Constant(value=number, data_type=DOUBLE)


def _binary(digits: str) -> Constant:
    try:
        data = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
    except ValueError as error:
        raise _unreadable(digits, "row of hexadecimal digits") from error
    return Constant(value=data, data_type=BINARY)


def _is_cast(node: Any) -> bool:
    return type(node).__name__ in {"Cast", "TryCast"}  # `5L` is one too


def _negative(constant: Constant | None, *, is_typed: bool) -> Constant | None:
    match constant:
        case Constant(value=bool()):
            return None
        case Constant(value=int() as number, data_type=PrimitiveType(name=name) as kind) if (
            is_typed and name in _BITS
        ):
            fits = -number < 1 << (_BITS[name] - 1)
            return Constant(value=-number, data_type=kind) if fits else None
        case Constant(value=int() as number):
            return _integer(-number)
        case Constant(value=(float() | Decimal()) as number, data_type=DecimalType() as kind):
            # not `-number`: it would round to the digits of Python's context
            return Constant(value=number.copy_negate(), data_type=kind)  # type: ignore[union-attr]
        case Constant(value=float() as number):
            return Constant(value=-number, data_type=constant.data_type)
        case _:
            return None


def _cast(node: Any) -> Constant | None:
    inner = parse_literal(node.this)
    name = _CAST_TYPES.get(node.args["to"].this.name)
    if inner is None:
        return None
    kind = node.args["to"].this.name
    if kind == "DECIMAL":
        value = inner.value
        plain = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
        return _cast_decimal(str(value), node.args["to"]) if plain else None
    if name is None:
        return None
    if inner.value is None or inner.data_type == PrimitiveType(name=name):
        return inner
    return _convert(inner.value, PrimitiveType(name=name))


def _cast_decimal(text: str, to: Any) -> Constant | None:
    """A number with the digits of the type that it is cast to, rounded as Spark rounds."""
    try:
        sizes = [int(part.name) for part in to.expressions]
        precision, scale = [*sizes, *(10, 0)[len(sizes) :]]
    except ValueError:
        return None
    if not 0 <= scale <= precision <= _MAX_DIGITS or not precision:
        return None
    if not _NUMBER.fullmatch(text.strip().lstrip("+-")):
        raise _unreadable(text, "number")
    found = cast("Decimal", _decimal(text).value)
    number = found.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if number.copy_abs() >= Decimal(10) ** (precision - scale):
        raise _unreadable(text, f"decimal({precision},{scale})")
    return Constant(value=number, data_type=DecimalType(precision=precision, scale=scale))


def _convert(value: ConstantValue, data_type: DataType) -> Constant:
    """A literal as a value of another type; raises `InvalidArgumentError` where it is none."""
    name = render_type(data_type)
    text = value.strip() if isinstance(value, str) else str(value)
    found: ConstantValue = None
    if name == "string" and isinstance(value, str | int):
        found = value if isinstance(value, str) else text.lower()
    elif name in _BITS:
        found = _whole(text, _BITS[name])
    elif name in {"float", "double"}:
        found = _floating(text, name)
    elif name == "boolean":
        found = {"true": True, "false": False}.get(text.lower())
    elif name == "date" and isinstance(value, str):
        found = _parse_day(text)
    elif name == "timestamp" and isinstance(value, str):
        found = _parse_time(text, is_instant=True)
    elif name == "timestamp_ntz" and isinstance(value, str):
        found = _parse_time(text, is_instant=False)
    if found is None:
        raise _unreadable(text, name)
    return Constant(value=found, data_type=data_type)


def _whole(text: str, bits: int) -> int | None:
    if not re.fullmatch(r"[+-]?\d{1,20}", text, re.ASCII):
        return None
    number = int(text)
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def _floating(text: str, name: str) -> float | None:
    plain = text.lower()
    special = {"nan": math.nan, "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}
    special |= {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
    if plain not in special and not _NUMBER.fullmatch(plain.lstrip("+-")):
        return None
    number = special[plain] if plain in special else float(plain)
    if name == "double":
        return number
    import numpy as np  # noqa: PLC0415  # a cast to FLOAT is rare

    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _parse_day(text: str) -> Day | None:
    """`yyyy`, `yyyy-m`, `yyyy-m-d`, and what follows after a `T` or a space is passed over."""
    found = _DAY.match(text)
    if found is None or text[found.end() : found.end() + 1] not in {"", "T", " "}:
        return None
    if found[3] is None and found.end() < len(text):
        return None
    try:
        return checked_day(_days(found))
    except ValueError:
        return None


def _parse_time(text: str, *, is_instant: bool) -> Moment | None:
    """A day with or without a time and a zone; an instant without one is in UTC, and a zone
    says nothing of a time on the wall."""
    day = _DAY.match(text)
    if day is None:
        return None
    time = _TIME.fullmatch(text, day.end())
    if day.end() < len(text) and (time is None or day[3] is None):
        return None
    try:
        wall = _days(day) * DAY_US + (0 if time is None else parse_clock(time[1]))
        before = 0
        if is_instant and time is not None and time[2] is not None:
            before = microseconds_before_utc(time[2], wall)
        return checked_moment(wall - before, is_instant=is_instant)
    except ValueError:
        return None


def _days(found: re.Match[str]) -> int:
    return days_of(int(found[1]), int(found[2] or 1), int(found[3] or 1))


def _unreadable(text: str, wanted: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The literal {text[:60]!r} cannot be read.",
        reason=f"It is not a valid {wanted}.",
        remedy="Write literals as 5, 1.5, 'text', DATE '2026-11-01' or "
        "TIMESTAMP '2026-11-01 12:00:00'.",
    )
