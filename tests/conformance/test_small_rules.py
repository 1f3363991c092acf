"""Rules of the specification that a log of a few lines shows: what may be there, what may
be left out, and what means nothing."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.inspect.health.version_checksum import validate_checksum
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.features.column_rules import describe_identity, identity_column
from explorer.protocol.features.consistency import validate_protocol
from explorer.protocol.features.registry import is_active
from explorer.protocol.schema import StructField, StructType, parse_type_name
from explorer.rows.read import read_rows
from explorer.scan.plan import plan_scan
from tests.data_tables import DataTable, field, mapped, struct
from tests.tables import (
    COLUMNS,
    FEATURE_PROTOCOL,
    PROTOCOL,
    Action,
    LogFolder,
    add,
    metadata,
    remove,
    vector,
    write_parquet,
)

LONG = struct(field("a", "long"))
ONE = pa.table({"a": [1]})


def _snapshot(root: Path, *commits: list[Action]) -> explorer.Snapshot:
    log = LogFolder(root)
    for version, actions in enumerate(commits):
        log.commit(version, actions)
    return explorer.open_table(log.root).snapshot()


def _rows(table: DataTable, **asked: Any) -> list[dict[str, Any]]:
    rows = read_rows(explorer.open_table(table.write()).snapshot(), **asked)
    return [dict(row) for row in rows.to_pylist()]


@pytest.mark.rule("file-actions-unordered", "older-003-unordered-actions", "file-path-also-in-cdc")
@pytest.mark.rule("file-add-and-remove-same-path", "file-remove-deletionvector")
def test_actions_of_a_commit_mean_the_same_in_any_order(tmp_path: Path) -> None:
    first = [FEATURE_PROTOCOL, metadata(), add("a"), add("b", deletionVector=vector())]
    change = {"path": "a", "partitionValues": {}, "size": 1, "dataChange": False}
    second = [
        remove("a"),
        add("a", deletionVector=vector(offset=1)),
        remove("b", deletionVector=vector()),
        {"cdc": change},
        {"txn": {"appId": "s", "version": 2}},
    ]
    for number, order in enumerate(permutations(second)):
        snapshot = _snapshot(tmp_path / str(number), first, list(order))
        (live,) = snapshot.files(["path", "deletion_vector"]).to_pylist()
        assert (live["path"], live["deletion_vector"]["offset"]) == ("a", 1)
        gone = snapshot.tombstones(["path", "deletion_vector"]).to_pylist()
        assert sorted((row["path"], row["deletion_vector"] is None) for row in gone) == [
            ("a", True),
            ("b", False),
        ]
        assert snapshot.transactions["s"].version == 2
        assert snapshot.problems == ()


@pytest.mark.rule("action-txn-atomic-with-actions")
def test_transaction_of_a_commit_that_cannot_be_read_is_not_taken(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), {"txn": {"appId": "s", "version": 1}}])
    lines = [json.dumps({"txn": {"appId": "s", "version": 2}}), '{"add":{"path":']
    log.write(f"{1:020}.json", "\n".join(lines))
    table = explorer.open_table(log.root)
    with pytest.raises(explorer.DeltaError):
        table.snapshot()
    assert table.snapshot(version=0).transactions["s"].version == 1


@pytest.mark.rule("file-add-clusteringprovider", "file-remove-baserowid")
@pytest.mark.rule("file-remove-defaultrowcommitversion", "stats-on-add-and-remove")
@pytest.mark.rule("older-001-add-no-clusteringprovider", "older-001-remove-no-stats")
@pytest.mark.rule("older-003-add-fields", "older-003-remove-fields", "older-003-stats-add-only")
@pytest.mark.rule("file-remove-stats", "file-remove-tags")
def test_optional_fields_of_files_are_kept_and_null_where_absent(tmp_path: Path) -> None:
    more = {"baseRowId": 4, "defaultRowCommitVersion": 3, "stats": '{"numRecords":1}'}
    old = {"path": "d", "deletionTimestamp": 5, "dataChange": True}
    snapshot = _snapshot(
        tmp_path / "t",
        [FEATURE_PROTOCOL, metadata(), add("a", clusteringProvider="liquid"), add("b"), add("d")],
        [remove("c", tags={"k": "v"}, **more), {"remove": old}],
    )
    files = snapshot.files(["path", "clustering_provider", "stats"]).to_pylist()
    providers = {row["path"]: row["clustering_provider"] for row in files}
    assert providers == {"a": "liquid", "b": None}
    names = ["stats", "tags", "base_row_id", "default_row_commit_version", "size"]
    full, bare = snapshot.tombstones(["path", *names]).sort_by("path").to_pylist()
    assert [full[name] for name in names] == ['{"numRecords":1}', [("k", "v")], 4, 3, None]
    assert [bare[name] for name in names] == [None] * len(names)


@pytest.mark.rule("older-003-metadata-fields", "metadata-format-options")
def test_metadata_of_the_oldest_tables_has_no_more_than_it_needs(tmp_path: Path) -> None:
    body = dict(metadata()["metaData"])
    del body["createdTime"], body["configuration"]
    body["format"] = {"provider": "parquet"}
    found = _snapshot(tmp_path / "t", [PROTOCOL, {"metaData": body}]).metadata
    assert (found.created_time, found.configuration) == (None, {})


@pytest.mark.rule("action-protocol-example-names")
def test_protocol_goes_by_the_names_of_its_schema(tmp_path: Path) -> None:
    named_as_in_two_examples = {"protocol": {"readerVersion": 1, "writerVersion": 2}}
    with pytest.raises(explorer.DeltaError, match="minReaderVersion"):
        _snapshot(tmp_path / "t", [named_as_in_two_examples, metadata()])


@pytest.mark.rule("older-001-domain-map")
def test_configuration_of_a_domain_may_be_a_map(tmp_path: Path) -> None:
    body = {"domain": "d", "configuration": {"k": "v"}, "removed": False}
    snapshot = _snapshot(tmp_path / "t", [FEATURE_PROTOCOL, metadata(), {"domainMetadata": body}])
    assert json.loads(snapshot.domains["d"].configuration) == {"k": "v"}


@pytest.mark.rule("older-003-append-only-key")
def test_property_without_its_prefix_means_nothing() -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=2)
    for name, active in (("appendOnly", False), ("delta.appendOnly", True)):
        found = Metadata(id="m", configuration={name: "true"})
        assert is_active("appendOnly", protocol, found, StructType(fields=())) is active


@pytest.mark.rule("dv-protocol", "checkpoint-v2-feature-protocol", "schema-ntz-protocol")
@pytest.mark.parametrize("name", ["deletionVectors", "v2Checkpoint", "timestampNtz"])
def test_feature_of_readers_stands_in_both_lists_at_versions_3_and_7(name: str) -> None:
    for reader, readers, sound in ((3, (name,), True), (3, (), False), (1, None, False)):
        protocol = Protocol(
            min_reader_version=reader,
            min_writer_version=7,
            reader_features=readers,
            writer_features=(name,),
        )
        assert (validate_protocol(protocol) == []) is sound


@pytest.mark.rule("older-001-checkpoint-commitinfo-optional")
def test_provenance_in_a_checkpoint_is_no_obstacle(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    write_parquet(
        log.log / f"{2:020}.checkpoint.parquet",
        [PROTOCOL, metadata(), add("a"), {"commitInfo": {"operation": "WRITE"}}],
        columns={**COLUMNS, "commitInfo": pa.struct([("operation", pa.string())])},
    )
    snapshot = explorer.open_table(log.root).snapshot()
    assert (snapshot.num_files, snapshot.problems) == (1, ())


@pytest.mark.rule("older-003-checkpoint-all-valid-actions")
def test_checkpoint_alone_says_all_that_is_valid(tmp_path: Path) -> None:
    state = [PROTOCOL, metadata(name="orders"), {"txn": {"appId": "s", "version": 7}}]
    log = LogFolder(tmp_path / "t")
    log.checkpoint(3, [*state, add("a"), add("b")])
    log.commit(4, [remove("b"), add("c")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["a", "c"]
    assert (snapshot.metadata.name, snapshot.transactions["s"].version) == ("orders", 7)
    assert (snapshot.num_tombstones, snapshot.problems) == (1, ())


@pytest.mark.rule("checkpoint-remove-no-stats-tags")
def test_tombstones_of_a_checkpoint_need_no_statistics_and_no_tags(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    fields = [field for field in COLUMNS["remove"] if field.name not in {"stats", "tags"}]
    write_parquet(
        log.log / f"{0:020}.checkpoint.parquet",
        [PROTOCOL, metadata(), remove("a"), add("b")],
        columns={**COLUMNS, "remove": pa.struct(fields)},
    )
    log.commit(1, [remove("b", tags={"k": "v"}, stats='{"numRecords":1}')])
    snapshot = explorer.open_table(log.root).snapshot()
    found = dict(zip(*snapshot.tombstones(["path", "tags"]).to_pydict().values(), strict=True))
    assert (found, snapshot.problems) == ({"a": None, "b": [("k", "v")]}, ())


@pytest.mark.rule("older-004-checkpoint-parquet")
def test_checkpoint_that_is_no_parquet_file_is_not_read_as_one(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    lines = [PROTOCOL, metadata(), add("from the checkpoint")]
    log.write(f"{0:020}.checkpoint.parquet", "\n".join(map(json.dumps, lines)))
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.files(["path"])["path"].to_pylist() == ["a"]
    assert [problem.kind for problem in snapshot.problems] == ["checkpoint_unusable"]


@pytest.mark.rule("checkpoint-metadata-tags", "checkpoint-sidecar-action-tags")
@pytest.mark.parametrize("tags", [{"tags": {"k": "v"}}, {"tags": {}}, {"tags": None}, {}], ids=str)
def test_tags_of_a_v2_checkpoint_are_optional(tags: dict[str, Any], tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    actions = [FEATURE_PROTOCOL, metadata(), add("a")]
    (top,) = log.checkpoint(0, actions, form="v2-json", sidecars=1)
    lines = [json.loads(line) for line in top.read_text().splitlines()]
    for line in lines:
        for kind in ("checkpointMetadata", "sidecar"):
            if kind in line:
                line[kind].pop("tags", None)
                line[kind].update(tags)
    top.write_text("\n".join(map(json.dumps, lines)))
    snapshot = explorer.open_table(log.root).snapshot()
    assert (snapshot.num_files, snapshot.problems) == (1, ())


@pytest.mark.rule("newer-checksum-missing-fine")
def test_missing_version_checksum_is_no_problem(tmp_path: Path) -> None:
    snapshot = _snapshot(tmp_path / "t", [PROTOCOL, metadata()])
    assert validate_checksum(snapshot.store, snapshot) == []


@pytest.mark.rule("cdf-data-file-extra-change-type", "cdf-reader-disregard-change-type")
def test_change_type_of_a_data_file_is_not_shown(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", LONG)
    table.add("x.parquet", ONE.append_column("_change_type", pa.nulls(1, pa.string())))
    assert _rows(table) == [{"a": 1}]


@pytest.mark.rule("column-default-write-only")
def test_default_of_a_column_is_not_read_into_old_files(tmp_path: Path) -> None:
    columns = struct(field("a", "long"), field("b", "long", CURRENT_DEFAULT="5"))
    table = DataTable(tmp_path / "t", columns)
    table.add("x.parquet", ONE)
    assert _rows(table) == [{"a": 1, "b": None}]


@pytest.mark.rule("mapping-name-missing-null")
def test_column_that_a_file_lacks_is_null_by_name(tmp_path: Path) -> None:
    table = DataTable(
        tmp_path / "t",
        struct(mapped("a", "long", "col-1", 1), mapped("col-1", "long", "col-2", 2)),
        features=("columnMapping",),
        configuration={"delta.columnMapping.mode": "name"},
    )
    table.add("x.parquet", pa.table({"col-1": [7]}))
    assert _rows(table) == [{"a": 7, "col-1": None}]


@pytest.mark.rule("row-supported-not-reliable")
def test_row_ids_that_are_not_there_yet_are_null(tmp_path: Path) -> None:
    table = DataTable(tmp_path / "t", LONG, features=("rowTracking", "domainMetadata"))
    table.add("x.parquet", ONE)
    asked = ("_row_id", "_row_commit_version")
    assert _rows(table, columns=[], metadata_columns=asked) == [dict.fromkeys(asked)]


@pytest.mark.rule("stats-nullcount-all", "stats-nullcount-zero", "stats-nullcount-other")
@pytest.mark.rule("stats-nullcount-spelling")
@pytest.mark.rule("older-003-stats-no-tightbounds")
@pytest.mark.parametrize("bounds", [{"tightBounds": False}, {"tightBounds": True}, {}], ids=str)
@pytest.mark.parametrize("spelling", ["nullCount", "nullCounts"])
def test_count_of_nulls_speaks_at_none_and_at_all(
    bounds: dict[str, bool], spelling: str, tmp_path: Path
) -> None:
    files = [
        add(
            str(count),
            stats=json.dumps({"numRecords": 10, spelling: {"id": count}, **bounds}),
            deletionVector=vector(offset=count + 1, cardinality=9),
        )
        for count in (0, 1, 9, 10)
    ]
    snapshot = _snapshot(tmp_path / "t", [FEATURE_PROTOCOL, metadata(), *files])
    for where, skipped in (("id is null", ["0"]), ("id is not null", ["10"]), ("id = 5", ["10"])):
        assert plan_scan(snapshot, where).skipped["path"].to_pylist() == skipped, where


@pytest.mark.rule("checkpoint-schema-mapping-physical")
def test_statistics_of_a_checkpoint_go_by_physical_names(tmp_path: Path) -> None:
    mapped_id = mapped("id", "long", "col-1", 1)
    mapped_other = mapped("col-1", "long", "id", 2)
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    body = metadata(
        schemaString=json.dumps(struct(mapped_id, mapped_other)),
        configuration={"delta.columnMapping.mode": "name"},
    )
    bounds = pa.struct([("col-1", pa.int64()), ("id", pa.int64())])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds)])
    values = {"col-1": 5, "id": 70}
    stats = {"numRecords": 1, "minValues": values, "maxValues": values}
    log = LogFolder(tmp_path / "t")
    write_parquet(
        log.log / f"{0:020}.checkpoint.parquet",
        [protocol, body, add("a", stats_parsed=stats)],
        columns={**COLUMNS, "add": pa.struct([*COLUMNS["add"], ("stats_parsed", parsed)])},
    )
    snapshot = explorer.open_table(log.root).snapshot()
    for where, skipped in (("id = 5", 0), ("id = 70", 1), ("`col-1` = 5", 1), ("`col-1` = 70", 0)):
        assert plan_scan(snapshot, where).num_skipped == skipped, where


@pytest.mark.rule("column-identity-allow")
@pytest.mark.parametrize(
    ("value", "says"),
    [(True, "values may be given"), (False, "values may not be given"), ("yes", "up to 4")],
)
def test_whether_an_identity_may_be_given_is_a_boolean(value: object, says: str) -> None:
    numbers = {"start": 1, "step": 1, "highWaterMark": 4, "allowExplicitInsert": value}
    column = StructField(
        name="a",
        data_type=parse_type_name("long"),
        metadata={f"delta.identity.{name}": number for name, number in numbers.items()},
    )
    assert describe_identity(identity_column(column)).endswith(says)


@pytest.mark.rule("checkpoint-sidecar-only-add-remove")
def test_other_actions_of_a_sidecar_mean_nothing(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    state = [FEATURE_PROTOCOL, metadata(name="table"), add("a")]
    (top,) = log.checkpoint(0, state, form="v2-json", sidecars=1)
    (sidecar,) = (log.log / "_sidecars").iterdir()
    others = [{"txn": {"appId": "s", "version": 1}}, metadata(name="other")]
    write_parquet(sidecar, [add("a"), remove("b"), *others], columns=COLUMNS)
    lines = [json.loads(line) for line in top.read_text().splitlines()]
    for line in lines:
        if "sidecar" in line:
            line["sidecar"]["sizeInBytes"] = sidecar.stat().st_size
    top.write_text("\n".join(map(json.dumps, lines)))
    snapshot = explorer.open_table(log.root).snapshot()
    assert (snapshot.num_files, snapshot.num_tombstones) == (1, 1)
    assert (snapshot.metadata.name, dict(snapshot.transactions)) == ("table", {})


@pytest.mark.rule("checkpoint-partitionvalues-parsed-types")
def test_parsed_partition_values_stand_beside_those_that_count(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    parsed = pa.field("partitionValues_parsed", pa.struct([("part", pa.int32())]))
    body = {"partitionValues": {"part": "7"}, "partitionValues_parsed": {"part": 7}}
    write_parquet(
        log.log / f"{0:020}.checkpoint.parquet",
        [PROTOCOL, metadata(partitionColumns=["part"]), add("a", **body)],
        columns={**COLUMNS, "add": pa.struct([*COLUMNS["add"], parsed])},
    )
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.files(["partition_values"])["partition_values"].to_pylist() == [[("part", "7")]]
    assert snapshot.problems == ()


@pytest.mark.rule("newer-variant-stats")
def test_counts_of_nulls_of_a_variant_skip_files(tmp_path: Path) -> None:
    features = ["variantType"]
    protocol = {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": features,
            "writerFeatures": features,
        }
    }
    bounds = {"minValues": {"v": "z"}, "maxValues": {"v": "a"}}  # of a type without an order
    files = [
        add(str(nulls), stats=json.dumps({"numRecords": 10, "nullCount": {"v": nulls}, **bounds}))
        for nulls in (0, 5, 10)
    ]
    body = metadata(schemaString=json.dumps(struct(field("v", "variant"))))
    snapshot = _snapshot(tmp_path / "t", [protocol, body, *files])
    for where, skipped in (("v is null", "0"), ("v is not null", "10")):
        assert plan_scan(snapshot, where).skipped["path"].to_pylist() == [skipped], where
