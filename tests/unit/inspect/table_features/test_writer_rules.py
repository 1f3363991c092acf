"""What tables ask of their writers, as it is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
import explorer.inspect as look
from explorer.inspect.table_features.writer_rules import writer_rules
from explorer.protocol.features.clustering import clustering_columns
from explorer.protocol.features.column_mapping import logical_path
from explorer.protocol.features.column_rules import parse_invariant
from explorer.protocol.features.row_id_high_water_mark import parse_domain_high_water_mark
from explorer.protocol.schema import parse_schema
from tests.tables import COLUMNS as CHECKPOINT_COLUMNS
from tests.tables import LogFolder, metadata, write_parquet


def _rules(place: Path, version: int | None = None) -> list[dict[str, Any]]:
    frame = writer_rules(explorer.open_table(place), version)
    frame.validate(full=True)
    return [
        {key: value for key, value in row.items() if value is not None} for row in frame.to_pylist()
    ]


@pytest.mark.rule("column-check-key", "column-default-key", "column-default-sql")
@pytest.mark.rule("column-generated-key", "column-generated-sql", "column-identity-high-water-mark")
@pytest.mark.rule("column-identity-start", "column-identity-step")
def test_rules_of_a_real_table_with_all_kinds_of_columns(corpus: Path) -> None:
    # the figures stand in its last metaData action
    found = _rules(corpus / "tables" / "spark44-columns-with-rules")
    assert [(rule["rule"], rule.get("column", rule.get("name"))) for rule in found] == [
        ("identity", "pk"),
        ("identity", "pk2"),
        ("not null", "ts"),
        ("generated", "day"),
        ("default", "note"),
        ("check", "day sane"),
        ("check", "positive"),
        ("append only", None),
    ]
    pk, pk2, _, day, note, *checks, _ = found
    assert (pk["start"], pk["step"], pk["high_water_mark"]) == (100, 10, 550)
    assert (pk2["start"], pk2["step"], pk2["high_water_mark"]) == (-1, -2, -79)
    assert (day["text"], note["text"]) == ("CAST(ts AS DATE)", "'none'")
    assert [check["text"] for check in checks] == ["ts >= '2000-01-01'", "amount > 0"]
    assert all(rule["binds"] for rule in found)


@pytest.mark.rule("column-identity-6-or-7")
def test_rule_that_the_protocol_does_not_support_binds_nobody(corpus: Path) -> None:
    # identity columns need writer version 6, and its protocol has 2
    (rule,) = _rules(corpus / "tables" / "spark-identity_test_written_by_version_5")
    assert (rule["rule"], rule["binds"]) == ("identity", False)


@pytest.mark.rule("row-high-water-mark-spellings", "row-write-high-water-mark-domain")
@pytest.mark.parametrize(
    ("name", "mark"), [("spark44-row-tracking", 189), ("deltars-table_with_liquid_clustering", 9)]
)
def test_high_water_mark_of_row_tracking(name: str, mark: int, corpus: Path) -> None:
    rule = next(rule for rule in _rules(corpus / "tables" / name) if rule["rule"] == "row tracking")
    assert rule["high_water_mark"] == mark
    assert rule["binds"]


@pytest.mark.rule("clustering-config-json", "clustering-domain")
def test_clustering_of_a_real_table_by_version(corpus: Path) -> None:
    place = corpus / "tables" / "spark44-clustering"
    found = [
        [rule.get("column") for rule in _rules(place, version) if rule["rule"] == "clustering"]
        for version in range(explorer.open_table(place).latest_version() + 1)
    ]
    # by two columns at first, one of them nested; then by another; then by none
    changes = [now for now, before in zip(found, [None, *found], strict=False) if now != before]
    assert changes == [["c", "s.d"], ["id"], [None]]


@pytest.mark.rule("newer-catalog-published-shown")
def test_catalog_managed_table_is_marked_as_possibly_behind(corpus: Path) -> None:
    for name in ("javakernel-basic_catalog_managed", "javakernel-catalog-owned-preview"):
        place = corpus / "tables" / name
        assert "catalog managed" in [rule["rule"] for rule in _rules(place)]
        document = look.describe(explorer.open_table(place))
        assert document["may_be_behind"]
        assert document["problems"][0]["kind"] == "catalog_managed"
        assert document["version"] is not None
    sound = look.describe(explorer.open_table(corpus / "tables" / "spark44-clustering"))
    assert not sound["may_be_behind"]
    assert [rule["rule"] for rule in sound["rules"]] == ["clustering"]


_FEATURES = [
    "appendOnly",
    "invariants",
    "columnMapping",
    "domainMetadata",
    "clustering",
    "rowTracking",
    "checkpointProtection",
    "icebergCompatV1",
    "icebergCompatV3",
    "generatedColumns",
]


def _table(
    root: Path,
    schema: list[dict[str, Any]],
    *more: dict[str, Any],
    reader: tuple[str, ...] = (),
    **configuration: str,
) -> Path:
    log = LogFolder(root)
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", *reader],
        "writerFeatures": [*_FEATURES, *reader],
    }
    text = json.dumps({"type": "struct", "fields": schema})
    body = metadata(schemaString=text, configuration=configuration)
    log.commit(0, [{"protocol": protocol}, body, *more])
    return log.root


def _field(name: str, kind: Any = "long", nullable: bool = True, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": keys}


def _domain(name: str, configuration: str) -> dict[str, Any]:
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": False}}


@pytest.mark.rule("column-invariant-json", "older-004-invariant-bare-sql")
@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ('{"expression": { "expression": "x > 3"} }', "x > 3"),
        ("x > 3", "x > 3"),
        ("'a' = \"b\"", "'a' = \"b\""),
        ("true", "true"),
        ('{"expression": "x > 3"}', '{"expression": "x > 3"}'),
        ('{"expression": {"expression": 5}}', '{"expression": {"expression": 5}}'),
        ("[" * 2000, "[" * 2000),
    ],
)
def test_invariant_is_json_in_json_or_a_bare_expression(text: str, expression: str) -> None:
    assert parse_invariant(text) == expression


@pytest.mark.rule("column-invariant-key")
def test_rules_of_nested_columns_go_by_their_path(tmp_path: Path) -> None:
    keys = {"delta.invariants": '{"expression":{"expression":"a.b > 0"}}'}
    inner = {"type": "struct", "fields": [_field("x y", nullable=False, **keys)]}
    array = {"type": "array", "elementType": inner, "containsNull": False}
    found = _rules(_table(tmp_path / "t", [_field("a", array)]))
    assert [(rule["rule"], rule["column"]) for rule in found[:2]] == [
        ("not null", "a.element.`x y`"),
        ("invariant", "a.element.`x y`"),
    ]
    assert found[1]["text"] == "a.b > 0"


@pytest.mark.rule("clustering-config-json", "clustering-physical-names")
def test_clustering_goes_by_logical_names(tmp_path: Path) -> None:
    physical = "delta.columnMapping.physicalName"
    inner = {"type": "struct", "fields": [_field("in ner", **{physical: "col-2"})]}
    schema = [_field("new", inner, **{physical: "col-1"}), _field("other", **{physical: "new"})]
    domain = _domain("delta.clustering", '{"clusteringColumns":[["col-1","col-2"],"new",["gone"]]}')
    place = _table(tmp_path / "t", schema, domain, **{"delta.columnMapping.mode": "name"})
    found = [rule for rule in _rules(place) if rule["rule"] == "clustering"]
    assert [rule.get("column") for rule in found] == ["new.`in ner`", "other", None]
    assert "not a column of the schema" in found[2]["text"]


@pytest.mark.rule("clustering-config-json")
@pytest.mark.parametrize(
    "text", ["", "5", "{}", '{"clusteringColumns":[5]}', '{"clusteringColumns":[[]]}']
)
def test_clustering_that_cannot_be_read_says_so(text: str, tmp_path: Path) -> None:
    assert clustering_columns(text) is None
    place = _table(tmp_path / "t", [_field("a")], _domain("delta.clustering", text))
    found = [rule for rule in _rules(place) if rule["rule"] == "clustering"]
    assert [rule["text"] for rule in found] == ["its columns cannot be read"]


def test_path_through_something_else_than_structs_is_no_column() -> None:
    schema = parse_schema(json.dumps({"type": "struct", "fields": [_field("a")]}))
    assert logical_path(("a",), schema, "none") == "a"
    assert logical_path(("a", "b"), schema, "none") is None


@pytest.mark.rule("older-001-high-water-mark-action", "older-001-high-water-mark-field")
@pytest.mark.rule("older-001-recon-at-most-one-high-water-mark")
@pytest.mark.rule("older-001-recon-latest-high-water-mark", "row-high-water-mark-spellings")
@pytest.mark.parametrize(
    ("actions", "mark"),
    [
        ([_domain("delta.rowTracking", '{"rowIdHighWaterMark":7}')], 7),
        ([_domain("delta.rowTracking", '{"highWaterMark":8}')], 8),
        ([{"rowIdHighWaterMark": {"highWaterMark": 9}}], 9),
        (
            [
                {"rowIdHighWaterMark": {"highWaterMark": 1}},
                {"rowIdHighWaterMark": {"highWaterMark": 2}},
            ],
            2,
        ),
        (
            [
                _domain("delta.rowTracking", '{"rowIdHighWaterMark":7}'),
                {"rowIdHighWaterMark": {"highWaterMark": 9}},
            ],
            7,
        ),
        ([{"rowIdHighWaterMark": {"highWaterMark": "9"}}], None),
        ([{"rowIdHighWaterMark": 9}], None),
        ([_domain("delta.rowTracking", "{}")], None),
        ([_domain("delta.rowTracking", '{"rowIdHighWaterMark":18446744073709551616}')], None),
        ([], None),
    ],
)
def test_high_water_mark_in_every_spelling(
    actions: list[dict[str, Any]], mark: int | None, tmp_path: Path
) -> None:
    place = _table(tmp_path / "t", [_field("a")], *actions)
    assert explorer.open_table(place).snapshot().row_id_high_water_mark == mark
    rule = next(rule for rule in _rules(place) if rule["rule"] == "row tracking")
    assert rule.get("high_water_mark") == mark


@pytest.mark.rule("older-001-high-water-mark-action")
@pytest.mark.parametrize(
    ("column", "mark"),
    [
        (pa.struct([("highWaterMark", pa.int64())]), 9),
        (pa.struct([("other", pa.int64())]), None),
        (pa.int64(), None),
    ],
    ids=str,
)
def test_high_water_mark_action_in_a_checkpoint(
    column: pa.DataType, mark: int | None, tmp_path: Path
) -> None:
    place = _table(tmp_path / "t", [_field("a")])
    lines = (place / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    body = {"highWaterMark": 9} if pa.types.is_struct(column) else 9
    checkpoint = place / "_delta_log" / f"{0:020}.checkpoint.parquet"
    write_parquet(
        checkpoint,
        [*map(json.loads, lines), {"rowIdHighWaterMark": body}],
        columns={**CHECKPOINT_COLUMNS, "rowIdHighWaterMark": column},
    )
    snapshot = explorer.open_table(place).snapshot()
    assert snapshot.problems == ()
    assert snapshot.segment.checkpoint is not None
    assert snapshot.row_id_high_water_mark == mark


@pytest.mark.rule("row-high-water-mark-spellings")
def test_high_water_mark_of_negative_and_broken_domains() -> None:
    assert parse_domain_high_water_mark('{"rowIdHighWaterMark":-1}') == -1
    assert parse_domain_high_water_mark("{") is None
    assert parse_domain_high_water_mark("[1]") is None


@pytest.mark.rule("column-check-listed-7", "iceberg-v1-enabled", "iceberg-v2-listed")
@pytest.mark.rule("newer-checkpoint-protection-property")
def test_rules_of_the_table_follow_its_properties(tmp_path: Path) -> None:
    place = _table(
        tmp_path / "t",
        [_field("a")],
        **{
            "delta.appendOnly": "true",
            "delta.enableIcebergCompatV1": "true",
            "delta.enableIcebergCompatV2": "true",
            "delta.requireCheckpointProtectionBeforeVersion": "12",
            "delta.constraints.c": "a > 0",
        },
    )
    found = {(rule["rule"], rule.get("name")): rule for rule in _rules(place)}
    assert found["append only", None]["binds"]
    assert found["iceberg compatibility", "icebergCompatV1"]["binds"]
    assert not found["iceberg compatibility", "icebergCompatV2"]["binds"]
    assert not found["check", "c"]["binds"]
    assert "before version 12" in found["checkpoint protection", None]["text"]
    assert ("iceberg compatibility", "icebergCompatV3") not in found


def test_refused_table_does_not_guess_what_domains_say(tmp_path: Path) -> None:
    place = _table(tmp_path / "t", [_field("a")], reader=("somethingNew",))
    found = {rule["rule"]: rule for rule in _rules(place)}
    assert "not known" in found["clustering"]["text"]
    assert "not known" in found["row tracking"]["text"]


@pytest.mark.rule("column-default-key", "column-generated-key", "column-identity-start")
@pytest.mark.rule("column-identity-step")
def test_schema_shows_the_rules_beside_their_columns(corpus: Path) -> None:
    frame = look.schema(explorer.open_table(corpus / "tables" / "spark44-columns-with-rules"))
    rules = dict(zip(frame["path"].to_pylist(), frame["rules"].to_pylist(), strict=True))
    assert rules["day"] == "generated as CAST(ts AS DATE)"
    assert rules["note"] == "default 'none'"
    assert rules["pk"].startswith("identity: start 100, step 10")
    assert rules["amount"] is None


def test_lengths_of_text_are_shown_beside_their_columns_and_among_the_rules(
    tmp_path: Path,
) -> None:
    key = "__CHAR_VARCHAR_TYPE_STRING"
    texts = {"type": "array", "elementType": "string", "containsNull": True}
    inner = {"type": "struct", "fields": [_field("in.ner", texts)]}
    place = _table(
        tmp_path / "t",
        [
            _field("v", "string", **{key: "varchar(3)"}),
            _field("s", inner, **{key: "struct<in.ner:array<char(2)>>"}),
            _field("odd", "string", **{key: "varchar(much)"}),
        ],
    )
    rules = look.schema(explorer.open_table(place)).to_pylist()
    assert {row["path"]: row["rules"] for row in rules} == {
        "v": "varchar(3)",
        "s": None,
        "s.`in.ner`": "element: char(2)",
        "odd": "a length that cannot be read",
    }
    frame = writer_rules(explorer.open_table(place)).to_pylist()
    told = [(row["column"], row["text"], row["binds"]) for row in frame if row["source"] == key]
    assert told == [
        ("v", "varchar(3)", True),
        ("s.`in.ner`.element", "char(2)", True),
        ("odd", None, True),
    ]
