"""The type of a column that becomes a wider one (spec: Type Widening)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from explorer.errors import InvalidArgumentError
from explorer.protocol.actions import FieldPath
from explorer.protocol.features.type_widening import is_widening
from explorer.protocol.schema import (
    CHARACTER_TYPE_KEY,
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    render_type,
)
from explorer.protocol.schema_walk import render_path
from explorer.transaction.rules.change import Described
from explorer.writing.columns._lengths import lengths_of, with_length_at
from explorer.writing.columns.column_places import field_at, type_at, with_fields_at, with_type_at
from explorer.writing.schema.expression_columns import check_no_expression
from explorer.writing.schema.schema_text import parse_schema_text
from explorer.writing.schema.widening import (
    is_simple,
    is_taken_by_formats,
    may_widen,
    recorded_change,
    with_recorded,
)

_SHOWN: Final = 120


def with_type_changed(table: Described, path: FieldPath, text: str) -> StructType:
    """The columns of a table where what is at `path` has the type that `text` names in SQL, and
    records how it came to it.

    Raises `InvalidArgumentError` for a type that is not wider, where the table does not let types
    be widened, and where a constraint or a generated column speaks of the column.
    """
    schema, shown = table.schema, render_path(path)[:_SHOWN]
    asked = _parse_type(text, path)
    wanted, current = asked.data_type, type_at(schema, path)
    if isinstance(current, StructType | ArrayType | MapType):
        raise InvalidArgumentError(
            f"The type of {shown} cannot be changed as a whole.",
            reason="It holds other types.",
            remedy="Change what is inside of it, as in place.city or tags.element; add and drop "
            "its fields.",
            spec="Type Widening",
        )
    length = lengths_of(asked).get(())
    _check_char(schema, path, length)
    changes: list[dict[str, str]] = []
    outer = next(
        path[: len(path) - at]
        for at in range(len(path))
        if field_at(schema, path[: len(path) - at]) is not None
    )
    way = path[len(outer) :]
    if wanted != current:
        check_no_expression(table, [path], "The type of {} would change")
        if current != VOID:
            _check_wider(table, path, current, wanted)
            changes = [recorded_change(current, wanted, way)]

    def retyped(fields: tuple[StructField, ...]) -> tuple[StructField, ...]:
        return tuple(
            replace(item, metadata=with_recorded(item.metadata, changes))
            if item.name == outer[-1]
            else item
            for item in fields
        )

    changed = with_fields_at(with_type_at(schema, path, lambda _: wanted), outer[:-1], retyped)
    return with_length_at(changed, schema, path, length)


def _check_char(schema: StructType, path: FieldPath, length: str | None) -> None:
    """Raise for a CHAR that was not one of this length: rows that are there are not padded to it,
    and would no longer be equal to new ones."""
    column = next(item for item in schema.fields if item.name == path[0])
    former = lengths_of(column).get(path[1:])
    if length is None or not length.startswith("char") or length == former:
        return
    shown = render_path(path)[:_SHOWN]
    raise InvalidArgumentError(
        f"{shown} cannot become {length}.",
        reason="The text that is there is not padded to that length.",
        remedy="Make it a VARCHAR that is long enough, or a STRING.",
        spec="Column Metadata",
    )


def _parse_type(text: str, path: FieldPath) -> StructField:
    found = parse_schema_text(f"`{path[-1].replace('`', '``')}` {text}").fields
    only = set(found[0].metadata) <= {CHARACTER_TYPE_KEY}
    if len(found) != 1 or not found[0].nullable or not only:
        raise InvalidArgumentError(
            f"{text[:_SHOWN]!r} says more than a type.",
            reason="The type of one column is asked for.",
            remedy="Write it as BIGINT or DECIMAL(12,2); comment, nullability and default are said "
            "by themselves.",
            spec="Schema Serialization Format",
        )
    return found[0]


def _check_wider(table: Described, path: FieldPath, current: DataType, wanted: DataType) -> None:
    shown, kinds = render_path(path)[:_SHOWN], [render_type(kind) for kind in (current, wanted)]
    names = [kind[:60] for kind in kinds]
    problem = f"{shown} cannot go from {names[0]} to {names[1]}."
    if not (is_simple(wanted) and is_widening(current, wanted)):
        raise InvalidArgumentError(
            problem,
            reason="Files that are there hold the old type, and only a wider one of those that "
            "the specification lists can be read from them.",
            remedy="Add a column of the new type, and fill it.",
            spec="Type Widening",
        )
    if not may_widen(table):
        raise InvalidArgumentError(
            problem,
            reason="The table does not let types be widened (delta.enableTypeWidening).",
            remedy="Allow it first: upgrade typeWidening, which says who can no longer read the "
            "table.",
            spec="Type Widening",
        )
    if not is_taken_by_formats(table, current, wanted):
        raise InvalidArgumentError(
            problem,
            reason="The table can be read as Iceberg too, which does not have that change.",
            remedy="Add a column of the new type, and fill it.",
            spec="Writer Requirements for IcebergCompatV2",
        )
