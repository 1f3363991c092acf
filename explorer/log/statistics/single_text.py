"""One file's statistics in JSON, value by value (spec: Per-file Statistics).

For the texts that a reader of whole batches refuses: `sort_out` finds them quickly,
`read_one` says exactly what is in one of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final, Literal, TypeAlias

import orjson
import pyarrow as pa

from explorer.protocol.actions import FieldPath
from explorer.protocol.hooked_json import without_duplicates

Leaves: TypeAlias = Mapping[FieldPath, pa.DataType]
"""The way to a value by names of the log, and its type."""

TINY_NUMBER: Final = r"[eE]-(0*[4-9][0-9]|0*[1-9][0-9]{2})"
"""A number with an exponent beyond the digits that decimals have; other text may look so."""

_TINY_NUMBER = re.compile(TINY_NUMBER)
_NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
_WIDE = Context(prec=80)

Look = Literal["well", "odd", "bad"]
"""How a text looks: one that looks well may still be none (a key stands twice in it),
an odd one may be meant (a decimal with digits to spare), a bad one may not."""

# a parent, and for each name in it the types of Python that may stand there
_Check: TypeAlias = tuple[str, frozenset[type], frozenset[type], int | None]
_Checks: TypeAlias = list[tuple[FieldPath, list[_Check]]]


def sort_out(texts: Iterable[str], leaves: Leaves) -> list[Look]:
    """How each text looks to a reader of `leaves`; a few microseconds each."""
    checks, decimals = _checks(leaves), holds_decimals(leaves)
    looks: list[Look] = []
    for text in texts:
        look = _look_at(text, checks)
        is_tiny = decimals and look == "well" and _TINY_NUMBER.search(text) is not None
        looks.append("odd" if is_tiny else look)
    return looks


def holds_decimals(leaves: Leaves) -> bool:
    """Whether one of the leaves is a decimal."""
    return any(pa.types.is_decimal(kind) for kind in leaves.values())


def repeats_names(texts: Iterable[str], leaves: Leaves) -> list[bool]:
    """Which texts have a name of `leaves` more often than one object needs."""
    # a column is named by its least value, its greatest, and under both names of null counts
    most = {path[0]: 1 for path in leaves}
    for path in {path[1:] for path in leaves if len(path) > 1}:
        most[path[-1]] = most.get(path[-1], 0) + 3
    needles = [(f'"{name}"', count) for name, count in most.items()]
    return [any(text.count(name) > count for name, count in needles) for text in texts]


def read_one(text: str, leaves: Leaves) -> dict[FieldPath, Any]:
    """The values of one text, None where it does not say; raises `ValueError`,
    `RecursionError` or `ArithmeticError` where a value cannot be meant."""
    body = json.loads(text, parse_float=Decimal, object_pairs_hook=without_duplicates)
    return {path: _value(body, path, kind) for path, kind in leaves.items()}


def _checks(leaves: Leaves) -> _Checks:
    groups: dict[FieldPath, list[_Check]] = {}
    for path, kind in leaves.items():
        scale = kind.scale if pa.types.is_decimal(kind) else None
        groups.setdefault(path[:-1], []).append((path[-1], *_python_types(kind), scale))
    return list(groups.items())


def _python_types(kind: pa.DataType) -> tuple[frozenset[type], frozenset[type]]:
    """Those that fit, and those that may be meant."""
    if pa.types.is_string(kind):
        return frozenset({str}), frozenset()
    if pa.types.is_boolean(kind):
        return frozenset({bool}), frozenset()
    if pa.types.is_integer(kind):
        return frozenset({int}), frozenset()
    return frozenset({int, float}), frozenset({str})


def _look_at(text: str, checks: _Checks) -> Look:
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "odd"  # it knows no NaN, other readers do
    if type(body) is not dict:
        return "bad"
    look: Look = "well" if text.startswith("{") and text.endswith("}") else "odd"
    for parents, inner in checks:
        found: Any = body
        for name in parents:
            found = found.get(name)
            if type(found) is not dict:
                break
        if found is not None:
            seen = "bad" if type(found) is not dict else _look_inside(found, inner)
            if seen == "bad":
                return "bad"
            if seen == "odd":
                look = "odd"
    return look


def _look_inside(found: Mapping[str, Any], inner: list[_Check]) -> Look:
    look: Look = "well"
    for name, fitting, meant, scale in inner:
        value = found.get(name)
        if value is None:
            continue
        kind = type(value)
        if kind not in fitting:
            if kind not in meant:
                return "bad"
            look = "odd"
        elif kind is int and not -(2**63) <= value < 2**63 and float not in fitting:
            return "bad"
        elif scale is not None and not _has_digits(value, scale):
            look = "odd"
    return look


def _has_digits(value: float, scale: int) -> bool:
    """Whether a number has no more digits behind the point than its type."""
    digits = repr(value).partition(".")[2]
    return isinstance(value, int) or (digits.isdecimal() and len(digits.rstrip("0")) <= scale)


def _value(body: Any, path: FieldPath, kind: pa.DataType) -> Any:
    if not isinstance(body, dict):
        raise ValueError("not an object")
    for name in path:
        if body is None:
            return None
        if not isinstance(body, dict):
            raise ValueError("a value where an object belongs")
        body = body.get(name)
    return None if body is None else _fitted(body, path, kind)


def _fitted(value: Any, path: FieldPath, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind) and isinstance(value, str):
        value.encode()  # half a character is not text
        return value
    if pa.types.is_boolean(kind) and isinstance(value, bool):
        return value
    if isinstance(value, bool) or pa.types.is_string(kind) or pa.types.is_boolean(kind):
        raise ValueError("a value of another type")
    if pa.types.is_integer(kind):
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return value
        raise ValueError("not a 64-bit integer")
    if isinstance(value, str) and value in _NO_NUMBERS:
        return None
    if pa.types.is_decimal(kind):
        return _decimal(value, path, kind)
    if isinstance(value, int | float | Decimal):
        return float(value)
    raise ValueError("not a number")


def _decimal(value: Any, path: FieldPath, kind: pa.DataType) -> Decimal:
    """A number with the digits of the type; what it has beyond them bounds outwards."""
    if not isinstance(value, int | str | Decimal):
        raise ValueError("not a decimal")
    rounding = ROUND_CEILING if path[0] == "maxValues" else ROUND_FLOOR
    unit = Decimal(1).scaleb(-kind.scale)
    number = _WIDE.create_decimal(value).quantize(unit, rounding, _WIDE)
    if len(number.as_tuple().digits) > kind.precision:
        raise ValueError("more digits than the type has")
    return number
