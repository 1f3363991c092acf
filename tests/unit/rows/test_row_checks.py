"""Which rows of a batch break NOT NULL or a length, on every level of a type."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from explorer.protocol.arrow_types import arrow_schema, stored_schema
from explorer.protocol.schema import CHARACTER_TYPE_KEY, StructType, parse_schema
from explorer.rows.row_checks import (
    RowChecks,
    build_checks,
    find_broken,
    find_broken_partition,
)
from tests.data_tables import array, field, map_of, struct


def parsed(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps(struct(*fields)))


def broken(kind: Any, values: list[Any], *, nullable: bool = True, **meta: str) -> list[Any]:
    """What the values of one column `c` break, beside a row number that none of them does."""
    schema = parsed(field("c", kind, nullable, **meta))
    target = arrow_schema(stored_schema(schema, "none"))
    # sliced as batches of files are: offsets do not begin at 0
    rows = pa.RecordBatch.from_pydict({"c": [values[-1], *values]}, target).slice(1)
    return [
        (".".join(found.path), found.rule, found.first_row, found.num_rows)
        for found in find_broken(rows, build_checks(schema))
    ]


REQUIRED = {"type": "array", "elementType": "long", "containsNull": False}
VALUES = map_of("string", "long") | {"valueContainsNull": False}


def test_a_null_in_a_column_that_is_not_null_is_found_with_its_row() -> None:
    assert broken("long", [1, None, 2, None], nullable=False) == [("c", "NOT NULL", 1, 2)]
    assert broken("long", [1, None, 2, None]) == []


@pytest.mark.parametrize(
    ("kind", "values", "found"),
    [
        (
            struct(field("x", "long", False)),
            [{"x": 1}, None, {"x": None}],
            ("c.x", "NOT NULL", 2, 1),
        ),
        (REQUIRED, [[1], [], None, [2, None, None]], ("c.element", "NOT NULL", 3, 1)),
        (VALUES, [[("a", 1)], None, [("a", 1), ("b", None)]], ("c.value", "NOT NULL", 2, 1)),
        (
            array(struct(field("x", REQUIRED))),
            [[{"x": [1]}, None], [], [{"x": None}, {"x": [1, None]}]],
            ("c.element.x.element", "NOT NULL", 2, 1),
        ),
    ],
    ids=["struct", "array", "map", "deep"],
)
def test_nulls_inside_are_found_and_those_of_a_null_around_them_are_none(
    kind: Any, values: list[Any], found: tuple[Any, ...]
) -> None:
    assert broken(kind, values) == [found]
    assert broken(kind, values[:-1]) == []


def test_a_null_struct_does_not_break_what_it_would_hold() -> None:
    inner = struct(field("x", "long", False))
    assert broken(inner, [None, None]) == []
    assert broken(inner, [None, {"x": 1}], nullable=False) == [("c", "NOT NULL", 0, 1)]


@pytest.mark.parametrize("name", ["char", "varchar"])
def test_text_is_measured_in_characters_and_shorter_text_is_held(name: str) -> None:
    meta = {CHARACTER_TYPE_KEY: f"{name}(3)"}
    values = ["äöü", "", None, "\N{GRINNING FACE}" * 3, "abc ", "abcd"]
    assert broken("string", values, **meta) == [("c", f"{name}(3)", 4, 2)]


def test_lengths_inside_arrays_maps_and_structs_are_held() -> None:
    kind = array(map_of("string", struct(field("t", "string"))))
    meta = {CHARACTER_TYPE_KEY: "array<map<varchar(2),struct<t:char(1)>>>"}
    values = [[[("ab", {"t": "x"})], None], [[("abc", {"t": "x"})]], [[("a", {"t": "xy"})], []]]
    assert broken(kind, values, **meta) == [
        ("c.element.key", "varchar(2)", 1, 1),
        ("c.element.value.t", "char(1)", 2, 1),
    ]


def test_a_partition_value_is_held_by_the_same_rules() -> None:
    meta = {CHARACTER_TYPE_KEY: "varchar(2)"}
    schema = parsed(field("k", "long"), field("p", "string", False, **meta))
    checks = build_checks(schema, ["p"])
    assert find_broken_partition({"p": "ab"}, checks, 3) == []
    for values, rule in (({"p": None}, "NOT NULL"), ({"p": ""}, "NOT NULL"), ({}, "NOT NULL"),
                         ({"p": "abc"}, "varchar(2)")):  # fmt: skip
        (found,) = find_broken_partition(values, checks, 3)
        assert (found.path, found.rule, found.num_rows) == (("p",), rule, 3)
        assert find_broken_partition(values, checks, 0) == []


def test_a_table_without_rules_is_not_looked_through() -> None:
    deep = array(map_of("string", struct(field("t", "string"))))
    assert build_checks(parsed(field("a", "long"), field("b", deep))) == RowChecks()
