"""What the rules of writers say, held against tables that statements have written.

Each table is written once, by `written_tables`; here its log and its files are looked at as what
they are, JSON and Parquet, without the product's own readers.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer import pipeline
from tests.conformance.written import Table, Written, features_of, refused, schema_in, stats_of
from tests.conformance.written_tables import rows

_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SYSTEM_DOMAINS = {"delta.clustering", "delta.rowTracking"}
_FILES = ("add", "remove")


# --- every table


@pytest.mark.rule("log-partition-values", "file-add-partitionvalues")
def test_every_file_has_a_value_for_each_partition_column(each: Written) -> None:
    for commit in each.commits:
        for line in commit:
            if "metaData" in line:
                fields = {field["name"]: field for field in schema_in(line["metaData"])["fields"]}
                names = {
                    fields[name]["metadata"].get("delta.columnMapping.physicalName", name)
                    for name in line["metaData"]["partitionColumns"]
                }
    adds = each.live
    assert adds
    for add in adds:
        assert add["partitionValues"].keys() == names
        assert all(value is None or value for value in add["partitionValues"].values())
    for version, commit in enumerate(each.commits):
        held = {key for line in commit for key in line if key in _FILES}
        if held and "metaData" not in {key for line in commit for key in line}:
            keys = [
                frozenset(action["partitionValues"])
                for kind in _FILES
                for action in each.actions(kind, version)
            ]
            assert len(set(keys)) == 1


@pytest.mark.rule("metadata-required-fields", "metadata-id", "metadata-configuration")
@pytest.mark.rule("metadata-schemastring", "metadata-createdtime", "metadata-action-wrapper")
def test_metadata_has_all_that_is_required_and_the_table_keeps_its_id(each: Written) -> None:
    found = each.actions("metaData")
    assert found[0] == each.actions("metaData", 0)[0]
    for metadata in found:
        assert {"id", "format", "schemaString", "partitionColumns", "configuration"} <= set(
            metadata
        )
        assert _GUID.fullmatch(metadata["id"])
        assert metadata["format"] == {"provider": "parquet", "options": {}}
        assert schema_in(metadata)["type"] == "struct"
        assert all(isinstance(value, str) for value in metadata["configuration"].values())
        assert type(metadata["createdTime"]) is int
    assert len({metadata["id"] for metadata in found}) == 1


@pytest.mark.rule("action-protocol-features-decide", "feature-no-removal", "feature-new-3-7")
@pytest.mark.rule("feature-supported-version-only", "feature-writer-or-both")
def test_protocols_list_features_by_the_rules_and_lose_none(each: Written) -> None:
    for protocol in each.protocols:
        reader, writer = protocol["minReaderVersion"], protocol["minWriterVersion"]
        assert ("readerFeatures" in protocol) == (reader == 3)
        assert ("writerFeatures" in protocol) == (writer == 7)
        assert reader < 3 or writer == 7
        if reader == 3:
            assert set(protocol["readerFeatures"]) <= set(protocol["writerFeatures"])
    for older, newer in pairwise(each.protocols):
        assert features_of(older) <= features_of(newer)
        assert older["minWriterVersion"] <= newer["minWriterVersion"]
    assert len(each.actions("protocol", 0)) == 1


@pytest.mark.rule("action-domain-writer-7", "action-domain-feature-listed")
@pytest.mark.rule("action-domain-system-controlled", "action-domain-field-domain")
@pytest.mark.rule("action-domain-field-configuration", "action-domain-field-removed")
def test_domains_are_those_of_the_specification_under_their_feature(each: Written) -> None:
    found = each.actions("domainMetadata")
    for domain in found:
        assert domain.keys() == {"domain", "configuration", "removed"}
        assert domain["domain"] in _SYSTEM_DOMAINS
        assert isinstance(json.loads(domain["configuration"]), dict)
        assert domain["removed"] is False
    if found:
        assert each.protocol["minWriterVersion"] == 7
        assert "domainMetadata" in each.protocol["writerFeatures"]


@pytest.mark.rule("file-remove-timestamp", "file-remove-deletiontimestamp", "file-remove-size")
@pytest.mark.rule("file-remove-extendedfilemetadata")
def test_removes_say_when_and_what_left(each: Written) -> None:
    known: dict[str, dict[str, Any]] = {}
    last = 0
    for version, commit in enumerate(each.commits):
        told = commit[0]["commitInfo"]
        assert told["timestamp"] >= last
        last = told["timestamp"]
        for gone in each.actions("remove", version):
            add = known.pop(gone["path"])
            assert 0 <= last - gone["deletionTimestamp"] < 60_000
            assert gone["extendedFileMetadata"] is True
            assert gone["size"] == add["size"]
            assert gone["partitionValues"] == add["partitionValues"]
            assert gone.get("baseRowId") == add.get("baseRowId")
        known |= {add["path"]: add for add in each.actions("add", version)}


@pytest.mark.rule("stats-tightbounds", "stats-tight")
def test_statistics_are_those_of_the_rows_in_the_file(each: Written) -> None:
    for add in each.live:
        stats, file = stats_of(add), each.parquet(add)
        assert each.file(add).stat().st_size == add["size"]
        assert stats["numRecords"] == file.metadata.num_rows
        assert stats["tightBounds"] is True
        assert stats["nullCount"]
        held = file.read()
        for name, count in stats["nullCount"].items():
            if isinstance(count, int):
                assert held.column(name).null_count == count
        for name in stats["minValues"].keys() & set(held.column_names):
            values = [value for value in held.column(name).to_pylist() if value is not None]
            if values and isinstance(values[0], int | str):
                assert (stats["minValues"][name], stats["maxValues"][name]) == (
                    min(values),
                    max(values),
                )


@pytest.mark.rule("schema-spark-json", "schema-field-metadata")
def test_columns_are_written_down_as_spark_does(each: Written) -> None:
    def walk(kind: Any) -> None:
        if isinstance(kind, str):
            return
        if kind["type"] == "struct":
            for field in kind["fields"]:
                assert field.keys() == {"name", "type", "nullable", "metadata"}
                assert isinstance(field["metadata"], dict)
                walk(field["type"])
        elif kind["type"] == "array":
            assert kind.keys() == {"type", "elementType", "containsNull"}
            walk(kind["elementType"])
        else:
            assert kind.keys() == {"type", "keyType", "valueType", "valueContainsNull"}
            walk(kind["keyType"])
            walk(kind["valueType"])

    for metadata in each.actions("metaData"):
        walk(schema_in(metadata))


# --- the plain table: names, transactions


@pytest.mark.rule("metadata-name", "metadata-description")
def test_a_table_has_the_name_and_the_description_that_it_was_given(table: Table) -> None:
    metadata = table("plain").metadata
    assert (metadata["name"], metadata["description"]) == ("orders", "of a shop")
    assert "name" not in table("mapped").metadata


@pytest.mark.rule("action-txn-idempotent-write", "action-txn-appid", "action-txn-version")
@pytest.mark.rule("action-txn-lastupdated")
def test_a_transaction_that_is_recorded_is_not_written_again(table: Table) -> None:
    plain = table("plain")
    found = [(body["appId"], body["version"]) for body in plain.actions("txn")]
    assert found == [("nightly", 7), ("nightly", 8)]
    for commit in plain.commits:
        bodies = {key: line[key] for line in commit for key in line}
        if "txn" in bodies:
            since = bodies["commitInfo"]["timestamp"] - bodies["txn"]["lastUpdated"]
            assert 0 <= since < 60_000
    assert all(9 not in pq.read_table(path)["id"].to_pylist() for path in plain.root.glob("*.pa*"))


@pytest.mark.rule("log-directory", "log-file-types-one-directory")
def test_all_of_a_table_lies_in_its_folder_under_names_of_the_specification(table: Table) -> None:
    found = [
        path.relative_to(table("changed").root).as_posix()
        for path in table("changed").root.rglob("*")
        if path.is_file()
    ]
    kinds = {
        r"_delta_log/\d{20}\.json": 4,
        r"_delta_log/\d{20}\.crc": 4,
        r"_delta_log/\d{20}\.checkpoint\.[0-9a-f-]{36}\.(json|parquet)": 1,
        r"_delta_log/_last_checkpoint": 1,
        r"([pq]=\w+/)part-[\w.-]+\.parquet": 5,
    }
    counts = {kind: sum(bool(re.fullmatch(kind, path)) for path in found) for kind in kinds}
    assert counts == kinds
    assert sum(counts.values()) == len(found)


# --- partition values


@pytest.mark.rule("partition-timestamp", "partition-timestamp-ntz")
def test_partition_values_are_written_in_the_forms_of_the_specification(table: Table) -> None:
    first = [add["partitionValues"] for add in table("partitioned").actions("add", 1)]
    assert first == [
        {
            # the form with a zone: the one without is read in the zone of whoever reads it
            "t": "2026-03-01T12:00:00.000000Z",
            "n": "2026-03-01 12:00:00",
            "d": "2026-03-01",
            "s": "a b/%ü",
            "b": "true",
            "x": "\x01A",
            "p": "1.00",
            "f": "0.5",
            "i": "-3",
        },
        {
            "t": "2026-03-01T12:00:00.000120Z",
            "n": "2026-03-01 12:00:00.000120",
            "d": "0999-01-02",
            "s": "x=y",
            "b": "false",
            "x": "z",
            "p": "2.00",
            "f": "-1e+300",
            "i": "4",
        },
        dict.fromkeys("tndsbxpfi"),
    ]
    assert [body["partitionValues"]["s"] for body in table("partitioned").actions("remove")] == [
        "x=y"
    ]


# --- row tracking


@pytest.mark.rule("row-supported", "row-writer-7", "row-write-fresh-commit-version")
@pytest.mark.rule("row-write-base-above-high-water-mark", "row-write-track-high-water-mark")
@pytest.mark.rule("row-write-high-water-mark-include", "row-write-high-water-mark-at-least")
@pytest.mark.parametrize("name", ["tracked", "backfilled"])
def test_rows_get_ids_above_the_mark_that_their_commit_moves(table: Table, name: str) -> None:
    tracked = table(name)
    mark, seen = -1, 0
    for version, commit in enumerate(tracked.commits):
        adds = tracked.actions("add", version)
        if not any("baseRowId" in add for add in adds):
            continue
        fresh = mark
        for add in adds:
            assert add["baseRowId"] > fresh
            assert add["defaultRowCommitVersion"] == version
            fresh = add["baseRowId"] + stats_of(add)["numRecords"] - 1
        (domain,) = [line["domainMetadata"] for line in commit if "domainMetadata" in line]
        assert domain["domain"] == "delta.rowTracking"
        mark = json.loads(domain["configuration"])["rowIdHighWaterMark"]
        assert mark >= fresh
        seen += 1
    assert seen == {"tracked": 5, "backfilled": 2}[name]
    assert tracked.protocol["minWriterVersion"] == 7
    assert {"rowTracking", "domainMetadata"} <= set(tracked.protocol["writerFeatures"])


@pytest.mark.rule("row-write-enable-names", "row-write-names-unique", "row-enabled-all-have-base")
@pytest.mark.rule("row-write-enable-feature-first")
@pytest.mark.parametrize("name", ["tracked", "backfilled"])
def test_ids_are_relied_on_once_all_files_and_columns_for_them_are_there(
    table: Table, name: str
) -> None:
    tracked = table(name)
    live: dict[str, Any] = {}
    enabled = False
    listed: set[str] = set()
    for version, commit in enumerate(tracked.commits):
        for line in commit:
            listed |= features_of(line.get("protocol", {}))
        for gone in tracked.actions("remove", version):
            del live[gone["path"]]
        live |= {add["path"]: add for add in tracked.actions("add", version)}
        for metadata in tracked.actions("metaData", version):
            held = metadata["configuration"]
            if held.get("delta.enableRowTracking") == "true":
                enabled = True
                names = [
                    held["delta.rowTracking.materializedRowIdColumnName"],
                    held["delta.rowTracking.materializedRowCommitVersionColumnName"],
                ]
                columns = {field["name"] for field in schema_in(metadata)["fields"]}
                assert len({*names, *columns}) == 2 + len(columns)
                assert all(_GUID.search(each) for each in names)
        if enabled:
            assert "rowTracking" in listed
            assert all("baseRowId" in add for add in live.values())
    assert enabled


@pytest.mark.rule("row-stable-id", "row-stable-commit-version")
def test_rows_that_are_written_again_carry_their_ids_in_the_file(table: Table) -> None:
    tracked = table("tracked")
    first = {
        value: (add["baseRowId"] + at, add["defaultRowCommitVersion"])
        for version in (1, 2, 3)
        for add in tracked.actions("add", version)
        for at, value in enumerate(tracked.parquet(add).read()["id"].to_pylist())
    }
    (packed,) = tracked.actions("add", 4)
    held = tracked.parquet(packed).read()
    names = [
        tracked.configuration["delta.rowTracking.materializedRowIdColumnName"],
        tracked.configuration["delta.rowTracking.materializedRowCommitVersionColumnName"],
    ]
    found = zip(held["id"].to_pylist(), *(held[each].to_pylist() for each in names), strict=True)
    assert {value: (number, version) for value, number, version in found} == first
    assert tracked.commits[4][0]["commitInfo"]["tags"] == {"delta.rowTracking.preserved": "true"}


# --- clustering


@pytest.mark.rule("clustering-needs-domain", "clustering-writer-7", "clustering-stats")
@pytest.mark.rule("clustering-not-with-partition")
def test_files_of_a_clustered_table_have_bounds_of_its_columns(table: Table) -> None:
    clustered = table("clustered")
    assert {"clustering", "domainMetadata"} <= set(clustered.protocol["writerFeatures"])
    (domain,) = clustered.actions("domainMetadata")
    assert json.loads(domain["configuration"])["clusteringColumns"] == [["k"]]
    assert clustered.metadata["partitionColumns"] == []
    for add in clustered.actions("add"):
        stats = stats_of(add)
        assert stats["nullCount"]["k"] == 0
        assert {"k"} <= stats["minValues"].keys() & stats["maxValues"].keys()
    assert clustered.live[0]["clusteringProvider"] == "delta-explorer"
    place = clustered.root.parent / "both"
    refused(
        lambda: pipeline.create(place, "a INT, b INT", partition_by="a", cluster_by="b"),
        clustered.root.parent,
        "clustered",
    )


# --- change data


@pytest.mark.rule("cdf-files-pure-add-or-remove-needs-none")
def test_rows_that_only_come_or_go_have_no_files_of_changes(table: Table) -> None:
    fed = table("fed")
    assert [len(fed.actions("add", version)) for version in range(4)] == [0, 2, 1, 1]
    assert [len(fed.actions("remove", version)) for version in range(4)] == [0, 0, 1, 2]
    assert fed.actions("cdc") == []
    assert not (fed.root / "_change_data").exists()
    assert all(body["dataChange"] for kind in _FILES for body in fed.actions(kind))
    assert "changeDataFeed" in fed.protocol.get("writerFeatures", ["changeDataFeed"])


# --- in-commit timestamps


@pytest.mark.rule("newer-commit-timestamp-first-action", "newer-commit-timestamp-monotonic")
def test_commits_of_a_table_with_times_begin_with_one_that_grows(table: Table) -> None:
    timed = table("timed")
    times = [next(iter(commit[0].values()))["inCommitTimestamp"] for commit in timed.commits]
    assert [next(iter(commit[0])) for commit in timed.commits] == ["commitInfo"] * len(times)
    assert all(older < newer for older, newer in pairwise(times))


# --- append only, vectors


@pytest.mark.rule("column-append-only-rearrange", "older-004-append-property-only")
@pytest.mark.rule("feature-supported-check-property", "older-001-append-property")
def test_rows_of_an_append_only_table_are_arranged_and_never_taken(table: Table) -> None:
    kept = table("append_only")
    assert kept.protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert len(kept.actions("remove")) == 2
    assert not any(body["dataChange"] for body in kept.actions("remove"))
    assert not any(body["dataChange"] for body in kept.actions("add", 3))
    refused(
        lambda: pipeline.write(rows(id=[9]), kept.root, mode="overwrite"), kept.root, "appendOnly"
    )
    assert kept.values("id") == [1, 2]


@pytest.mark.rule("dv-property-gates-writing")
def test_no_vector_is_written_where_a_whole_file_goes(table: Table) -> None:
    held = table("vectors")
    assert held.protocol["readerFeatures"] == ["deletionVectors"]
    assert not any("deletionVector" in body for kind in _FILES for body in held.actions(kind))
    assert list(held.root.glob("*.bin")) == []


# --- columns and rows with rules


@pytest.mark.rule("column-check-new-rows", "column-generated-enforce", "column-generated-null-safe")
@pytest.mark.rule("older-004-generated-columns", "feature-writer-version-4")
@pytest.mark.rule("column-generated-4-to-6", "column-check-3-to-6")
def test_rules_that_a_number_stands_for_hold_for_every_row(table: Table) -> None:
    ruled = table("by_numbers")
    assert ruled.protocol == {"minReaderVersion": 1, "minWriterVersion": 4}
    assert [(row["id"], row["twice"]) for row in ruled.rows()] == [(1, 2), (2, 4), (3, 6)]
    refused(lambda: pipeline.write(rows(id=[5, 0]), ruled.root), ruled.root, "id > 0")
    refused(
        lambda: pipeline.write(rows(id=pa.array([None], pa.int64())), ruled.root),
        ruled.root,
        "id > 0",
    )
    refused(lambda: pipeline.write(rows(id=[5], twice=[11]), ruled.root), ruled.root, "id * 2")


@pytest.mark.rule("column-check-new-rows", "column-generated-enforce", "column-generated-null-safe")
@pytest.mark.rule("column-check-listed-7", "column-generated-listed-7", "column-identity-6-or-7")
@pytest.mark.rule("column-default-listed", "column-default-assign", "column-identity-generate")
@pytest.mark.rule("column-default-writes-use")
def test_rules_that_are_listed_hold_for_every_row(table: Table) -> None:
    ruled = table("ruled")
    assert {
        "allowColumnDefaults",
        "checkConstraints",
        "generatedColumns",
        "identityColumns",
    } <= set(ruled.protocol["writerFeatures"])
    found = [[row[name] for name in ("a", "twice", "code")] for row in ruled.rows()]
    # null is null, computed or given; a default is for what is not given, and null is
    assert found == [
        [1, 2, "none"],
        [None, None, "none"],
        [1, 2, "none"],
        [None, None, "none"],
        [None, None, None],
    ]
    small = pa.array([7], pa.int32())
    wrong = pa.table({"a": small, "twice": small})
    refused(lambda: pipeline.write(wrong, ruled.root), ruled.root, "a + a")
    half = pa.table({"a": small, "twice": pa.array([None], pa.int32())})
    refused(lambda: pipeline.write(half, ruled.root), ruled.root, "a + a")
    large = pa.table({"a": pa.array([100], pa.int32())})
    refused(lambda: pipeline.write(large, ruled.root), ruled.root, "a < 100")


@pytest.mark.rule("column-identity-arithmetic", "column-identity-new-unique")
@pytest.mark.rule("column-identity-beyond-high-water-mark", "column-identity-explicit-allowed")
@pytest.mark.rule("column-identity-high-water-mark-update", "column-identity-explicit-refused")
@pytest.mark.rule("column-identity-start", "column-identity-step", "column-identity-generate")
def test_identity_columns_count_on_from_the_mark_that_the_commit_moves(table: Table) -> None:
    ruled = table("ruled")
    assert sorted((row["id"] for row in ruled.rows()), reverse=True) == [100, 95, 90, 85, 80]
    marks: list[tuple[Any, Any]] = []
    for metadata in ruled.actions("metaData"):
        fields = {field["name"]: field["metadata"] for field in schema_in(metadata)["fields"]}
        assert fields["id"]["delta.identity.start"] == 100
        assert fields["id"]["delta.identity.step"] == -5
        marks.append(
            tuple(fields[name].get("delta.identity.highWaterMark") for name in ("id", "free"))
        )
    assert [mark[0] for mark in marks] == [None, 95, 85, 80]
    assert [row["free"] for row in ruled.rows()] == [1, 2, 3, 4, 40]
    refused(
        lambda: pipeline.write(rows(id=[1], a=pa.array([1], pa.int32())), ruled.root),
        ruled.root,
        "id",
    )


@pytest.mark.rule("column-identity-overflow")
def test_numbers_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    last = 2**63 - 2
    columns = f"id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH {last} INCREMENT BY 1), a BIGINT"
    pipeline.create(tmp_path / "t", columns)
    refused(lambda: pipeline.write(rows(a=[1, 2, 3]), tmp_path / "t"), tmp_path, "64 bits")
    pipeline.write(rows(a=[1, 2]), tmp_path / "t")
    assert Written(tmp_path / "t").values("id") == [last, last + 1]
    refused(lambda: pipeline.write(rows(a=[1]), tmp_path / "t"), tmp_path, "64 bits")


@pytest.mark.rule("column-invariant-abort", "column-invariant-json", "column-invariant-2-to-6")
def test_a_row_for_which_an_invariant_is_false_or_null_is_refused(table: Table) -> None:
    held = table("invariant")
    assert held.protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    assert held.values("a") == [4]
    for value in (3, None):
        wrong = pa.table({"a": pa.array([5, value], pa.int32())})
        refused(lambda wrong=wrong: pipeline.write(wrong, held.root), held.root, "a > 3")


# --- columns and layouts that change


@pytest.mark.rule("older-003-metadata-consistent")
def test_another_layout_comes_only_where_every_file_of_the_old_one_goes(table: Table) -> None:
    changed = table("changed")
    assert [metadata["partitionColumns"] for metadata in changed.actions("metaData")] == [
        ["p"],
        ["q"],
        ["q"],
    ]
    gone = {body["path"] for body in changed.actions("remove", 2)}
    assert gone == {body["path"] for body in changed.actions("add", 1)}
    assert all(set(add["partitionValues"]) == {"q"} for add in changed.live)


@pytest.mark.rule("column-default-not-on-add-column")
def test_a_column_that_rows_bring_has_no_default(tmp_path: Path) -> None:
    pipeline.create(
        tmp_path, "a INT", properties={"delta.feature.allowColumnDefaults": "supported"}
    )
    schema = pa.schema(
        [pa.field("a", pa.int32()), pa.field("b", pa.int32(), metadata={"CURRENT_DEFAULT": "7"})]
    )
    pipeline.write(pa.table([[1], [2]], schema=schema), tmp_path, merge_schema=True)
    written = Written(tmp_path)
    assert written.field("b") == {"name": "b", "type": "integer", "nullable": True, "metadata": {}}


# --- what the table of another writer says


def _continued(place: Path, *, more: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    """A table of the product whose protocol and log somebody else has gone on with."""
    pipeline.create(place, "id BIGINT", properties={"delta.feature.domainMetadata": "supported"})
    pipeline.write(rows(id=[1]), place)
    protocol = {**Written(place).protocol}
    protocol = {**protocol, **{key: [*protocol.get(key, ()), *more[key]] for key in more}}
    if "readerFeatures" in more:
        protocol["minReaderVersion"] = 3
    text = "".join(f"{json.dumps(line)}\n" for line in [{"protocol": protocol}, *lines])
    (place / "_delta_log" / f"{2:020}.json").write_text(text)


@pytest.mark.rule("older-001-feature-must-implement-to-check", "feature-writer-reader-too")
@pytest.mark.parametrize("lists", [("writerFeatures",), ("readerFeatures", "writerFeatures")])
def test_a_feature_that_is_not_known_refuses_every_write(
    tmp_path: Path, lists: tuple[str, ...]
) -> None:
    _continued(tmp_path, more={key: ["ofTomorrow"] for key in lists}, lines=[])
    refused(lambda: pipeline.write(rows(id=[2]), tmp_path), tmp_path, "ofTomorrow")


@pytest.mark.rule("action-domain-user-controlled", "action-domain-writer-only-understood")
@pytest.mark.rule("action-domain-writer-no-user-delete")
def test_domains_of_users_and_of_others_stay_when_every_row_is_replaced(tmp_path: Path) -> None:
    theirs = [
        {"domainMetadata": {"domain": name, "configuration": "{}", "removed": False}}
        for name in ("mine", "delta.ofTomorrow")
    ]
    _continued(tmp_path, more={}, lines=theirs)
    pipeline.write(rows(id=[2]), tmp_path)
    pipeline.write(rows(other=[3]), tmp_path, mode="overwrite", overwrite_schema=True)
    written = Written(tmp_path)
    assert len(written.commits) == 5
    assert [line for line in written.commits[2] if "domainMetadata" in line] == theirs
    assert written.actions("domainMetadata", 3) + written.actions("domainMetadata", 4) == []
