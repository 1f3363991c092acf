"""What single features ask of a commit: domains, clustering, Iceberg, rules for rows."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from explorer.protocol.actions import DomainMetadata, Transaction
from explorer.transaction.read_version import NO_TABLE, ReadVersion
from explorer.transaction.staged import Promises, StagedCommit, ValidatedRule
from tests.unit.transaction.stages import (
    METADATA,
    PLAIN,
    add,
    base,
    features,
    field,
    mapped,
    metadata,
    numbered,
    only,
    remove,
    schema,
    stage,
    texts,
    vector,
)

AGAIN = Promises(recommits=True)


PARTITIONED = metadata(partition_columns=("day",))
ROWS = features("rowTracking", "domainMetadata")
DV = features(readers=["deletionVectors"])
DV_ON = metadata({"delta.enableDeletionVectors": "true"})
WIDE = '{"numRecords":10,"tightBounds":false}'


def hidden(stats: str | None = WIDE, **fields: object) -> dict:
    return {"deletion_vector": vector(**fields), "stats": stats}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "level", "refused"),
    [
        (None, "Serializable", False),
        (None, "WriteSerializable", True),
        (None, "SnapshotIsolation", True),
        ("WriteSerializable", "WriteSerializable", False),
        ("WriteSerializable", "SnapshotIsolation", True),
    ],
)
def test_a_commit_that_changes_rows_keeps_the_isolation_of_the_table(
    asked: str | None, level: str, refused: bool
) -> None:
    read = base(PLAIN, metadata({} if asked is None else {"delta.isolationLevel": asked}))
    for changing in (add(), remove()):
        found = texts(stage(changing, upon=read, isolation_level=level))
        assert ["isolation level" in text for text in found] == [True] * refused
    still = (remove(data_change=False), add(data_change=False))
    assert texts(stage(*still, upon=read, isolation_level=level)) == []


def domain(name: str, configuration: str = "{}", *, removed: bool = False) -> DomainMetadata:
    return DomainMetadata(domain=name, configuration=configuration, removed=removed)


@pytest.mark.rule("action-domain-feature-listed", "action-domain-writer-7")
@pytest.mark.rule("action-domain-writer-only-understood", "action-domain-system-controlled")
@pytest.mark.rule("action-domain-user-controlled")
def test_a_domain_is_supported_and_understood() -> None:
    read = base(features("domainMetadata"))
    assert texts(stage(domain("mine"), upon=read)) == []
    assert "does not support" in only(stage(domain("mine")))
    assert "not known here" in only(stage(domain("delta.novelty"), upon=read))
    assert "mark of row ids" in only(stage(domain("delta.rowTracking"), upon=base(ROWS)))


@pytest.mark.rule("action-domain-writer-no-user-delete")
@pytest.mark.parametrize("removed", [False, True], ids=["changed", "removed"])
def test_no_user_changes_or_removes_what_a_feature_keeps(removed: bool) -> None:
    held = clustering("id")
    read = base(CLUSTERED, domains={held.domain: held})
    wanted = replace(held, removed=True) if removed else clustering()
    assert "no user's to change" in only(stage(wanted, upon=read))
    assert texts(stage(wanted, upon=read, promises=BY_ITS_FEATURE)) == []
    if removed:
        ids = domain("delta.rowTracking", removed=True)
        assert "no user's to change" in only(stage(ids, upon=base(ROWS)))


@pytest.mark.rule("action-domain-removed-preimage")
def test_a_domain_that_goes_says_what_it_was() -> None:
    read = base(features("domainMetadata"), domains={"mine": domain("mine", "was")})
    assert texts(stage(domain("mine", "was", removed=True), upon=read)) == []
    assert "another configuration" in only(stage(domain("mine", "", removed=True), upon=read))


CLUSTERED = features("clustering", "domainMetadata")
BY_ITS_FEATURE = Promises(kept_domains=frozenset({"delta.clustering"}))


def clustering(*columns: str) -> DomainMetadata:
    body = {"clusteringColumns": [[name] for name in columns]}
    return domain("delta.clustering", orjson.dumps(body).decode())


def with_statistics(named: DomainMetadata) -> Promises:
    """By the operation of the feature, which looked for statistics in every file."""
    found = ValidatedRule(key="delta.clustering", expression=named.configuration)
    return replace(BY_ITS_FEATURE, validated=frozenset({found}))


@pytest.mark.rule("clustering-writer-7", "clustering-domain", "clustering-config-json")
@pytest.mark.rule("clustering-not-with-partition", "clustering-no-partition")
def test_clustering_columns_are_columns_of_a_table_without_partitions() -> None:
    read = base(CLUSTERED)

    def naming(named: DomainMetadata, upon: ReadVersion = read) -> StagedCommit:
        return stage(named, upon=upon, promises=with_statistics(named))

    assert texts(naming(clustering("id"))) == []
    assert "not in the schema: `nowhere`" in only(naming(clustering("nowhere")))
    assert "cannot be read" in only(naming(domain("delta.clustering")))
    assert "without the feature" in only(naming(clustering("id"), base(features("domainMetadata"))))
    assert "partitioned at the same time" in only(
        naming(clustering("id"), base(CLUSTERED, PARTITIONED))
    )


@pytest.mark.rule("clustering-new-column-stats")
def test_a_column_joins_the_clustering_once_every_file_has_statistics_of_it() -> None:
    one, both = clustering("id"), clustering("id", "day")
    read = base(CLUSTERED, domains={one.domain: one})
    assert "`day` would join" in only(stage(both, upon=read, promises=BY_ITS_FEATURE))
    assert texts(stage(both, upon=read, promises=with_statistics(both))) == []
    # found for other columns, or found of those that are there
    other = with_statistics(one)
    assert "`day` would join" in only(stage(both, upon=read, promises=other))
    held = base(CLUSTERED, domains={both.domain: both})
    assert texts(stage(one, upon=held, promises=BY_ITS_FEATURE)) == []
    new = stage(CLUSTERED, METADATA, both, upon=NO_TABLE, promises=BY_ITS_FEATURE)
    assert texts(new) == []


@pytest.mark.rule("clustering-needs-domain")
def test_clustering_needs_domains() -> None:
    assert any("domainMetadata" in text for text in texts(stage(features("clustering"))))


@pytest.mark.rule("clustering-physical-names")
def test_clustering_columns_go_by_physical_names() -> None:
    protocol = features("clustering", "domainMetadata", readers=["columnMapping"])
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    read = base(protocol, metadata(properties, schema_string=schema(mapped("id", 1))))
    physical, logical = clustering("col-1"), clustering("id")
    assert texts(stage(physical, upon=read, promises=with_statistics(physical))) == []
    assert "not in the schema" in only(stage(logical, upon=read, promises=with_statistics(logical)))


@pytest.mark.rule("clustering-stats")
@pytest.mark.parametrize(
    ("stats", "refused"),
    [
        ('{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2},"nullCount":{"id":0}}', False),
        ('{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"id":2}}', False),
        ('{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"id":1}}', True),
        ('{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":2}}', True),
        ('{"numRecords":2}', True),
        (None, True),
    ],
)
def test_files_of_a_clustered_table_have_statistics_of_its_columns(
    stats: str | None, refused: bool
) -> None:
    read = base(CLUSTERED, domains={"delta.clustering": clustering("id")})
    found = texts(stage(add(stats=stats), upon=read))
    assert ["no statistics of `id`" in text for text in found] == [True] * refused


@pytest.mark.rule("clustering-stats")
@pytest.mark.parametrize(
    ("kind", "stats", "refused"),
    [
        ("double", '{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"id":1}}', False),
        ("float", '{"numRecords":2,"nullCount":{"id":0}}', False),
        ("double", '{"numRecords":2}', True),
        ("decimal(4,2)", '{"numRecords":2,"nullCount":{"id":0}}', True),
    ],
)
def test_only_a_column_that_may_hold_nan_needs_no_bounds_for_clustering(
    kind: str, stats: str, refused: bool
) -> None:
    fields = metadata(schema_string=schema(field("id", kind)))
    read = base(CLUSTERED, fields, domains={"delta.clustering": clustering("id")})
    assert bool(texts(stage(add(stats=stats), upon=read))) == refused


@pytest.mark.rule("clustering-provider", "file-add-clusteringprovider")
def test_only_a_clustered_table_has_files_that_someone_clustered() -> None:
    assert texts(stage(add(clustering_provider="liquid"), upon=base(CLUSTERED))) == []
    assert "without the feature" in only(stage(add(clustering_provider="liquid")))


def test_a_time_that_nobody_knows_cannot_be_followed() -> None:
    timed = metadata({"delta.enableInCommitTimestamps": "true"})
    read = base(features("inCommitTimestamp"), timed, timestamp=None)
    assert "Nobody knows when version 4" in only(stage(add(), upon=read))
    assert texts(stage(add(), upon=base(timestamp=None))) == []


def test_progress_that_may_expire_says_when_it_was_made() -> None:
    read = base(PLAIN, metadata({"delta.setTransactionRetentionDuration": "interval 7 days"}))
    assert "does not say when" in only(stage(Transaction(app_id="a", version=1), upon=read))
    assert texts(stage(Transaction(app_id="a", version=1, last_updated=5), upon=read)) == []


ICEBERG = features("icebergCompatV1", "icebergCompatV2", readers=["columnMapping"])


def compatible(version: int, *fields: dict, **properties: str):
    named = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    enabled = {f"delta.enableIcebergCompatV{version}": "true"}
    return metadata(named | enabled | properties, schema_string=schema(mapped("id", 1), *fields))


@pytest.mark.rule("iceberg-v1-numrecords", "iceberg-v2-numrecords", "iceberg-v1-enabled")
@pytest.mark.rule("iceberg-v2-enabled")
@pytest.mark.parametrize("version", [1, 2])
def test_iceberg_counts_the_rows_of_every_file(version: int) -> None:
    read = base(ICEBERG, compatible(version))
    assert texts(stage(add(), upon=read)) == []
    assert "numRecords" in only(stage(add(stats=None), upon=read))


@pytest.mark.rule("iceberg-v1-mapping-mode", "iceberg-v2-mapping-mode", "iceberg-v1-needs-mapping")
@pytest.mark.rule("iceberg-v2-needs-mapping")
@pytest.mark.parametrize("version", [1, 2])
def test_iceberg_needs_mapped_columns(version: int) -> None:
    enabled = {f"delta.enableIcebergCompatV{version}": "true"}
    assert "Column mapping is off" in only(stage(metadata(enabled), upon=base(ICEBERG)))


@pytest.mark.rule("iceberg-v1-no-dv", "iceberg-v2-no-active-dv", "iceberg-v2-not-v1")
def test_iceberg_does_without_deletion_vectors() -> None:
    both = features("icebergCompatV1", "icebergCompatV2", readers=["columnMapping"])
    both = replace(
        both,
        reader_features=("columnMapping", "deletionVectors"),
        writer_features=(*(both.writer_features or ()), "deletionVectors"),
    )
    assert "rule set 1 forbids" in only(stage(add(), upon=base(both, compatible(1))))
    assert texts(stage(add(), upon=base(both, compatible(2)))) == []
    on = {"delta.enableDeletionVectors": "true"}
    assert "rule set 2 forbids" in only(stage(add(), upon=base(both, compatible(2, **on))))
    old = add("a", **hidden(), data_change=False)
    assert "has a deletion vector" in only(stage(old, upon=base(both, compatible(2))))
    twice = compatible(1, **{"delta.enableIcebergCompatV2": "true"})
    assert "Both sets" in only(stage(add(), upon=base(ICEBERG, twice)))


LIST = {"type": "array", "elementType": "long", "containsNull": True}


@pytest.mark.rule("iceberg-v1-block-types", "iceberg-v2-type-allowlist", "iceberg-v2-nested-ids")
@pytest.mark.rule("iceberg-v2-nested-ids-storage")
def test_iceberg_takes_only_some_types() -> None:
    for version, kind, told in ((1, LIST, "`array`"), (1, "void", "`void`"), (2, "void", "`void`")):
        wrong = compatible(version, mapped("x", 2, kind=kind))
        assert told in only(stage(wrong, upon=base(ICEBERG, compatible(version))))
    bare = compatible(2, mapped("x", 2, kind=LIST))
    assert "have no ids" in only(stage(bare, upon=base(ICEBERG, compatible(2))))
    named = mapped("x", 2, kind=LIST)
    named["metadata"]["parquet.field.nested.ids"] = {"x.element": 3}
    assert texts(stage(compatible(2, named), upon=base(ICEBERG, compatible(2)))) == []


MAP = {"type": "map", "keyType": "integer", "valueType": LIST, "valueContainsNull": True}


@pytest.mark.rule("iceberg-v2-nested-ids", "iceberg-v2-nested-ids-keys")
@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ({"x.key": 3, "x.value": 4, "x.value.element": 5}, None),
        ({"col-2.key": 3, "col-2.value": 4, "col-2.value.element": 5}, None),
        ({"x.key": 3, "x.value": 4}, "have no ids"),
        ({"x.key": 3, "x.value": 4, "x.element": 5}, "have no ids"),
        ({"key": 3, "value": 4, "value.element": 5}, "have no ids"),
        ({"x.key": 3, "x.value": 4, "x.value.element": 4}, "given out twice: `4`"),
        ({"x.key": 1, "x.value": 4, "x.value.element": 5}, "given out twice: `1`"),
        ({"x.key": 2**31, "x.value": 4, "x.value.element": 5}, "no id of 32 bits"),
        ({"x.key": "3", "x.value": 4, "x.value.element": 5}, "no id of 32 bits"),
    ],
)
def test_what_lies_in_arrays_and_maps_has_ids_of_its_own_by_the_way_to_it(
    ids: dict[str, object], told: str | None
) -> None:
    column = mapped("x", 2, kind=MAP)
    column["metadata"]["parquet.field.nested.ids"] = ids
    staged = stage(compatible(2, column), upon=base(ICEBERG, compatible(2)))
    assert texts(staged) == [] if told is None else told in only(staged)


@pytest.mark.rule("iceberg-v1-materialize-partitions", "iceberg-v2-materialize-partitions")
@pytest.mark.parametrize("version", [1, 2])
def test_files_for_iceberg_hold_the_partition_columns(version: int) -> None:
    read = base(ICEBERG, replace(compatible(version), partition_columns=("id",)))
    new = add(partition_values={"col-1": "5"})
    staged = stage(new, upon=read)
    assert "hold the partition columns" in only(staged)
    assert texts(replace(staged, promises=Promises(holds_partition_columns=True))) == []
    assert texts(replace(staged, promises=AGAIN)) == []


@pytest.mark.rule("iceberg-v1-block-partition-rename", "iceberg-v2-block-partition-rename")
def test_a_table_for_iceberg_keeps_its_partition_columns() -> None:
    two = compatible(1, mapped("day", 2))
    read = base(ICEBERG, replace(two, partition_columns=("id",)))
    found = texts(stage(replace(two, partition_columns=("day",)), upon=read))
    assert any("partitions the table by other columns" in text for text in found)


CHECKED = metadata({"delta.constraints.positive": "id > 0"})
POSITIVE = ValidatedRule(key="delta.constraints.positive", expression="id > 0")


@pytest.mark.rule("column-check-new-rows", "column-check-key", "column-check-3-to-6")
@pytest.mark.rule("column-check-true-only", "column-check-listed-7", "feature-writer-version-3")
def test_new_rows_were_held_against_the_constraints() -> None:
    read = base(features("checkConstraints"), CHECKED)
    assert "`delta.constraints.positive` has to be true: id > 0" in only(stage(add(), upon=read))
    told = Promises(validated=frozenset({POSITIVE}))
    assert texts(stage(add(), upon=read, promises=told)) == []
    stale = Promises(validated=frozenset({replace(POSITIVE, expression="id > -1")}))
    assert texts(stage(add(), upon=read, promises=stale))
    assert texts(stage(add(), upon=base(features("appendOnly"), CHECKED))) == []
    old = replace(PLAIN, min_writer_version=3)
    assert texts(stage(add(), upon=base(old, CHECKED)))


def test_rows_that_only_move_meet_the_constraints_already() -> None:
    read = base(features("checkConstraints", readers=["deletionVectors"]), CHECKED)
    read = replace(read, metadata=metadata({**CHECKED.configuration, **DV_ON.configuration}))
    assert texts(stage(remove(data_change=False), add(data_change=False), upon=read)) == []
    assert texts(stage(remove("a"), upon=read)) == []
    assert texts(stage(remove("a"), add("a", **hidden()), upon=read)) == []
    assert texts(stage(add(), upon=read, promises=AGAIN)) == []
    assert texts(stage(remove("a"), add("b"), upon=read))


@pytest.mark.rule("column-check-add-validates")
def test_a_new_constraint_was_held_against_all_rows() -> None:
    read = base(features("checkConstraints"))
    assert "nobody validated" in only(stage(CHECKED, upon=read))
    told = Promises(validated=frozenset({POSITIVE}))
    assert texts(stage(CHECKED, upon=read, promises=told)) == []
    created = stage(features("checkConstraints"), CHECKED, upon=NO_TABLE)
    assert texts(created) == []


@pytest.mark.rule("column-invariant-abort", "column-generated-enforce", "column-identity-generate")
@pytest.mark.rule("column-invariant-key", "column-generated-key", "column-invariant-2-to-6")
@pytest.mark.parametrize(
    ("feature", "column", "key", "expression"),
    [
        (
            "invariants",
            field("n", **{"delta.invariants": '{"expression":{"expression":"n > 3"}}'}),
            "n delta.invariants",
            "n > 3",
        ),
        (
            "generatedColumns",
            field("n", **{"delta.generationExpression": "id + 1"}),
            "n delta.generationExpression",
            "id + 1",
        ),
        ("identityColumns", orjson.loads(numbered(5))["fields"][0], "n delta.identity.*", ""),
        ("domainMetadata", field("n", nullable=False), "n nullable", ""),
    ],
    ids=["invariant", "generated", "identity", "not null"],
)
def test_new_rows_were_held_against_the_rules_of_columns(
    feature: str, column: dict, key: str, expression: str
) -> None:
    read = base(features(feature), metadata(schema_string=schema(column)))
    staged = stage(add(), upon=read)
    assert "`n`" in only(staged)
    rule = ValidatedRule(key=key, expression=expression)
    assert texts(replace(staged, promises=Promises(validated=frozenset({rule})))) == []
    if feature != "domainMetadata":  # without its feature a rule means nothing
        other = base(features("appendOnly"), read.metadata or METADATA)
        assert texts(stage(add(), upon=other)) == []
