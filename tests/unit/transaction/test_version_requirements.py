"""Which version of a protocol asks for which rules, and where column mapping counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.protocol.commit_json import Action
from explorer.protocol.features.evolution import with_features
from explorer.transaction.read_version import NO_TABLE
from explorer.transaction.rules.clustering_rules import statistics_found
from explorer.transaction.staged import Promises
from tests.unit.transaction.stages import (
    MAPPED,
    METADATA,
    PLAIN,
    add,
    base,
    features,
    field,
    mapped,
    metadata,
    numbered,
    remove,
    schema,
    stage,
    texts,
)

INVARIANT = {"delta.invariants": '{"expression":{"expression":"n > 3"}}'}
MAPPING = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}


def reader_of(writer: int) -> int:
    """The reader version that tables of a writer version have."""
    return 2 if writer >= 5 else 1


@pytest.mark.rule("feature-writer-version-inherit", "feature-writer-version-7")
@pytest.mark.parametrize(
    ("since", "feature", "table", "action", "told"),
    [
        pytest.param(
            2,
            "appendOnly",
            metadata({"delta.appendOnly": "true"}),
            remove(),
            "append-only",
            marks=pytest.mark.rule("feature-writer-version-2", "feature-supported-check-property"),
        ),
        pytest.param(
            2,
            "invariants",
            metadata(schema_string=schema(field("n", **INVARIANT))),
            add(),
            "has an invariant",
            marks=pytest.mark.rule("feature-writer-version-2"),
        ),
        pytest.param(
            3,
            "checkConstraints",
            metadata({"delta.constraints.c": "id > 0"}),
            add(),
            "has to be true",
            marks=pytest.mark.rule("feature-writer-version-3"),
        ),
        pytest.param(
            4,
            "generatedColumns",
            metadata(schema_string=schema(field("n", **{"delta.generationExpression": "1"}))),
            add(),
            "is generated",
            marks=pytest.mark.rule("feature-writer-version-4"),
        ),
        pytest.param(
            5,
            "columnMapping",
            METADATA,
            metadata(MAPPING),
            "has no physical name",
            marks=pytest.mark.rule("feature-writer-version-5"),
        ),
        pytest.param(
            6,
            "identityColumns",
            metadata(schema_string=numbered(5)),
            add(),
            "filled with numbers of its own",
            marks=pytest.mark.rule("feature-writer-version-6"),
        ),
    ],
    ids=["append-only", "invariant", "constraint", "generated", "mapping", "identity"],
)
def test_number_asks_for_what_came_with_it_and_before_it_and_seven_for_what_is_listed(
    since: int, feature: str, table: Metadata, action: Action, told: str
) -> None:
    def is_asked(protocol: Protocol) -> bool:
        found = texts(stage(action, upon=base(protocol, table)))
        return any(told in text for text in found)

    numbers = range(1, 7)
    asked = [
        number
        for number in numbers
        if is_asked(Protocol(min_reader_version=reader_of(number), min_writer_version=number))
    ]
    assert asked == [number for number in numbers if number >= since]
    listing = features("domainMetadata")
    if feature == "columnMapping":
        listing = replace(listing, min_reader_version=2)
    assert not is_asked(listing)
    assert is_asked(replace(listing, writer_features=("domainMetadata", feature)))


@pytest.mark.rule("feature-new-2-7")
@pytest.mark.parametrize("reader", [1, 2])
def test_a_new_table_below_reader_version_3_lists_features_for_writers_alone(reader: int) -> None:
    alone = replace(features("appendOnly"), min_reader_version=reader)
    assert texts(stage(alone, METADATA, upon=NO_TABLE)) == []
    for listed in ((), ("deletionVectors",)):
        both = replace(alone, reader_features=listed, writer_features=("appendOnly", *listed))
        found = texts(stage(both, METADATA, upon=NO_TABLE))
        assert any("only 3 may have one" in text for text in found)


NAMED = DomainMetadata(
    domain="delta.clustering", configuration='{"clusteringColumns":[["id"]]}', removed=False
)
KNOWN = Promises(
    kept_domains=frozenset({"delta.clustering"}), validated=frozenset({statistics_found(NAMED)})
)


@pytest.mark.rule("clustering-writer-7", "clustering-needs-domain")
@pytest.mark.parametrize("version", range(2, 7))
def test_no_number_below_seven_has_clustering(version: int) -> None:
    numbered = Protocol(min_reader_version=reader_of(version), min_writer_version=version)
    found = texts(stage(NAMED, upon=base(numbered), promises=KNOWN))
    assert any("in a table without the feature" in text for text in found)
    found = texts(stage(add(clustering_provider="liquid"), upon=base(numbered)))
    assert any("who clustered it, in a table without the feature" in text for text in found)
    listed = replace(numbered, writer_features=("clustering", "domainMetadata"))
    found = texts(stage(listed, upon=base(numbered)))
    assert any("only 7 may have one" in text for text in found)


@pytest.mark.rule("clustering-no-partition", "clustering-not-with-partition")
@pytest.mark.parametrize("columns", [(), ("day",)], ids=["plain", "partitioned"])
def test_new_table_is_clustered_where_it_is_not_partitioned(columns: tuple[str, ...]) -> None:
    table = metadata(partition_columns=columns)
    protocol = features("clustering", "domainMetadata")
    found = texts(stage(protocol, table, NAMED, upon=NO_TABLE, promises=KNOWN))
    assert ["partitioned at the same time" in text for text in found] == [True] * len(columns)


@pytest.mark.rule("mapping-support-writers", "mapping-honored-only-if-supported")
@pytest.mark.rule("mapping-read-property", "mapping-log-physical")
@pytest.mark.parametrize(
    ("protocol", "honoured"),
    [
        (PLAIN, False),
        (replace(PLAIN, min_writer_version=4), False),
        (MAPPED, True),
        (replace(MAPPED, min_writer_version=6), True),
        (replace(features("columnMapping"), min_reader_version=2), True),
        (replace(features("appendOnly"), min_reader_version=2), False),
        (features(readers=["columnMapping"]), True),
        (features(readers=["deletionVectors"]), False),
    ],
    ids=["1-2", "1-4", "2-5", "2-6", "2-7 listed", "2-7", "3-7 listed", "3-7"],
)
def test_partition_values_go_by_physical_names_where_writers_know_mapping(
    protocol: Protocol, *, honoured: bool
) -> None:
    columns = schema(mapped("id", 1), mapped("day", 2))
    table = metadata(MAPPING, schema_string=columns, partition_columns=("day",))
    for name, right in (("col-2", honoured), ("day", not honoured)):
        file = add(partition_values={name: "5"}, stats=None)
        assert (texts(stage(file, upon=base(protocol, table))) == []) is right, name
    off = replace(table, configuration={**MAPPING, "delta.columnMapping.mode": "none"})
    logical = stage(add(partition_values={"day": "5"}), upon=base(protocol, off))
    assert texts(logical) == []


@pytest.mark.rule("mapping-mode-property")
@pytest.mark.parametrize("mode", ["names", "NAME ", "", "true"])
def test_no_commit_sets_a_mode_that_there_is_not(mode: str) -> None:
    staged = stage(metadata({"delta.columnMapping.mode": mode}), upon=base(MAPPED))
    assert any("delta.columnMapping.mode" in text for text in texts(staged))


@pytest.mark.rule("mapping-physicalname", "mapping-id", "mapping-new-column-id")
@pytest.mark.parametrize(
    ("column", "told"),
    [
        (mapped("new", 3), None),
        (mapped("new", 3, "col-2"), "share the physical name"),
        (mapped("new", 2, "col-3"), "share the column id"),
        (mapped("new", 2**31), "not an integer of 32 bits"),
        (field("new", **{"delta.columnMapping.physicalName": "col-3"}), "has no column id"),
        (field("new", **{"delta.columnMapping.id": 3}), "has no physical name"),
    ],
    ids=["sound", "name", "id", "large", "no id", "no name"],
)
def test_every_column_has_a_name_in_files_and_an_id_of_its_own(
    column: dict, told: str | None
) -> None:
    two = metadata(MAPPING, schema_string=schema(mapped("id", 1), mapped("day", 2)))
    highest = str(column["metadata"].get("delta.columnMapping.id", 2))
    grown = metadata(
        {**MAPPING, "delta.columnMapping.maxColumnId": highest},
        schema_string=schema(mapped("id", 1), mapped("day", 2), column),
    )
    found = texts(stage(grown, upon=base(MAPPED, two)))
    assert found == [] if told is None else any(told in text for text in found)


@pytest.mark.rule("mapping-physicalname")
def test_columns_of_two_structs_may_be_called_alike_in_files() -> None:
    def holding(name: str, number: int) -> dict:
        inner = {"type": "struct", "fields": [mapped("x", number + 1, "x")]}
        return mapped(name, number, kind=inner)

    named = {**MAPPING, "delta.columnMapping.maxColumnId": "4"}
    table = metadata(named, schema_string=schema(holding("a", 1), holding("b", 3)))
    assert texts(stage(MAPPED, table, upon=NO_TABLE)) == []


_HALF = replace(features("columnMapping", "icebergCompatV1"), min_reader_version=3)


@pytest.mark.rule("feature-reader-in-both-lists")
@pytest.mark.parametrize(
    "half",
    [
        replace(_HALF, reader_features=()),
        replace(features("columnMapping"), min_reader_version=1),
        replace(features(), min_reader_version=3, reader_features=("columnMapping",)),
        replace(features(), min_reader_version=3, reader_features=("deletionVectors",)),
        replace(features("deletionVectors"), min_reader_version=3, reader_features=()),
        features("vacuumProtocolCheck"),
    ],
    ids=str,
)
def test_nothing_is_committed_before_a_protocol_lists_a_feature_in_both_lists(
    half: Protocol,
) -> None:
    read = base(half)
    told = [text for text in texts(stage(add(), upon=read)) if "two lists alone" in text]
    assert len(told) == 1
    mended = with_features(half, ())
    assert texts(stage(mended, upon=read)) == []
    assert texts(stage(add(), upon=base(mended))) == []
