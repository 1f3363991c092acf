"""Table features: what a protocol supports, what is active, and who may read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from explorer.protocol.actions import Metadata, Protocol, parse_metadata, parse_protocol
from explorer.protocol.features.column_mapping import (
    column_mapping_mode,
    validate_mapping,
)
from explorer.protocol.features.registry import (
    FEATURES,
    active_features,
    find_feature,
    is_active,
    is_supported,
    supported_features,
    validate_reader,
)
from explorer.protocol.features.type_widening import (
    validate_type_changes,
)
from explorer.protocol.schema import (
    ArrayType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
    parse_type_name,
)

TRULY_UNKNOWN = {"liquid", "catalogOwned"}
WRITERS_1_TO_6 = {
    1: (),
    2: ("appendOnly", "invariants"),
    3: ("appendOnly", "invariants", "checkConstraints"),
    4: ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"),
}


def protocol(reader=3, writer=7, readers=(), writers=()):
    return Protocol(
        min_reader_version=reader,
        min_writer_version=writer,
        reader_features=None if readers is None else tuple(readers),
        writer_features=None if writers is None else tuple(writers),
    )


def by_number(reader, writer):
    return protocol(reader, writer, None, None)


def listing(*names):
    return protocol(readers=names, writers=names)


def table(configuration=None, *fields):
    return (
        Metadata(id="t", configuration=configuration or {}),
        StructType(fields=fields),
    )


def column(name="a", kind="long", **metadata: Any):
    return StructField(name=name, data_type=parse_type_name(kind), metadata=metadata)


# ── the registry ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("item", FEATURES.values(), ids=lambda item: item.name)
def test_every_entry_is_complete(item):
    assert FEATURES[item.name] is item
    assert item.description.endswith(".")
    assert item.spec
    assert (item.legacy_min_reader is None) or item.kind == "reader-writer"
    assert item.reads or item.kind == "reader-writer", "writers' features never block reading"
    assert all(needed in FEATURES for needed in item.requires)
    assert all(find_feature(alias) is item for alias in item.aliases)


@pytest.mark.rule("feature-name-reader-writer", "feature-name-writer-only", "newer-registry")
def test_every_feature_of_the_engines_file_has_an_entry_of_its_kind(corpus):
    path = corpus.parent / "compat" / "engines.yaml"
    if not path.is_file():
        pytest.skip(f"no {path}")
    for name, entry in yaml.safe_load(path.read_text(encoding="utf-8"))["features"].items():
        item = FEATURES[name]
        assert item.kind == entry["kind"], name
        legacy = entry.get("legacy_version")
        assert item.legacy_min_writer == (legacy["writer"] if legacy else None), name
        assert (item.legacy_min_reader or 1) == (legacy["reader"] if legacy else 1), name


@pytest.mark.rule("older-001-invariant-name", "older-001-ntz-name")
@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("columnInvariants", "invariants"),
        ("timestampNTZ", "timestampNtz"),
        ("DeletionVectors", "deletionVectors"),
        ("catalogOwned-preview", "catalogOwned-preview"),
    ],
)
def test_old_spellings_are_found(spelling, name):
    assert find_feature(spelling) is FEATURES[name]


@pytest.mark.parametrize("name", ["liquid", "catalogOwned", "", "deletionVectors "])
def test_other_names_are_not_known(name):
    assert find_feature(name) is None


# ── supported ────────────────────────────────────────────────────────────────


@pytest.mark.rule("column-append-only-writer-versions", "column-check-3-to-6")
@pytest.mark.rule("column-generated-4-to-6", "column-identity-6-or-7", "column-invariant-2-to-6")
@pytest.mark.rule("feature-below-7-number-supports", "feature-writer-version-2")
@pytest.mark.rule("feature-writer-version-4", "feature-writer-version-5")
@pytest.mark.rule("feature-writer-version-6", "feature-writer-version-inherit")
@pytest.mark.rule("mapping-support-writers", "older-003-protocol-versions-only")
@pytest.mark.rule("older-004-writer-version-by-version")
@pytest.mark.parametrize("writer", range(7))
@pytest.mark.parametrize("reader", [1, 2])
def test_below_seven_the_number_alone_gives_support(reader, writer):
    expected = list(WRITERS_1_TO_6.get(min(writer, 4), ()))
    if reader == 2 and writer >= 5:
        expected.append("columnMapping")
    if writer >= 6:
        expected.append("identityColumns")
    assert list(supported_features(by_number(reader, writer))) == expected


@pytest.mark.rule("column-append-only-listed-7", "column-invariant-listed-7")
@pytest.mark.rule("feature-nothing-inherited-at-7", "feature-writer-version-7")
def test_on_writer_version_seven_nothing_is_inherited():
    assert supported_features(protocol(1, 7, None, ())) == ()
    assert supported_features(protocol(2, 7, None, ["appendOnly"])) == ("appendOnly",)
    assert supported_features(by_number(2, 7)) == ()
    assert not is_supported(protocol(1, 7, None, ["appendOnly"]), "invariants")


def test_at_reader_version_three_mapping_is_not_inherited_by_an_old_writer_version():
    assert "columnMapping" not in supported_features(protocol(3, 5, [], None))
    assert "generatedColumns" in supported_features(protocol(3, 5, [], None))


@pytest.mark.rule("feature-supported-def")
def test_both_lists_count_in_registry_order_with_unknown_names_last():
    found = supported_features(
        protocol(
            readers=["zeta", "timestampNTZ"], writers=["timestampNtz", "alpha", "columnInvariants"]
        )
    )
    assert found == ("invariants", "timestampNtz", "zeta", "alpha")


@pytest.mark.rule("feature-supported-def", "older-001-feature-enabled-word", "older-001-ntz-name")
def test_a_feature_is_supported_under_any_of_its_spellings():
    assert is_supported(listing("timestampNTZ"), "timestampNtz")
    assert is_supported(listing("timestampNtz"), "timestampNTZ")
    assert is_supported(listing("mystery"), "mystery")
    assert not is_supported(listing("mystery"), "Mystery")
    assert not is_supported(listing("typeWidening-preview"), "typeWidening")


# ── active ───────────────────────────────────────────────────────────────────

NTZ = ArrayType(element_type=PrimitiveType(name="timestamp_ntz"), contains_null=True)
NESTED_NTZ = StructField(
    name="m",
    data_type=MapType(
        key_type=PrimitiveType(name="string"),
        value_type=StructType(fields=(StructField(name="x", data_type=NTZ),)),
        value_contains_null=True,
    ),
)


@pytest.mark.rule("column-append-only-listed-7", "column-check-listed-7", "column-default-listed")
@pytest.mark.rule("column-generated-listed-7", "column-invariant-listed-7", "feature-active-def")
@pytest.mark.rule("feature-name-icebergcompatv2-missing", "feature-supported-not-active")
@pytest.mark.rule("iceberg-v1-enabled", "iceberg-v1-listed", "iceberg-v2-enabled")
@pytest.mark.rule("iceberg-v2-listed", "newer-commit-timestamp-writer-feature")
@pytest.mark.rule("newer-variant-features", "newer-widening-feature", "older-001-append-property")
@pytest.mark.rule("older-001-feature-disabled", "row-enabled")
@pytest.mark.parametrize(
    ("name", "configuration", "fields"),
    [
        ("appendOnly", {"delta.appendOnly": "true"}, ()),
        ("invariants", {}, (column(**{"delta.invariants": "{}"}),)),
        ("checkConstraints", {"delta.constraints.positive": "a > 0"}, ()),
        ("changeDataFeed", {"delta.enableChangeDataFeed": "true"}, ()),
        ("changeDataFeed", {"delta.enableChangeDataCapture": "true"}, ()),
        ("generatedColumns", {}, (column(**{"delta.generationExpression": "b + 1"}),)),
        ("columnMapping", {"delta.columnMapping.mode": "id"}, ()),
        ("columnMapping", {"delta.columnMapping.mode": "name"}, ()),
        ("identityColumns", {}, (column(**{"delta.identity.start": 1}),)),
        ("allowColumnDefaults", {}, (column(CURRENT_DEFAULT="5"),)),
        ("deletionVectors", {"delta.enableDeletionVectors": "true"}, ()),
        ("rowTracking", {"delta.enableRowTracking": "true"}, ()),
        ("timestampNtz", {}, (column(kind="timestamp_ntz"),)),
        ("timestampNtz", {}, (NESTED_NTZ,)),
        ("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}, ()),
        ("inCommitTimestamp-preview", {"delta.enableInCommitTimestamps-preview": "true"}, ()),
        ("typeWidening", {"delta.enableTypeWidening": "true"}, ()),
        ("typeWidening", {}, (column(**{"delta.typeChanges": []}),)),
        ("typeWidening-preview", {"delta.enableTypeWidening": "true"}, ()),
        ("variantType", {}, (column(kind="variant"),)),
        ("variantType-preview", {}, (column(kind="variant"),)),
        ("variantShredding", {"delta.enableVariantShredding": "true"}, ()),
        ("variantShredding-preview", {"delta.enableVariantShredding": "true"}, ()),
        ("icebergCompatV1", {"delta.enableIcebergCompatV1": "true"}, ()),
        ("icebergCompatV2", {"delta.enableIcebergCompatV2": "true"}, ()),
        ("icebergCompatV3", {"delta.enableIcebergCompatV3": "true"}, ()),
        ("icebergWriterCompatV1", {"delta.enableIcebergWriterCompatV1": "true"}, ()),
        ("icebergWriterCompatV3", {"delta.enableIcebergWriterCompatV3": "true"}, ()),
        ("collations", {}, (column(kind="string", __COLLATIONS={"a": "ICU.de"}),)),
        ("geospatial", {}, (column(kind="geography(OGC:CRS84, spherical)"),)),
        ("geospatial", {}, (column(kind="geometry"),)),
        ("timestampNanos", {}, (column(kind="timestamp_nanos_ntz"),)),
        (
            "coordinatedCommits-preview",
            {"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"},
            (),
        ),
    ],
)
def test_a_feature_is_active_when_supported_and_used_and_only_then(name, configuration, fields):
    metadata, schema = table(configuration, *fields)
    unused, plain = table({}, column())
    assert is_active(name, listing(name), metadata, schema)
    assert not is_active(name, listing(name), unused, plain), "supported, but not used"
    assert not is_active(name, listing(), metadata, schema), "used, but not supported"


@pytest.mark.rule("feature-active-def", "newer-catalog-feature")
@pytest.mark.parametrize(
    "name",
    [
        "domainMetadata",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "catalogManaged",
        "catalogOwned-preview",
        "checkpointProtection",
        "materializePartitionColumns",
    ],
)
def test_a_feature_without_metadata_requirements_is_active_when_supported(name):
    metadata, schema = table()
    assert is_active(name, listing(name), metadata, schema)
    assert not is_active(name, listing(), metadata, schema)


@pytest.mark.rule("clustering-def", "feature-active-def")
@pytest.mark.parametrize(
    ("domains", "expected"),
    [
        ({"delta.clustering": '{"clusteringColumns":[["id"]]}'}, True),
        ({"delta.clustering": '{"clusteringColumns":[]}'}, False),
        ({"other": '{"clusteringColumns":[["id"]]}'}, False),
        ({}, False),
        (None, False),
    ],
)
def test_clustering_is_active_where_its_domain_names_a_column(domains, expected):
    metadata, schema = table()
    assert is_active("clustering", listing("clustering"), metadata, schema, domains) is expected
    assert not is_active("clustering", listing(), metadata, schema, domains)


@pytest.mark.parametrize("text", ["false", "1", "yes", ""])
def test_only_the_word_true_activates(text):
    metadata, schema = table({"delta.appendOnly": text})
    assert not is_active("appendOnly", by_number(1, 2), metadata, schema)


def test_a_schema_that_cannot_be_read_leaves_the_rules_of_properties():
    metadata, _ = table({"delta.appendOnly": "true"})
    supported = by_number(1, 6)
    assert active_features(supported, metadata, None) == ("appendOnly",)


def test_active_features_agree_with_is_active():
    metadata, schema = table({"delta.enableDeletionVectors": "true"}, column(kind="variant"))
    supported = listing("deletionVectors", "variantType", "rowTracking", "mystery")
    active = active_features(supported, metadata, schema)
    assert active == ("deletionVectors", "variantType")  # of a mystery nobody can tell
    assert active == tuple(
        name
        for name in supported_features(supported)
        if is_active(name, supported, metadata, schema)
    )


# ── the corpus ───────────────────────────────────────────────────────────────


def manifest(corpus: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((corpus / "manifest.json").read_text("utf-8"))
    return entries


def actions(corpus: Path, name: str, kind: str) -> Iterator[tuple[str, Any]]:
    """The actions of one kind in the commits of a table, oldest first."""
    for log in sorted((corpus / "tables" / name / "_delta_log").glob("*.json")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if f'"{kind}"' in line and kind in (action := json.loads(line)):
                yield log.name, action[kind]


def protocol_at_the_end(entry: dict[str, Any]) -> Protocol | None:
    if entry["min_reader"] is None:
        return None
    return protocol(
        entry["min_reader"],
        entry["min_writer"],
        entry["reader_features"],
        entry["writer_features"],
    )


@pytest.mark.rule("feature-name-reader-writer", "feature-name-writer-only")
def test_every_protocol_in_the_corpus_is_known_but_for_two_names(corpus):
    unknown = set()
    seen = 0
    for entry in manifest(corpus):
        found = [
            parse_protocol(body, name) for name, body in actions(corpus, entry["name"], "protocol")
        ]
        for item in filter(None, (*found, protocol_at_the_end(entry))):
            seen += 1
            unknown.update(n for n in supported_features(item) if find_feature(n) is None)
    assert unknown == TRULY_UNKNOWN
    assert seen > 250


@pytest.mark.rule("feature-reader-all")
def test_the_corpus_tables_are_refused_exactly_where_the_manifest_says(corpus):
    for entry in manifest(corpus):
        item = protocol_at_the_end(entry)
        if item is None:
            continue
        expected = entry.get("error_kind") or ""
        protocol_forbids = expected.startswith(("unsupported reader", "catalog-managed"))
        problems = [problem.problem for problem in validate_reader(item)]
        assert bool(problems) == protocol_forbids, entry["name"]
        assert not problems or expected in problems[0], entry["name"]


@pytest.mark.rule("feature-active-def")
def test_the_features_that_a_corpus_table_uses_are_active(corpus):
    tags = {
        "spark44-mapping-id-mode": {"columnMapping"},
        "kernel-table-with-geo": {"geospatial"},
        "kernel-unshredded-variant": {"variantType-preview"},
        "golden-type-widening": {"typeWidening-preview", "timestampNtz"},
        "golden-table-with-icebegCompatV2Enabled": {"columnMapping", "icebergCompatV2"},
    }
    by_name = {entry["name"]: entry for entry in manifest(corpus)}
    for name, expected in tags.items():
        supported = protocol_at_the_end(by_name[name])
        *_, (log, body) = actions(corpus, name, "metaData")
        metadata = parse_metadata(body, log)
        schema = parse_schema(metadata.schema_string)
        active = active_features(supported, metadata, schema)
        assert expected <= set(active), name
        assert set(active) <= set(supported_features(supported)), name
        assert validate_type_changes(schema) == [], name
        mode = column_mapping_mode(supported, metadata.configuration)
        assert validate_mapping(schema, mode) == [], name
