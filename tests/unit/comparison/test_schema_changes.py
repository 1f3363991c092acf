"""A schema's changes, field by field (spec: Column Mapping, Type Widening)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.comparison.schema_changes import SchemaChange
from explorer.comparison.versions import diff
from explorer.table.snapshot import Snapshot
from tests.data_tables import array, field, map_of, mapped, struct
from tests.tables import PROTOCOL, LogFolder, metadata

_MAPPING = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
_BY_NAME = {"delta.columnMapping.mode": "name"}


def _snapshot(root: Path, schema: dict[str, Any], **fields: Any) -> Snapshot:
    root.mkdir(parents=True)
    folder = LogFolder(root / "t")
    mapped_columns = "delta.columnMapping" in json.dumps(schema)
    configuration = _BY_NAME if mapped_columns else {}
    body = {"schemaString": json.dumps(schema), "configuration": configuration, **fields}
    folder.commit(0, [_MAPPING if mapped_columns else PROTOCOL, metadata(**body)])
    return explorer.open_table(folder.root).snapshot()


def _changes(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], **fields: Any
) -> list[SchemaChange]:
    older = _snapshot(tmp_path / "older", before)
    return list(diff(older, _snapshot(tmp_path / "newer", after, **fields)).schema)


def _brief(changes: list[SchemaChange]) -> list[tuple[Any, ...]]:
    return [(change.kind, change.path, change.before, change.after) for change in changes]


def test_columns_without_mapping_go_by_name(tmp_path: Path) -> None:
    before = struct(field("a", "long"), field("b", "string"), field("C", "date"))
    after = struct(field("a", "long"), field("x", "string", nullable=False), field("c", "date"))
    changes = _changes(tmp_path, before, after)
    assert _brief(changes) == [
        ("added", "x", None, "string, not null"),
        ("renamed", "c", "C", "c"),
        ("dropped", "b", "string", None),
    ]
    assert "is NOT NULL" in changes[0].meaning
    assert "look for the new name" in changes[1].meaning


@pytest.mark.rule("mapping-id")
def test_mapped_columns_go_by_id_on_every_level(tmp_path: Path) -> None:
    before = struct(
        mapped("a", "long", "p1", 1),
        mapped("s", struct(mapped("x", "long", "p3", 3), mapped("y", "long", "p4", 4)), "p2", 2),
        mapped("l", array(struct(mapped("z", "long", "p6", 6))), "p5", 5),
    )
    after = struct(
        mapped("b", "long", "p1", 1),
        mapped("t", struct(mapped("x", "long", "p9", 9), mapped("x2", "long", "p3", 3)), "p2", 2),
        mapped("l", array(struct(mapped("zz", "long", "p6", 6))), "p5", 5),
    )
    changes = _changes(tmp_path, before, after)
    assert _brief(changes) == [
        ("renamed", "b", "a", "b"),
        ("renamed", "t", "s", "t"),
        ("added", "t.x", None, "long"),
        ("renamed", "t.x2", "x", "x2"),
        ("dropped", "s.y", "long", None),
        ("renamed", "l.element.zz", "z", "zz"),
    ]
    assert [change.path_before for change in changes] == [
        "a",
        "s",
        None,
        "s.x",
        "s.y",
        "l.element.z",
    ]
    assert [change.field_id for change in changes] == [1, 2, 9, 3, 4, 6]
    assert "none is rewritten" in changes[0].meaning


@pytest.mark.rule("mapping-physicalname")
def test_switching_mapping_on_keeps_columns_by_their_names_in_files(tmp_path: Path) -> None:
    before = struct(field("a", "long"), field("b", "long"))
    after = struct(mapped("renamed", "long", "a", 1), mapped("b", "long", "b", 2))
    assert _brief(_changes(tmp_path, before, after)) == [
        ("renamed", "renamed", "a", "renamed"),
        ("column mapping", "renamed", None, "id: 1, physicalName: a"),
        ("column mapping", "b", None, "id: 2, physicalName: b"),
    ]


@pytest.mark.rule("mapping-id", "mapping-physicalname")
def test_a_column_dropped_and_made_anew_is_two(tmp_path: Path) -> None:
    before = struct(mapped("a", "long", "p1", 1))
    after = struct(mapped("a", "long", "p2", 2))
    assert _brief(_changes(tmp_path, before, after)) == [
        ("added", "a", None, "long"),
        ("dropped", "a", "long", None),
    ]


def test_ids_of_different_tables_mean_nothing(tmp_path: Path) -> None:
    before = struct(mapped("a", "long", "p1", 1), mapped("b", "long", "p2", 2))
    after = struct(mapped("b", "long", "q1", 1), mapped("a", "long", "p1", 2))
    changes = _changes(tmp_path, before, after, id="another")
    assert {(kind, path) for kind, path, *_ in _brief(changes)} == {
        ("moved", "b"),
        ("column mapping", "a"),
        ("column mapping", "b"),
    }


def test_only_what_left_the_order_moved(tmp_path: Path) -> None:
    before = struct(*(field(name, "long") for name in "abcde"))
    after = struct(*(field(name, "long") for name in "eabxcd"))
    assert _brief(_changes(tmp_path, before, after)) == [
        ("moved", "e", None, None),
        ("added", "x", None, "long"),
    ]


@pytest.mark.rule("newer-widening-decimal", "newer-widening-integers")
@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("integer", "long", "widened"),
        ("decimal(4,2)", "decimal(6,3)", "widened"),
        ("long", "integer", "type"),
        ("long", struct(field("x", "long")), "type"),
    ],
)
def test_a_type_is_widened_or_another(tmp_path: Path, before: str, after: Any, kind: str) -> None:
    changes = _changes(tmp_path, struct(field("a", before)), struct(field("a", after)))
    assert [(change.kind, change.path) for change in changes] == [(kind, "a")]
    assert ("convert" in changes[0].meaning) is True


def test_types_and_nulls_inside_arrays_and_maps_are_found(tmp_path: Path) -> None:
    before = struct(field("m", map_of("integer", array("short"))))
    inner = {**array("integer"), "containsNull": False}
    after = struct(field("m", map_of("long", inner)))
    assert _brief(_changes(tmp_path, before, after)) == [
        ("widened", "m.key", "integer", "long"),
        ("nullability", "m.value.element", "nullable", "not null"),
        ("widened", "m.value.element", "short", "integer"),
    ]


@pytest.mark.rule("column-default-key", "column-generated-key", "column-invariant-key")
def test_what_stands_beside_a_field_is_told_by_kind(tmp_path: Path) -> None:
    old: dict[str, Any] = {"delta.identity.start": 1, "delta.identity.step": 2}
    identity: dict[str, Any] = {"delta.identity.start": 1, "delta.identity.highWaterMark": 9}
    generated: dict[str, Any] = {"delta.generationExpression": "cast(t as date)"}
    checked: dict[str, Any] = {"CURRENT_DEFAULT": "current_date()", "delta.invariants": "{}"}
    before = struct(
        field("a", "long", comment="old", **old),
        field("b", "date", nullable=False, **generated),
    )
    after = struct(
        field("a", "long", comment="new", owner={"team": "x"}, **identity),
        field("b", "date", **checked),
    )
    assert _brief(_changes(tmp_path, before, after, partitionColumns=["b"])) == [
        ("comment", "a", "old", "new"),
        ("identity", "a", "start: 1, step: 2", "highWaterMark: 9, start: 1"),
        ("metadata", "a", None, 'owner: {"team":"x"}'),
        ("nullability", "b", "not null", "nullable"),
        ("default", "b", None, "current_date()"),
        ("generation", "b", "cast(t as date)", None),
        ("invariant", "b", None, "{}"),
        ("partitioning", "", None, "b"),
    ]


@pytest.mark.rule("newer-widening-date", "newer-widening-decimal", "newer-widening-integers")
def test_widening_over_every_level_is_told_as_the_source_says(corpus: Path) -> None:
    table = explorer.open_table(corpus / "tables" / "spark44-type-widening")
    changes = diff(table.snapshot(version=0), table.snapshot()).schema
    widened = {change.path: (change.before, change.after) for change in changes}
    assert {change.kind for change in changes} == {"widened"}
    # the newest type that the table's own `delta.typeChanges` name for each
    assert widened["m.key"] == ("integer", "long")
    assert widened["a.element.n"] == ("integer", "long")
    assert widened["d"] == ("date", "timestamp_ntz")
    assert widened["x"] == ("decimal(6,2)", "decimal(12,4)")
