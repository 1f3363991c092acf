"""Which number types hold every number of another one."""

from __future__ import annotations

from typing import Final

from explorer.protocol.schema import DataType, DecimalType, PrimitiveType

_INTEGERS: Final = ("byte", "short", "integer", "long")
_DIGITS: Final = {"byte": 3, "short": 5, "integer": 10, "long": 19}


def is_wider(source: DataType, target: DataType) -> bool:
    """Whether `target` holds every number of `source` as it is, both being whole numbers or
    decimals."""
    before, after = _digits(source), _digits(target)
    if (
        before is None
        or after is None
        or isinstance(source, DecimalType) > isinstance(target, DecimalType)
    ):
        return False
    if isinstance(source, PrimitiveType) and isinstance(target, PrimitiveType):
        return _INTEGERS.index(source.name) <= _INTEGERS.index(target.name)
    return before[0] <= after[0] and before[1] <= after[1]


def _digits(kind: DataType) -> tuple[int, int] | None:
    """The digits before and behind the point."""
    if isinstance(kind, DecimalType):
        return kind.precision - kind.scale, kind.scale
    name = kind.name if isinstance(kind, PrimitiveType) else ""
    return (_DIGITS[name], 0) if name in _DIGITS else None
