"""Every field of a schema with its path (spec: Schema Serialization Format, Field Path)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from explorer.errors import Problem
from explorer.protocol.schema import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UnknownType,
)
from explorer.records import record

_PLAIN_NAME = re.compile(r"\w+", re.ASCII)
_PATH_STEP: Final = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
_SPEC: Final = "Schema Serialization Format"


_Way: TypeAlias = Literal["element", "key", "value"]
Step: TypeAlias = StructField | _Way
"""One step of a field path: into a field, or into an array or map."""


@record
class FieldPlace:
    """A field and the steps from the root of the schema to what encloses it."""

    field: StructField
    parents: tuple[Step, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The logical field path, one name a step."""
        return tuple(
            step if isinstance(step, str) else step.name for step in (*self.parents, self.field)
        )

    @property
    def path(self) -> str:
        """The logical field path as text, like ``a.`b.c`.element``."""
        return render_path(self.names)

    @property
    def depth(self) -> int:
        """How many fields enclose this one: 0 for a column of the table."""
        return sum(not isinstance(step, str) for step in self.parents)


def walk_fields(schema: StructType) -> Iterator[FieldPlace]:
    """Every field in order, each before those inside it, those of arrays and maps too."""
    stack = [FieldPlace(field=item) for item in reversed(schema.fields)]
    while stack:
        place = stack.pop()
        yield place
        inner = [
            FieldPlace(field=item, parents=(*place.parents, place.field, *steps))
            for steps, struct in _structs_in(place.field.data_type)
            for item in struct.fields
        ]
        stack.extend(reversed(inner))


def leaf_fields(schema: StructType) -> Iterator[FieldPlace]:
    """The fields that per-file statistics speak of: reached through structs alone,
    and no struct themselves (spec: Per-file Statistics)."""
    for place in walk_fields(schema):
        through_structs = not any(isinstance(step, str) for step in place.parents)
        if through_structs and not isinstance(place.field.data_type, StructType):
            yield place


def walk_types(data_type: DataType) -> Iterator[DataType]:
    """The type and every type inside it: of fields, elements, keys and values."""
    stack = [data_type]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case StructType(fields=fields):
                stack.extend(item.data_type for item in reversed(fields))
            case ArrayType(element_type=element):
                stack.append(element)
            case MapType(key_type=key, value_type=value):
                stack.extend((value, key))


def map_fields(schema: StructType, change: Callable[[StructField], StructField]) -> StructType:
    """The schema with every field as `change` makes it, each before those inside it, those of
    arrays and maps too."""
    fields = []
    for item in schema.fields:
        changed = change(item)
        fields.append(replace(changed, data_type=_map_inside(changed.data_type, change)))
    return StructType(fields=tuple(fields))


def render_path(names: tuple[str, ...]) -> str:
    """A field path as text: names joined by dots, in backticks where they are not plain."""
    return ".".join(
        name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
        for name in names
    )


def parse_path(text: str) -> tuple[str, ...]:
    """The names of a field path as `render_path` writes it: ``a.`b.c` `` has two."""
    steps = _PATH_STEP.findall(text)
    return tuple(step[1:-1].replace("``", "`") if step.startswith("`") else step for step in steps)


def missing_schema() -> Problem:
    """The problem of metadata without a `schemaString`."""
    found = _problem(
        "The table has no schema.",
        "Its metadata has no schemaString, which is required. The table is read without columns, "
        "as in Delta Spark.",
    )
    return replace(found, remedy="Write the schema with the engine that created the table.")


def validate_schema(schema: StructType) -> list[Problem]:
    """What is wrong with a schema that could be parsed."""
    problems = _duplicates((), schema)
    for place in walk_fields(schema):
        for steps, struct in _structs_in(place.field.data_type):
            problems.extend(_duplicates((*place.names, *steps), struct))
        if place.field.name == "":
            problems.append(_problem("A column has no name.", f"Found at `{_shown(place.names)}`."))
        problems.extend(
            _problem(
                f"The column `{_shown(place.names)}` has the unknown type `{item.text[:120]}`.",
                "No revision of the specification names it, so its values cannot be read.",
            )
            for item in _own_types(place.field.data_type)
            if isinstance(item, UnknownType)
        )
    return problems


def _map_inside(data_type: DataType, change: Callable[[StructField], StructField]) -> DataType:
    match data_type:
        case StructType():
            return map_fields(data_type, change)
        case ArrayType(element_type=element):
            return replace(data_type, element_type=_map_inside(element, change))
        case MapType(key_type=key, value_type=value):
            inner_key = _map_inside(key, change)
            return replace(data_type, key_type=inner_key, value_type=_map_inside(value, change))
        case _:
            return data_type


def _structs_in(data_type: DataType) -> Iterator[tuple[tuple[_Way, ...], StructType]]:
    """The struct that a field holds itself or in arrays and maps, with the way into it."""
    stack: list[tuple[tuple[_Way, ...], DataType]] = [((), data_type)]
    while stack:
        steps, current = stack.pop()
        match current:
            case StructType():
                yield steps, current
            case ArrayType(element_type=element):
                stack.append(((*steps, "element"), element))
            case MapType(key_type=key, value_type=value):
                stack.extend((((*steps, "value"), value), ((*steps, "key"), key)))


def _own_types(data_type: DataType) -> Iterator[DataType]:
    """The types of one field, without those of the fields inside it."""
    stack = [data_type]
    while stack:
        current = stack.pop()
        yield current
        match current:
            case ArrayType(element_type=element):
                stack.append(element)
            case MapType(key_type=key, value_type=value):
                stack.extend((value, key))


def _duplicates(prefix: tuple[str, ...], struct: StructType) -> list[Problem]:
    counts = Counter(name.lower() for name in struct.names)
    where = f"`{_shown(prefix)}`" if prefix else "the table"
    return [
        _problem(
            f"{count} columns of {where} are called `{name[:120]}`.",
            "The names of columns must differ by more than upper and lower case.",
        )
        for name, count in counts.items()
        if count > 1
    ]


def _shown(names: tuple[str, ...]) -> str:
    # cut before it is joined: names of a hostile schema may be megabytes long
    return render_path(tuple(name[:60] for name in names))[-200:]


def _problem(problem: str, reason: str) -> Problem:
    return Problem(
        kind="schema_invalid",
        problem=problem,
        reason=reason,
        remedy="Rename or drop the column with the engine that wrote it.",
        spec=_SPEC,
    )
