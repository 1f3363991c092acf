"""The lengths of `char(n)` and `varchar(n)` that Spark keeps in a field's metadata."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.protocol.character_types import character_types, with_lengths_on_columns
from explorer.protocol.schema import CHARACTER_TYPE_KEY, StructField, StructType, parse_schema
from tests.data_tables import array, field, map_of, struct


def declared(kind: Any, text: Any) -> StructField:
    meta = {CHARACTER_TYPE_KEY: text}
    return parse_schema(json.dumps(struct(field("c", kind, True, **meta)))).fields[0]


def lengths(kind: Any, text: Any) -> dict[str, str] | None:
    found = character_types(declared(kind, text))
    return None if found is None else {".".join(way): kind.text for way, kind in found.items()}


NESTED = struct(field("o", "string"), field("m", map_of("string", "string")), field("n", "long"))


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("string", "varchar(3)", {"": "varchar(3)"}),
        ("string", "char(4)", {"": "char(4)"}),
        ("string", "string", {}),
        (array("string"), "array<varchar(2)>", {"element": "varchar(2)"}),
        (
            map_of("string", array("string")),
            "map<char(1),array<varchar(9)>>",
            {"key": "char(1)", "value.element": "varchar(9)"},
        ),
        (
            NESTED,
            "struct<o:char(2),m:map<string,varchar(5)>,n:bigint>",
            {"o": "char(2)", "m.value": "varchar(5)"},
        ),
        (
            struct(field("d", "decimal(10,2)"), field("a>b:c,", "string")),
            "struct<d:decimal(10,2),a>b:c,:varchar(7)>",
            {"a>b:c,": "varchar(7)"},
        ),
        (struct(field("a`b", "string")), "struct<`a``b`:varchar(7)>", {"a`b": "varchar(7)"}),
    ],
)
def test_the_text_of_a_type_tells_every_length_inside_it(
    kind: Any, text: str, found: dict[str, str]
) -> None:
    assert lengths(kind, text) == found


def test_a_field_that_came_into_a_struct_later_has_no_length() -> None:
    kind = struct(field("new", "string"), field("o", "string"), field("last", "long"))
    assert lengths(kind, "struct<o:char(2)>") == {"o": "char(2)"}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("string", 5),
        ("string", "varchar(5"),
        ("string", "varchar(5)>"),
        ("string", "varchar(0)"),
        (array("string"), "varchar(5)"),
        (map_of("string", "string"), "map<string>"),
        (NESTED, "struct<renamed:char(2)>"),
    ],
)
def test_text_that_does_not_fit_the_type_is_told_as_unreadable(kind: Any, text: Any) -> None:
    assert lengths(kind, text) is None


def test_a_field_without_the_key_has_no_length() -> None:
    assert character_types(StructField(name="c", data_type=declared("string", "x").data_type)) == {}


def test_lengths_are_read_wherever_a_type_with_one_stands():
    columns = struct(
        field("a", array(array("varchar(2)"))),
        field("m", map_of("char(1)", array("varchar(9)"))),
        field("s", struct(field("x", "varchar(3)"), field("y", "long"))),
    )
    first, second, third = parse_schema(json.dumps(columns)).fields
    assert first.metadata == {CHARACTER_TYPE_KEY: "array<array<varchar(2)>>"}
    assert second.metadata == {CHARACTER_TYPE_KEY: "map<char(1),array<varchar(9)>>"}
    assert third.metadata == {}
    assert third.data_type.fields[0].metadata == {CHARACTER_TYPE_KEY: "varchar(3)"}


def test_a_column_tells_the_lengths_of_what_is_inside_of_it():
    inner = struct(field("x y", "varchar(3)"), field("z", array("char(1)")), field("n", "long"))
    columns = struct(field("a", array(inner)), field("b", "varchar(4)"))
    schema = parse_schema(json.dumps(columns))
    first, second = with_lengths_on_columns(schema).fields
    text = "array<struct<`x y`:varchar(3),z:array<char(1)>,n:bigint>>"
    assert first.metadata == {CHARACTER_TYPE_KEY: text}
    assert all(item.metadata == {} for item in first.data_type.element_type.fields)
    assert {way: kind.text for way, kind in character_types(first).items()} == {
        ("element", "x y"): "varchar(3)",
        ("element", "z", "element"): "char(1)",
    }
    assert second == schema.fields[1]
    again = with_lengths_on_columns(StructType(fields=(first, second)))
    assert again.fields == (first, second)
