"""Where a column is, and where one comes to stand (spec: Field Path, Struct Field)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import FieldPath
from explorer.protocol.schema import ArrayType, DataType, MapType, StructField, StructType
from explorer.protocol.schema_walk import parse_path, render_path

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class First:
    """Before every other column of its struct."""


@dataclass(frozen=True, slots=True)
class After:
    """Behind the column `name` of its struct."""

    name: str


Position: TypeAlias = First | After


def find_column(schema: StructType, name: str | Sequence[str]) -> FieldPath:
    """The way to a column in the spelling of the schema, by its name or by a field path such as
    ``place.city``, ``tags.element.name`` or ``["place", "city"]``; whatever its case.

    Raises `InvalidArgumentError` where there is none, or where the text stands for two.
    """
    if not isinstance(name, str):
        return _followed(schema, tuple(name))
    way = parse_path(name)
    whole = [item.name for item in schema.fields if item.name.lower() == name.lower()]
    if not whole or len(way) == 1:
        return (whole[0],) if whole else _followed(schema, way)
    try:
        other = _followed(schema, way)
    except InvalidArgumentError:
        return (whole[0],)
    raise InvalidArgumentError(
        f"{name[:_SHOWN]} stands for two columns.",
        reason=f"There are {render_path((whole[0],))[:_SHOWN]} and {render_path(other)[:_SHOWN]}, "
        "which is inside of another column.",
        remedy="Put names with a dot in backticks, or give the path as a list of names.",
        spec="Field Path",
    )


def field_at(schema: StructType, path: FieldPath) -> StructField | None:
    """The field that a path as `find_column` gives it leads to; None for the elements of an
    array, and the keys and values of a map, which are none."""
    kind: DataType = schema
    found: StructField | None = None
    for step in path:
        found, kind = _inside(kind, step)
    return found


def type_at(schema: StructType, path: FieldPath) -> DataType:
    """The type of what such a path leads to, the schema itself without steps."""
    kind: DataType = schema
    for step in path:
        _, kind = _inside(kind, step)
    return kind


def with_type_at(
    schema: StructType, path: FieldPath, change: Callable[[DataType], DataType]
) -> StructType:
    """The schema in which `change` made the type that such a path leads to, which begins with a
    column of the table unless it is empty."""
    found = _changed(schema, path, change)
    if not isinstance(found, StructType):
        raise AssertionError("a schema stays one")
    return found


def with_fields_at(
    schema: StructType,
    path: FieldPath,
    change: Callable[[tuple[StructField, ...]], tuple[StructField, ...]],
) -> StructType:
    """The schema in which `change` made the fields of the struct that such a path leads to.

    Raises `InvalidArgumentError` where there is no struct.
    """

    def changed(kind: DataType) -> DataType:
        if not isinstance(kind, StructType):
            raise _no_struct(path, kind)
        return StructType(fields=change(kind.fields))

    return with_type_at(schema, path, changed)


def placed(
    fields: tuple[StructField, ...], item: StructField, position: Position | None, at: int
) -> tuple[StructField, ...]:
    """The fields with `item` in that position, or as the one with the number `at`.

    Raises `InvalidArgumentError` where the column is not there that it is to follow.
    """
    match position:
        case None:
            pass
        case First():
            at = 0
        case After(name=name):
            names = [field.name for field in fields]
            at = names.index(_spelled(names, name, ())) + 1
    return (*fields[:at], item, *fields[at:])


def _followed(schema: StructType, way: FieldPath) -> FieldPath:
    kind: DataType = schema
    found: list[str] = []
    if not way:
        raise _missing((), "", schema.names)
    for step in way:
        names = _names_in(kind)
        if not names:
            raise _no_struct(tuple(found), kind)
        found.append(_spelled(names, step, tuple(found)))
        _, kind = _inside(kind, found[-1])
    return tuple(found)


def _spelled(names: Sequence[str], wanted: str, above: FieldPath) -> str:
    if wanted in names:
        return wanted
    known = [name for name in names if name.lower() == wanted.lower()]
    if not known:
        raise _missing(above, wanted, names)
    return known[0]


def _names_in(kind: DataType) -> tuple[str, ...]:
    match kind:
        case StructType():
            return tuple(kind.names)
        case ArrayType():
            return ("element",)
        case MapType():
            return ("key", "value")
        case _:
            return ()


def _inside(kind: DataType, step: str) -> tuple[StructField | None, DataType]:
    match kind:
        case StructType(fields=fields):
            found = next(item for item in fields if item.name == step)
            return found, found.data_type
        case ArrayType(element_type=element):
            return None, element
        case MapType(key_type=key, value_type=value):
            return None, key if step == "key" else value
        case _:
            raise AssertionError("the path was found in this schema")


def _changed(kind: DataType, path: FieldPath, change: Callable[[DataType], DataType]) -> DataType:
    if not path:
        return change(kind)
    step, rest = path[0], path[1:]
    match kind:
        case StructType(fields=fields):
            return StructType(
                fields=tuple(
                    replace(item, data_type=_changed(item.data_type, rest, change))
                    if item.name == step
                    else item
                    for item in fields
                )
            )
        case ArrayType(element_type=element):
            return replace(kind, element_type=_changed(element, rest, change))
        case MapType() if step == "key":
            return replace(kind, key_type=_changed(kind.key_type, rest, change))
        case MapType():
            return replace(kind, value_type=_changed(kind.value_type, rest, change))
        case _:
            raise AssertionError("the path was found in this schema")


def _no_struct(path: FieldPath, kind: DataType) -> InvalidArgumentError:
    where = render_path(path)[:_SHOWN]
    inside = _names_in(kind)
    remedy = (
        f"Go on with {' or '.join(inside)}, as in {where}.{inside[0]}."
        if inside
        else "Name a column that is a struct."
    )
    return InvalidArgumentError(
        f"{where} has no columns of its own.",
        reason="It is no struct.",
        remedy=remedy,
        spec="Field Path",
    )


def _missing(above: FieldPath, name: str, names: Sequence[str]) -> InvalidArgumentError:
    near = difflib.get_close_matches(name[:_SHOWN], [each[:_SHOWN] for each in names[:500]], n=1)
    shown = ", ".join(each[:60] for each in names[:12]) or "no columns"
    more = ", ..." if len(names) > 12 else ""
    where = f" {render_path(above)[:_SHOWN]}" if above else ""
    return InvalidArgumentError(
        f"There is no column {render_path((*above, name))[:_SHOWN]}.",
        reason=f"{'The table' if not above else where.strip()} has {shown}{more}.",
        remedy=f"Did you mean {render_path((*above, near[0]))}?"
        if near
        else "Name a column of the schema.",
        spec="Field Path",
    )
