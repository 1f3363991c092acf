"""What a table's protocol and metadata forbid a commit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import UnsupportedError
from explorer.protocol.actions import DomainMetadata, Protocol, Transaction
from explorer.protocol.features.registry import supported_features
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.requirements import check_commit, validate_commit
from explorer.transaction.staged import Promises, ValidatedRule
from tests.unit.transaction.stages import (
    MAPPED,
    METADATA,
    PLAIN,
    add,
    base,
    features,
    field,
    metadata,
    only,
    remove,
    schema,
    stage,
    texts,
)


def test_an_append_to_a_plain_table_breaks_no_rule() -> None:
    assert texts(stage(add())) == []


def test_every_problem_is_told_at_once() -> None:
    appending = base(features("appendOnly", "novelty"), metadata({"delta.appendOnly": "true"}))
    found = texts(stage(remove(), remove(), upon=appending))
    assert len(found) == 3
    with pytest.raises(UnsupportedError) as caught:
        check_commit(stage(remove(), remove(), upon=appending))
    for text in found:
        assert text in caught.value.problem


@pytest.mark.rule("feature-writer-all", "newer-unknown-blocks", "action-protocol-features-decide")
@pytest.mark.rule("older-001-feature-must-implement-to-check")
@pytest.mark.parametrize("name", ["novelty", "icebergCompatV3", "redirectWriterOnly-preview"])
def test_a_feature_that_is_not_known_refuses_every_change_by_name(name: str) -> None:
    assert f"`{name}`" in only(stage(add(), upon=base(features(name))))
    assert f"`{name}`" in only(stage(upon=base(features(name))))


@pytest.mark.rule("feature-writer-reader-too")
def test_a_reader_feature_that_is_not_known_refuses_writing_too() -> None:
    assert "`novelty`" in only(stage(add(), upon=base(features(readers=["novelty"]))))


@pytest.mark.rule("newer-catalog-never-written")
@pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned-preview"])
def test_a_table_of_a_catalog_is_never_written(name: str) -> None:
    protocol = features("inCommitTimestamp", readers=[name])
    (found,) = validate_commit(stage(add(), upon=base(protocol)))
    assert found.kind == "catalog_managed"


@pytest.mark.rule("action-protocol-unsupported-error")
def test_a_newer_protocol_refuses() -> None:
    (found,) = validate_commit(stage(add(), upon=base(replace(PLAIN, min_writer_version=8))))
    assert "newer" in found.problem
    assert "with a newer release" in found.remedy


@pytest.mark.rule("metadata-first-version")
def test_the_first_commit_says_what_the_table_is() -> None:
    assert "metaData" in only(stage(PLAIN, upon=NO_TABLE))
    assert "protocol" in only(stage(METADATA, upon=NO_TABLE))
    assert texts(stage(PLAIN, METADATA, upon=NO_TABLE)) == []


@pytest.mark.rule("log-no-reconciling-pairs", "log-one-protocol", "metadata-at-most-one")
@pytest.mark.rule("log-one-txn-per-appid")
@pytest.mark.parametrize(
    "action",
    [
        PLAIN,
        METADATA,
        Transaction(app_id="a", version=1),
        DomainMetadata(domain="mine", configuration="", removed=False),
    ],
    ids=["protocol", "metaData", "txn", "domainMetadata"],
)
def test_what_reconciles_stands_once_in_a_commit(action) -> None:
    upon = base(features("domainMetadata")) if isinstance(action, DomainMetadata) else None
    assert texts(stage(action, upon=upon)) == []
    assert "2 times" in only(stage(action, action, upon=upon))


@pytest.mark.rule("feature-no-removal")
def test_a_protocol_loses_no_feature_unless_it_is_dropped() -> None:
    read = base(features("appendOnly", "domainMetadata"))
    staged = stage(features("appendOnly"), upon=read)
    assert "no longer has `domainMetadata`" in only(staged)
    dropping = Promises(dropped_features=frozenset({"domainMetadata"}))
    assert texts(replace(staged, promises=dropping)) == []


def test_a_protocol_is_never_lowered() -> None:
    read = base(Protocol(min_reader_version=1, min_writer_version=4))
    found = texts(stage(replace(PLAIN, min_writer_version=3), upon=read))
    assert any("lower" in text for text in found)
    # features listed by name stand for the number that had them
    listed = features("appendOnly", "invariants", "checkConstraints", "changeDataFeed")
    listed = replace(listed, writer_features=(*listed.writer_features, "generatedColumns"))
    assert texts(stage(listed, upon=read)) == []


@pytest.mark.rule("feature-writer7-requires-list", "feature-not-only-reader-list")
@pytest.mark.rule("feature-new-3-below-7", "feature-reader-version-3-writer-7")
@pytest.mark.rule("feature-reader3-requires-list", "feature-writer-or-both")
@pytest.mark.rule("feature-reader-in-both-lists")
@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(min_reader_version=1, min_writer_version=7),
        Protocol(min_reader_version=3, min_writer_version=6),
        Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=("deletionVectors",),
            writer_features=(),
        ),
        Protocol(min_reader_version=1, min_writer_version=7, writer_features=("deletionVectors",)),
        features("clustering"),
    ],
    ids=["no list", "reader 3 alone", "for readers alone", "for writers alone", "needs another"],
)
def test_a_protocol_that_contradicts_itself_is_not_written(protocol: Protocol) -> None:
    assert texts(stage(protocol, METADATA, upon=NO_TABLE))


@pytest.mark.rule("feature-new-3-7", "feature-reader3-requires-list")
def test_a_new_table_at_versions_that_list_features_has_both_lists() -> None:
    both = Protocol(
        min_reader_version=3, min_writer_version=7, reader_features=(), writer_features=()
    )
    assert texts(stage(both, METADATA, upon=NO_TABLE)) == []
    for one in ("reader_features", "writer_features"):
        lacking = replace(both, **{one: None})
        assert any("no list" in text for text in texts(stage(lacking, METADATA, upon=NO_TABLE)))


@pytest.mark.rule("row-writer-7", "iceberg-v1-writer-7", "iceberg-v2-writer-7")
@pytest.mark.parametrize("name", ["rowTracking", "icebergCompatV1", "icebergCompatV2"])
def test_no_number_below_seven_has_a_feature_that_is_named(name: str) -> None:
    numbered = Protocol(min_reader_version=2, min_writer_version=6)
    named = replace(numbered, writer_features=("columnMapping", "domainMetadata", name))
    found = texts(stage(named, upon=base(numbered)))
    assert any("only 7 may have one" in text for text in found)
    listed = replace(named, min_writer_version=7)
    promises = Promises(dropped_features=frozenset(supported_features(numbered)))
    assert texts(stage(listed, upon=base(numbered), promises=promises)) == []
    # without its feature the property of a numbered table begins what nobody would know of
    enabling = {f"delta.enable{name[0].upper()}{name[1:]}": "true"}
    found = texts(stage(metadata(enabling), upon=base(numbered)))
    assert any(f"begins to use `{name}`" in text for text in found)


@pytest.mark.rule("column-default-not-on-add-column", "column-default-set-later")
def test_a_column_comes_without_a_default_and_may_get_one_later() -> None:
    read = base(features("allowColumnDefaults"))
    plain, given = field("n"), field("n", CURRENT_DEFAULT="1")
    columns = (field("id"), field("day", "date"))
    with_plain, with_default = (
        metadata(schema_string=schema(*columns, column)) for column in (plain, given)
    )
    assert "with a default" in only(stage(with_default, upon=read))
    assert texts(stage(with_plain, upon=read)) == []
    assert texts(stage(with_default, upon=replace(read, metadata=with_plain))) == []
    assert texts(stage(features("allowColumnDefaults"), with_default, upon=NO_TABLE)) == []


@pytest.mark.rule("column-check-add-needs-support", "row-write-enable-feature-first")
@pytest.mark.rule("mapping-enable-7", "dv-protocol", "newer-commit-timestamp-writer-feature")
@pytest.mark.rule("iceberg-v1-listed", "iceberg-v2-listed", "column-append-only-listed-7")
@pytest.mark.rule("older-001-append-property", "cdf-writer-7")
@pytest.mark.parametrize(
    ("feature", "configuration"),
    [
        ("appendOnly", {"delta.appendOnly": "true"}),
        ("checkConstraints", {"delta.constraints.c": "id > 0"}),
        ("changeDataFeed", {"delta.enableChangeDataFeed": "true"}),
        ("columnMapping", {"delta.columnMapping.mode": "name"}),
        ("deletionVectors", {"delta.enableDeletionVectors": "true"}),
        ("rowTracking", {"delta.enableRowTracking": "true"}),
        ("inCommitTimestamp", {"delta.enableInCommitTimestamps": "true"}),
        ("typeWidening", {"delta.enableTypeWidening": "true"}),
        ("icebergCompatV1", {"delta.enableIcebergCompatV1": "true"}),
        ("icebergCompatV2", {"delta.enableIcebergCompatV2": "true"}),
        ("icebergCompatV3", {"delta.enableIcebergCompatV3": "true"}),
        ("icebergWriterCompatV1", {"delta.enableIcebergWriterCompatV1": "true"}),
        ("icebergWriterCompatV3", {"delta.enableIcebergWriterCompatV3": "true"}),
        ("inCommitTimestamp-preview", {"delta.enableInCommitTimestamps-preview": "true"}),
        ("v2Checkpoint", {"delta.checkpointPolicy": "v2"}),
        (
            "materializePartitionColumns",
            {"delta.enableMaterializePartitionColumnsFeature": "true"},
        ),
    ],
)
def test_a_property_needs_its_feature(feature: str, configuration: dict) -> None:
    validated = frozenset({ValidatedRule(key="delta.constraints.c", expression="id > 0")})
    staged = stage(
        metadata(configuration),
        upon=base(features("domainMetadata")),
        promises=Promises(validated=validated),
    )
    assert any(f"begins to use `{feature}`" in text for text in texts(staged))
    # one that was set before is not this commit's doing
    assert texts(stage(add(), upon=base(features("domainMetadata"), metadata(configuration)))) == []


def test_a_protocol_that_begins_to_list_features_lists_those_that_are_asked_for() -> None:
    """Its number alone keeps nobody from a table that asks for more; a list does."""
    configuration = {"delta.checkpointPolicy": "v2"}
    read = base(Protocol(min_reader_version=1, min_writer_version=2), metadata(configuration))
    legacy = ("appendOnly", "invariants")

    def listing(*names: str) -> Protocol:
        return Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=names,
            writer_features=(*legacy, *names),
        )

    checked = listing("vacuumProtocolCheck")
    assert any("asks for `v2Checkpoint`" in text for text in texts(stage(checked, upon=read)))
    assert texts(stage(listing("vacuumProtocolCheck", "v2Checkpoint"), upon=read)) == []
    listed = base(checked, metadata(configuration))  # which is as it is
    assert texts(stage(metadata({**configuration, "owner": "me"}), upon=listed)) == []


def test_a_feature_is_not_taken_from_a_table_that_still_asks_for_it() -> None:
    configuration = {"delta.enableMaterializePartitionColumnsFeature": "true"}
    read = base(features("materializePartitionColumns"), metadata(configuration))
    promises = Promises(dropped_features=frozenset({"materializePartitionColumns"}))
    without = features("domainMetadata")
    text = "begins to use `materializePartitionColumns`"
    assert any(text in found for found in texts(stage(without, upon=read, promises=promises)))
    done = stage(without, metadata(), upon=read, promises=promises)
    assert texts(done) == []


@pytest.mark.rule("schema-ntz-protocol", "column-default-listed", "column-generated-listed-7")
@pytest.mark.rule("column-invariant-listed-7", "column-identity-6-or-7", "column-default-key")
@pytest.mark.parametrize(
    ("feature", "column"),
    [
        ("timestampNtz", field("n", "timestamp_ntz")),
        ("variantType", field("n", "variant")),
        ("allowColumnDefaults", field("n", CURRENT_DEFAULT="1")),
        ("generatedColumns", field("n", **{"delta.generationExpression": "id + 1"})),
        ("invariants", field("n", **{"delta.invariants": "n > 1"})),
        ("identityColumns", field("n", **{"delta.identity.start": 1, "delta.identity.step": 1})),
    ],
)
def test_a_column_needs_its_feature(feature: str, column: dict) -> None:
    staged = stage(
        metadata(schema_string=schema(field("id"), field("day", "date"), column)),
        upon=base(features("domainMetadata")),
    )
    assert any(f"begins to use `{feature}`" in text for text in texts(staged))


@pytest.mark.rule("column-append-only-no-change", "column-append-only-rearrange")
@pytest.mark.rule("column-append-only-lift", "older-004-append-property-only")
@pytest.mark.rule("column-append-only-writer-versions", "feature-writer-version-2")
@pytest.mark.rule("feature-supported-check-property")
@pytest.mark.parametrize("protocol", [PLAIN, MAPPED, features("appendOnly")])
def test_an_append_only_table_loses_no_rows(protocol: Protocol) -> None:
    kept = metadata({"delta.appendOnly": "true"})
    read = base(protocol, kept)
    assert "append-only" in only(stage(remove(), upon=read))
    assert texts(stage(add(), upon=read)) == []
    rearranged = stage(remove(data_change=False), add(data_change=False), upon=read)
    assert texts(rearranged) == []
    for lifted in ({"delta.appendOnly": "false"}, {}):
        assert texts(stage(metadata(lifted), add(), upon=read)) == []
        assert "append-only" in only(stage(remove(), metadata(lifted), upon=read))
        free = base(protocol, metadata(lifted))
        assert texts(stage(remove(), upon=free)) == []
        # only what comes later is bound by it
        assert texts(stage(remove(), kept, upon=free)) == []
    assert texts(stage(remove(), upon=base(features("domainMetadata"), kept))) == []
