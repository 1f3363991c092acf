"""Types of columns that become wider (spec: Type Widening)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.protocol.actions import FieldPath
from explorer.protocol.features.type_widening import TYPE_CHANGES_KEY
from explorer.protocol.schema import (
    VARIANT,
    DataType,
    DecimalType,
    PrimitiveType,
    render_type,
)
from explorer.protocol.table_properties.known_properties import (
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    ICEBERG_COMPAT_V3,
    TYPE_WIDENING,
    UNIVERSAL_FORMATS,
)
from explorer.transaction.rules.change import Described

_OF_ICEBERG = (ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V2, ICEBERG_COMPAT_V3)
_WHOLE_NUMBERS = frozenset({"byte", "short", "integer", "long"})


def is_simple(kind: DataType) -> bool:
    """Whether it is a type whose values are single ones."""
    return isinstance(kind, PrimitiveType | DecimalType) and kind != VARIANT


def may_widen(table: Described) -> bool:
    """Whether the table lets types of its columns be widened."""
    configuration = table.metadata.configuration
    return table.supports("typeWidening") and TYPE_WIDENING.value_of(configuration)


def is_taken_by_formats(table: Described, current: DataType, update: DataType) -> bool:
    """Whether the formats in which the table can be read besides take the wider type too: what
    Iceberg promotes is whole numbers, float to double, and decimals of one scale."""
    configuration = table.metadata.configuration
    formats = UNIVERSAL_FORMATS.value_of(configuration).lower().split(",")
    is_iceberg = "iceberg" in [name.strip() for name in formats]
    if not is_iceberg and not any(item.value_of(configuration) for item in _OF_ICEBERG):
        return True
    match current, update:
        case DecimalType(), DecimalType():
            return current.scale == update.scale
        case PrimitiveType(name=narrow), PrimitiveType(name=wide):
            numbers = {narrow, wide} <= _WHOLE_NUMBERS
            return numbers or (narrow, wide) == ("float", "double")
        case _:
            return False


def recorded_change(current: DataType, update: DataType, way: FieldPath) -> dict[str, str]:
    """As the reference records it; a change of the field's own type has no path, one inside of
    arrays and maps the `way` to it."""
    found = {"fromType": render_type(current), "toType": render_type(update)}
    return {**found, "fieldPath": ".".join(way)} if way else found


def with_recorded(
    metadata: Mapping[str, Any], changes: Sequence[Mapping[str, str]]
) -> Mapping[str, Any]:
    """The metadata of a field with these changes behind those that it records."""
    if not changes:
        return metadata
    known = metadata.get(TYPE_CHANGES_KEY)
    return {**metadata, TYPE_CHANGES_KEY: [*(known if isinstance(known, list) else ()), *changes]}
