"""Names of columns in a predicate, resolved as Spark does: whatever their case."""

from __future__ import annotations

import difflib
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.schema import DataType, StructField, StructType, render_type
from explorer.protocol.schema_walk import render_path
from explorer.scan.predicate.predicate import ColumnReference

NO_COLUMN: Final = "The table has no column "
"""What begins the problem of a name that no column has."""
_LOOKED_AT: Final = 120
"""Characters of a name that are compared where it may be misspelt."""


def resolve_name(names: tuple[str, ...], schema: StructType) -> ColumnReference:
    """The column or field that `names` lead to, by its names in the schema.

    Raises `InvalidArgumentError` where there is none, where there are several
    that differ in case alone, or where the way leads through an array or map.
    """
    current: DataType = schema
    path: list[str] = []
    for name in names:
        if not isinstance(current, StructType):
            raise InvalidArgumentError(
                f"{_shown(names)} leads into a {render_type(current)[:120]}.",
                reason="A predicate reaches fields through structs alone.",
                remedy="Name the column itself, or leave this condition out.",
            )
        field = _field(name, current, (*path, name))
        path.append(field.name)
        current = field.data_type
    return ColumnReference(path=tuple(path), data_type=current)


def column_of_name(name: str, schema: StructType) -> StructField | None:
    """The column that is called just so, dots and all: the very name, else whatever its case where
    one column has it."""
    same = [item for item in schema.fields if item.name.lower() == name.lower()]
    exact = [item for item in same if item.name == name]
    found = exact or same
    return found[0] if len(found) == 1 else None


def _field(name: str, struct: StructType, place: tuple[str, ...]) -> StructField:
    found = [field for field in struct.fields if field.name.lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidArgumentError(
            f"{_shown(place)} is ambiguous.",
            reason=f"{len(found)} columns have this name, in upper or lower case.",
            remedy="Rename all but one of them.",
        )
    near = _nearest(name, struct)
    known = ", ".join(render_path((field.name[:60],)) for field in struct.fields[:12])
    raise InvalidArgumentError(
        f"{NO_COLUMN}{_shown(place)}.",
        reason=f"It has {known or 'no columns'}{', ...' if len(struct.fields) > 12 else ''}.",
        remedy=f"Did you mean {_shown((*place[:-1], near))}?"
        if near is not None
        else "Put strings in single quotes, and names with special characters in backticks.",
    )


def _nearest(name: str, struct: StructType) -> str | None:
    """The field whose name looks most like `name`, whatever its case."""
    known = {field.name[:_LOOKED_AT].lower(): field.name for field in struct.fields}
    near = difflib.get_close_matches(name[:_LOOKED_AT].lower(), known, n=1)
    return known[near[0]] if near else None


def _shown(names: tuple[str, ...]) -> str:
    return render_path(tuple(name[:60] for name in names[-6:]))
