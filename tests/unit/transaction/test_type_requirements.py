"""How the types of a table's columns may change."""

from __future__ import annotations

import pytest

from explorer.protocol.actions import Metadata
from explorer.transaction.read_version import ReadVersion
from tests.unit.transaction.stages import (
    base,
    features,
    field,
    metadata,
    only,
    schema,
    stage,
    texts,
)

WIDENING = features(readers=["typeWidening", "timestampNtz"])
ENABLED = {"delta.enableTypeWidening": "true"}


def table(kind: object, *changes: dict[str, str]) -> Metadata:
    """A table of one column, which records these changes of its type."""
    keys = {"delta.typeChanges": list(changes)} if changes else {}
    return metadata(ENABLED, schema_string=schema(field("n", kind, **keys)))


def step(before: str, after: str, way: str | None = None) -> dict[str, str]:
    inside = {} if way is None else {"fieldPath": way}
    return {"fromType": before, "toType": after, **inside}


def held(kind: object, *changes: dict[str, str]) -> ReadVersion:
    return base(WIDENING, table(kind, *changes))


@pytest.mark.rule("newer-widening-integers", "newer-widening-float", "newer-widening-date")
@pytest.mark.rule("newer-widening-int-to-double", "newer-widening-decimal")
@pytest.mark.rule("newer-widening-int-to-decimal", "newer-widening-history")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("byte", "short"),
        ("short", "integer"),
        ("integer", "long"),
        ("byte", "long"),
        ("float", "double"),
        ("byte", "double"),
        ("short", "double"),
        ("integer", "double"),
        ("date", "timestamp_ntz"),
        ("decimal(6,2)", "decimal(8,2)"),
        ("decimal(6,2)", "decimal(10,4)"),
        ("byte", "decimal(10,0)"),
        ("integer", "decimal(12,2)"),
        ("long", "decimal(20,0)"),
    ],
)
def test_a_type_is_widened_where_that_is_recorded(before: str, after: str) -> None:
    read = held(before)
    assert texts(stage(table(after, step(before, after)), upon=read)) == []
    assert "without being recorded" in only(stage(table(after), upon=read))
    unsupported = base(features("timestampNtz", "domainMetadata"), table(before))
    found = texts(stage(table(after, step(before, after)), upon=unsupported))
    assert any("without being recorded" in text for text in found)
    # and never back
    found = texts(stage(table(before, step(after, before)), upon=held(after)))
    assert any(f"cannot go from {after} to {before}" in text for text in found)


@pytest.mark.rule("newer-widening-integers", "newer-widening-float", "newer-widening-date")
@pytest.mark.rule("newer-widening-int-to-double", "newer-widening-decimal")
@pytest.mark.rule("newer-widening-int-to-decimal")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("integer", "float"),
        ("integer", "string"),
        ("long", "double"),
        ("float", "decimal(38,2)"),
        ("date", "timestamp"),
        ("decimal(6,2)", "decimal(7,4)"),
        ("decimal(6,2)", "decimal(10,1)"),
        ("integer", "decimal(11,2)"),
        ("long", "decimal(19,0)"),
    ],
)
def test_no_other_change_of_a_type_is_made_though_it_is_recorded(before: str, after: str) -> None:
    found = texts(stage(table(after, step(before, after)), upon=held(before)))
    assert any(f"cannot go from {before} to {after}" in text for text in found)
    assert any("unsupported type change" in text for text in found)


@pytest.mark.rule("newer-widening-history")
@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ([step("byte", "short"), step("short", "long")], False),
        ([step("byte", "short"), step("short", "integer"), step("integer", "long")], False),
        ([step("byte", "short")], True),
        ([step("byte", "short"), step("short", "integer")], True),
        ([step("byte", "short"), step("integer", "long")], True),
        ([step("byte", "long")], True),
        ([step("byte", "short"), step("short", "long", "element")], True),
    ],
)
def test_each_step_is_recorded_after_those_before(told: list[dict], refused: bool) -> None:
    found = texts(stage(table("long", *told), upon=held("short", step("byte", "short"))))
    assert ["without being recorded" in text for text in found] == [True] * refused


def nested(element: str, value: str) -> dict[str, object]:
    """A map to arrays, some of its types by name."""
    values = {"type": "array", "elementType": element, "containsNull": True}
    return {"type": "map", "keyType": value, "valueType": values, "valueContainsNull": True}


@pytest.mark.rule("newer-widening-history")
def test_what_lies_inside_is_recorded_by_the_way_to_it() -> None:
    read = held(nested("integer", "short"))
    wide = nested("long", "integer")
    key, element = step("short", "integer", "key"), step("integer", "long", "value.element")
    assert texts(stage(table(wide, key, element), upon=read)) == []
    found = only(stage(table(wide, key), upon=read))
    assert "`n.value.element` changes without being recorded" in found
    found = only(stage(table(wide, element), upon=read))
    assert "`n.key` changes without being recorded" in found
    astray = step("integer", "long", "value")
    assert "`n.value.element`" in only(stage(table(wide, key, astray), upon=read))


def test_a_column_without_a_type_gets_one_without_a_record() -> None:
    assert texts(stage(table("long"), upon=held("void"))) == []


def test_a_change_that_no_reader_can_follow_is_not_recorded() -> None:
    wrong = table("long", step("string", "long"))
    assert "unsupported type change" in only(stage(wrong, upon=base(WIDENING, wrong)))
