"""What single features ask of a commit: domains, clustering, Iceberg, rules for rows."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from explorer.protocol.actions import DomainMetadata, Metadata, Transaction
from explorer.transaction.read_set import NOTHING, WHOLE_TABLE
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
    assert "not for users to change" in only(stage(wanted, upon=read))
    assert texts(stage(wanted, upon=read, promises=BY_ITS_FEATURE)) == []
    if removed:
        ids = domain("delta.rowTracking", removed=True)
        assert "not for users to change" in only(stage(ids, upon=base(ROWS)))


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


def with_statistics(named: DomainMetadata, upon: ReadVersion) -> StagedCommit:
    """By the operation of the feature, which looked for statistics in every file."""
    found = ValidatedRule(key="delta.clustering", expression=named.configuration)
    promises = replace(BY_ITS_FEATURE, validated=frozenset({found}))
    return stage(named, upon=upon, promises=promises, reads=WHOLE_TABLE)


@pytest.mark.rule("clustering-writer-7", "clustering-domain", "clustering-config-json")
@pytest.mark.rule("clustering-not-with-partition", "clustering-no-partition")
def test_clustering_columns_are_columns_of_a_table_without_partitions() -> None:
    read = base(CLUSTERED)

    def naming(named: DomainMetadata, upon: ReadVersion = read) -> StagedCommit:
        return with_statistics(named, upon)

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
    found = with_statistics(both, read)
    assert texts(found) == []
    # found for other columns, or found of those that are there
    other = replace(found, promises=with_statistics(one, read).promises)
    assert "`day` would join" in only(other)
    # files may come meanwhile that nobody looked at
    assert "`day` would join" in only(replace(found, reads=NOTHING))
    for level in ("SnapshotIsolation", "WriteSerializable"):
        deaf = replace(found.provenance, isolation_level=level)
        assert "`day` would join" in only(replace(found, provenance=deaf))
    held = base(CLUSTERED, domains={both.domain: both})
    assert texts(stage(one, upon=held, promises=BY_ITS_FEATURE)) == []
    new = stage(CLUSTERED, METADATA, both, upon=NO_TABLE, promises=BY_ITS_FEATURE)
    assert texts(new) == []


@pytest.mark.rule("newer-variant-no-partition")
def test_no_table_is_clustered_by_a_variant() -> None:
    protocol = features("clustering", "domainMetadata", readers=["variantType"])
    inner = {"type": "struct", "fields": [field("v", "variant"), field("x")]}
    held = metadata(schema_string=schema(field("v", "variant"), field("s", inner)))
    read = base(protocol, held)
    named = clustering("v")
    assert "by variants: `v`" in only(with_statistics(named, read))
    body = orjson.dumps({"clusteringColumns": [["s", "x"], ["s", "v"]]}).decode()
    deep = domain("delta.clustering", body)
    assert "by variants: `s.v`" in only(with_statistics(deep, read))


@pytest.mark.rule("clustering-needs-domain")
def test_clustering_needs_domains() -> None:
    assert any("domainMetadata" in text for text in texts(stage(features("clustering"))))


@pytest.mark.rule("clustering-physical-names")
def test_clustering_columns_go_by_physical_names() -> None:
    protocol = features("clustering", "domainMetadata", readers=["columnMapping"])
    properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    read = base(protocol, metadata(properties, schema_string=schema(mapped("id", 1))))
    physical, logical = clustering("col-1"), clustering("id")
    assert texts(with_statistics(physical, read)) == []
    assert "not in the schema" in only(with_statistics(logical, read))


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
    assert "It is unknown when version 4" in only(stage(add(), upon=read))
    assert texts(stage(add(), upon=base(timestamp=None))) == []
    latest = 2**63 - 1
    assert "the latest time that there is" in only(
        stage(add(), upon=replace(read, timestamp=latest))
    )
    assert texts(stage(add(), upon=replace(read, timestamp=latest - 1))) == []
    assert texts(stage(add(), upon=base(timestamp=latest))) == []


def test_progress_that_may_expire_says_when_it_was_made() -> None:
    read = base(PLAIN, metadata({"delta.setTransactionRetentionDuration": "interval 7 days"}))
    assert "does not say when" in only(stage(Transaction(app_id="a", version=1), upon=read))
    assert texts(stage(Transaction(app_id="a", version=1, last_updated=5), upon=read)) == []


CHECKED = metadata({"delta.constraints.positive": "id > 0"})
POSITIVE = ValidatedRule(key="delta.constraints.positive", expression="id > 0")


@pytest.mark.rule("column-check-new-rows", "column-check-key")
@pytest.mark.rule("column-check-listed-7", "feature-writer-version-3")
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
    assert "the rows were not validated" in only(stage(CHECKED, upon=read))
    told = Promises(validated=frozenset({POSITIVE}))
    seen = stage(CHECKED, upon=read, promises=told, reads=WHOLE_TABLE)
    assert texts(seen) == []
    # a promise speaks of the rows that were seen, and others may come meanwhile
    assert "rows may be added that were not validated" in only(replace(seen, reads=NOTHING))
    deaf = replace(seen.provenance, isolation_level="SnapshotIsolation")
    assert "rows may be added that were not validated" in only(replace(seen, provenance=deaf))
    with_rows = stage(CHECKED, add(), upon=read, promises=told)
    assert "rows may be added that were not validated" in only(with_rows)
    assert texts(replace(with_rows, reads=WHOLE_TABLE)) == []
    created = stage(features("checkConstraints"), CHECKED, upon=NO_TABLE)
    assert texts(created) == []


@pytest.mark.rule("column-invariant-abort", "column-generated-enforce", "column-identity-generate")
@pytest.mark.rule("column-invariant-key", "column-generated-key", "column-invariant-json")
@pytest.mark.rule("older-004-invariant-bare-sql")
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
            "invariants",
            field("n", **{"delta.invariants": "n > 3"}),
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
    ids=["invariant", "bare invariant", "generated", "identity", "not null"],
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


INVARIANT = field("n", **{"delta.invariants": "n > 3"})
GENERATED = field("n", **{"delta.generationExpression": "id + 1"})


@pytest.mark.rule("column-invariant-2-to-6", "column-check-3-to-6", "column-generated-4-to-6")
@pytest.mark.rule("column-identity-6-or-7", "older-004-generated-columns")
@pytest.mark.rule("older-004-writer-version-by-version")
@pytest.mark.parametrize("writer", range(1, 7))
@pytest.mark.parametrize(
    ("table", "since"),
    [
        (metadata(schema_string=schema(INVARIANT)), 2),
        (CHECKED, 3),
        (metadata(schema_string=schema(GENERATED)), 4),
        (metadata(schema_string=numbered(5)), 6),
    ],
    ids=["invariant", "check", "generated", "identity"],
)
def test_below_seven_rules_for_rows_bind_by_the_number_alone(
    table: Metadata, since: int, writer: int
) -> None:
    read = base(replace(PLAIN, min_writer_version=writer), table)
    found = texts(stage(add(), upon=read))
    assert ["the rows were not validated" in text for text in found] == [True] * (writer >= since)


@pytest.mark.parametrize("kind", ["string", "timestamp", "date", "double"])
def test_bounds_that_no_text_can_say_may_be_missing(kind: str) -> None:
    """Of texts of the greatest letters, and times beyond the year 9999."""
    table = metadata(schema_string=schema(field("id", kind)))
    read = base(CLUSTERED, table, domains={"delta.clustering": clustering("id")})
    stats = '{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{"id":1}}'
    assert texts(stage(add(stats=stats), upon=read)) == []
    uncounted = '{"numRecords":2,"minValues":{},"maxValues":{},"nullCount":{}}'
    assert "no statistics of `id`" in only(stage(add(stats=uncounted), upon=read))


def test_files_that_come_back_were_judged_when_they_were_written() -> None:
    read = base(CLUSTERED, domains={"delta.clustering": clustering("id")})
    back = Promises(recommits=True)
    assert texts(stage(add(stats=None), upon=read, promises=back)) == []
