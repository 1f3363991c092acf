"""Changes of a column's type that old data files have not seen (spec: Type Widening)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from explorer.errors import Problem, UnsupportedError
from explorer.protocol.schema import (
    VOID,
    DataType,
    DecimalType,
    PrimitiveType,
    StructType,
    parse_type_name,
)
from explorer.protocol.schema_walk import FieldPlace, walk_fields

TYPE_CHANGES_KEY: Final = "delta.typeChanges"

_WIDER: Final = {
    "byte": {"short", "integer", "long", "double"},
    "short": {"integer", "long", "double"},
    "integer": {"long", "double"},
    "float": {"double"},
    "date": {"timestamp_ntz"},
}
_INTEGER_DIGITS: Final = {"byte": 10, "short": 10, "integer": 10, "long": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChange:
    """One recorded change; `path` leads to the value that changed, `element`, `key`
    and `value` included. A type that cannot be read is None."""

    path: tuple[str, ...]
    from_type: DataType | None
    to_type: DataType | None


def type_changes(schema: StructType) -> tuple[TypeChange, ...]:
    """Every change that the schema records, field by field, oldest first."""
    return tuple(change for place in walk_fields(schema) for change in type_changes_of(place))


def is_widening(from_type: DataType, to_type: DataType) -> bool:
    """Whether a reader may convert old values of one type to the other."""
    match from_type, to_type:
        case PrimitiveType(name="void"), _:  # needs no feature: there are no values
            return True
        case PrimitiveType(name=narrow), PrimitiveType(name=wide):
            return wide in _WIDER.get(narrow, ())
        case PrimitiveType(name=narrow), DecimalType():
            digits = _INTEGER_DIGITS.get(narrow)
            return digits is not None and to_type.precision - to_type.scale >= digits
        case DecimalType(), DecimalType():
            more_scale = to_type.scale - from_type.scale
            return to_type.precision - from_type.precision >= more_scale >= 0
        case _:
            return False


def is_widened_by_appends(from_type: DataType, to_type: DataType) -> bool:
    """Whether rows of a wider type widen the column that takes them, where the table lets types
    be widened: as the reference has it, to every type that a statement may widen it to. A void
    column gets its first type by another rule."""
    return from_type != VOID and is_widening(from_type, to_type)


def validate_type_changes(schema: StructType) -> list[Problem]:
    """The recorded changes that a reader has to refuse."""
    return [
        Problem(
            kind="unsupported_feature",
            problem=f"unsupported type change of column `{'.'.join(change.path)[:200]}`.",
            reason="Old data files hold the former type, and there is no rule to convert it.",
            remedy="Rewrite the table with the engine that changed the type.",
            spec="Type Widening",
        )
        for change in type_changes(schema)
        if change.from_type is None
        or change.to_type is None
        or not is_widening(change.from_type, change.to_type)
    ]


def check_type_changes(schema: StructType, uri: str) -> None:
    """Raise `UnsupportedError` where rows must not be read because of a type change."""
    for problem in validate_type_changes(schema):
        raise UnsupportedError(
            f"The rows of the table at {uri} cannot be read: {problem.problem}",
            reason=problem.reason,
            remedy=problem.remedy,
            spec=problem.spec,
        )


def type_changes_of(place: FieldPlace) -> tuple[TypeChange, ...]:
    """The changes that one field records, oldest first."""
    return tuple(_changes_of(place))


def _changes_of(place: FieldPlace) -> Iterator[TypeChange]:
    recorded = place.field.metadata.get(TYPE_CHANGES_KEY, [])
    for item in recorded if isinstance(recorded, list) else [None]:
        body: dict[str, Any] = item if isinstance(item, dict) else {}
        inner = body.get("fieldPath")
        ways = tuple(inner.split(".")) if isinstance(inner, str) and inner else ()
        yield TypeChange(
            path=(*place.names, *ways),
            from_type=_parse_side(body.get("fromType")),
            to_type=_parse_side(body.get("toType")),
        )


def _parse_side(value: Any) -> DataType | None:
    return parse_type_name(value) if isinstance(value, str) else None
