"""Which engines can read and write a table, held against `engines.yaml` by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import DeltaError
from explorer.protocol.actions import Protocol
from explorer.protocol.features.registry import FEATURES, validate_reader
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata

Row = dict[str, Any]
CAN = {"yes", "conditional"}


def versions(reader: int, writer: int) -> Action:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}


def features(*names: str, writers: tuple[str, ...] = ()) -> Action:
    """A protocol with `names` for readers and writers, and `writers` for writers alone."""
    body: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7}
    if names:
        body |= {"minReaderVersion": 3, "readerFeatures": list(names)}
    return {"protocol": body | {"writerFeatures": [*names, *writers]}}


def schema(**column: Any) -> str:
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    return json.dumps({"type": "struct", "fields": [field | column]})


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "table")


def frame_rows(folder: LogFolder, protocol: Action, **said: Any) -> list[Row]:
    folder.commit(0, [protocol, metadata(**said), add("a")])
    rows: list[Row] = look.engines(explorer.open_table(folder.root)).to_pylist()
    return rows


def judged(folder: LogFolder, protocol: Action, **said: Any) -> dict[str, Row]:
    """The newest release of each engine."""
    return {row["engine"]: row for row in frame_rows(folder, protocol, **said) if row["newest"]}


def since(row: Row, verb: str) -> tuple[str | None, bool | None]:
    name = {"read": "readable", "write": "writable"}[verb]
    return row[f"{name}_since"], row[f"{name}_since_exact"]


def test_a_plain_table_is_read_by_everyone_who_is_known_to_read(folder: LogFolder) -> None:
    rows = judged(folder, PROTOCOL)
    assert not [name for name, row in rows.items() if row["read_blockers"]]
    assert {name for name, row in rows.items() if row["can_read"] == "no"} == {
        "flink-new",
        "fabric: Warehouse Delta export",
    }
    for name in ("delta-explorer", "delta-spark", "delta-rs", "trino", "athena", "databricks"):
        assert rows[name]["can_read"] == "yes", name
    for name in ("dremio", "torch-and-small-readers", "prestodb", "redshift-spectrum"):
        assert rows[name]["can_read"] == "unknown", name


def test_the_feature_that_stops_a_reader_is_named(folder: LogFolder) -> None:
    rows = judged(folder, features("deletionVectors"))
    for name, level in [
        ("daft", "proven"),
        ("prestodb", "reported"),
        ("fabric: Data pipelines", "documented"),
        ("fabric: Eventstreams", "documented"),
    ]:
        row = rows[name]
        assert (row["can_read"], row["read_blockers"]) == ("no", ["deletionVectors"])
        assert row["read_evidence"] == level
        assert "deletionVectors" in row["write_blockers"]
    synapse = rows["synapse-serverless"]
    assert synapse["read_blockers"] == ["reader version 3", "deletionVectors"]
    assert rows["fabric: KQL database"]["can_read"] == "yes"


def test_since_when_an_engine_reads_and_writes_is_told(folder: LogFolder) -> None:
    rows = judged(folder, features("deletionVectors"))
    assert since(rows["delta-spark"], "read") == ("2.3.0", True)
    assert since(rows["delta-rs"], "read") == ("1.4.0", True)
    assert since(rows["delta-kernel-java"], "write") == ("4.0.0", True)
    # the oldest that was looked at can already
    assert since(rows["delta-kernel-java"], "read") == ("3.2.0", False)
    assert since(rows["starrocks"], "read") == ("3.5", True)
    # one release was looked at, which says nothing of others
    assert since(rows["trino"], "read") == (None, None)


def test_the_oldest_releases_that_can_have_rows_of_their_own(folder: LogFolder) -> None:
    rows = frame_rows(folder, features("deletionVectors"))
    kernel = [row for row in rows if row["engine"] == "delta-kernel-java"]
    assert [
        (row["release"], row["newest"], row["can_read"], row["can_write"]) for row in kernel
    ] == [
        ("4.4.0", True, "yes", "yes"),
        ("3.2.0", False, "yes", "no"),
        ("4.0.0", False, "yes", "yes"),
    ]
    assert kernel[0]["released"] == "2026-08-19"


def test_unknown_is_never_yes_and_what_the_source_says_is_kept(folder: LogFolder) -> None:
    athena = judged(folder, features("deletionVectors"))["athena"]
    assert (athena["can_read"], athena["read_unknowns"]) == ("unknown", ["deletionVectors"])
    assert athena["read_evidence"] == "unknown"
    said = "reading: deletionVectors: unknown (a re-posted answer says yes)"
    assert said in athena["notes"]


def test_a_condition_stands_beside_its_verdict(folder: LogFolder) -> None:
    rows = judged(folder, features("deletionVectors"))
    assert rows["polars"]["can_read"] == "conditional"
    assert rows["polars"]["read_needs"] == ["deletionVectors: has to be switched on"]
    rows = judged(folder, features("columnMapping"))
    assert rows["clickhouse"]["can_read"] == "conditional"
    assert rows["clickhouse"]["read_needs"] == ["columnMapping: bug open: silently drops rows"]
    assert rows["polars"]["read_blockers"] == ["columnMapping"]


def test_a_feature_for_writers_never_stops_a_reader(folder: LogFolder) -> None:
    listed = features(writers=("rowTracking", "domainMetadata", "clustering"))
    rows = judged(folder, listed)
    assert not [name for name, row in rows.items() if row["read_blockers"] or row["read_needs"]]
    delta_rs = rows["delta-rs"]
    assert delta_rs["can_read"] == "yes"
    assert delta_rs["write_blockers"] == ["rowTracking", "domainMetadata", "clustering"]
    # the cell for clustering says `no`, which is about writing
    assert rows["fabric: KQL database"]["can_read"] == "yes"
    assert rows["fabric: KQL database"]["write_blockers"] == ["clustering"]


def test_an_engine_that_only_reads_cannot_write_whatever_the_table_has(folder: LogFolder) -> None:
    row = judged(folder, PROTOCOL)["snowflake"]
    assert (row["can_write"], row["write_blockers"]) == ("no", [])
    assert "writing: read only" in row["notes"]


def test_reader_version_2_asks_for_column_mapping(folder: LogFolder) -> None:
    rows = judged(folder, versions(2, 5))
    assert since(rows["delta-rs"], "read") == ("1.6.0", True)
    assert since(rows["delta-rs"], "write") == ("1.6.1", True)
    assert rows["synapse-serverless"]["read_blockers"] == ["reader version 2", "columnMapping"]
    assert since(rows["delta-spark"], "read") == ("1.1.0", True)
    # a list of features needs a newer release than the same feature by its version
    assert since(judged(folder, features("columnMapping"))["delta-spark"], "read")[0] == "2.3.0"


@pytest.mark.parametrize(("mode", "verdict"), [("name", "no"), ("id", "unknown")])
def test_a_word_about_mapping_by_name_says_nothing_of_ids(
    folder: LogFolder, mode: str, verdict: str
) -> None:
    said = {"delta.columnMapping.mode": mode}
    rows = judged(folder, features("columnMapping"), configuration=said)
    assert rows["fabric: Data pipelines"]["can_read"] == verdict


def test_a_preview_is_another_feature_than_the_final_one(folder: LogFolder) -> None:
    final = judged(folder, features("typeWidening"))
    assert since(final["delta-spark"], "read") == ("3.3.0", True)
    assert final["sail"]["can_read"] == "yes"
    preview = judged(folder, features("typeWidening-preview"))
    assert since(preview["delta-spark"], "read") == ("3.2.0", True)
    assert preview["sail"]["can_read"] == "unknown"


def test_another_spelling_is_not_taken_for_the_feature(folder: LogFolder) -> None:
    rows = judged(folder, features("timestampNTZ"))
    assert rows["delta-explorer"]["can_read"] == "yes"
    assert rows["delta-spark"]["can_read"] == "unknown"
    assert "reading: timestampNTZ: listed under another spelling" in rows["delta-spark"]["notes"]


def test_a_gap_between_releases_is_not_bridged(folder: LogFolder) -> None:
    """Identity columns: in 2.3.0, not in 2.4.0 to 3.2.x, again since 3.3.0."""
    row = judged(folder, features(writers=("identityColumns",)))["delta-spark"]
    assert since(row, "write") == ("3.3.0", True)


def test_what_only_an_older_release_knew_is_found(folder: LogFolder) -> None:
    rows = [
        row
        for row in frame_rows(folder, features("catalogOwned-preview"))
        if row["engine"] == "delta-spark"
    ]
    assert [(row["release"], row["can_read"]) for row in rows] == [
        ("4.4.0", "no"),
        ("4.0.0", "conditional"),
    ]
    assert rows[1]["read_needs"] == ["catalogOwned-preview: only through its catalog"]
    assert since(rows[0], "read") == (None, None)


def test_a_refused_table_answers(folder: LogFolder) -> None:
    rows = judged(folder, features("fromTheFuture"))
    with pytest.raises(DeltaError):
        explorer.open_table(folder.root).snapshot()
    assert not [name for name, row in rows.items() if row["can_read"] in CAN]
    for name in ("delta-explorer", "delta-spark", "delta-rs", "trino", "emr"):
        assert rows[name]["read_blockers"] == ["fromTheFuture"], name
    # no list is whole there, so that nothing can be said
    assert rows["sail"]["can_read"] == "unknown"


@pytest.mark.parametrize("word", ["columnMapping_name", "uniform", "all", "via"])
def test_a_word_of_the_sources_is_no_feature(folder: LogFolder, word: str) -> None:
    rows = judged(folder, features(word))
    assert not [name for name, row in rows.items() if row["can_read"] in CAN]


def test_a_feature_that_nobody_looked_for_stops_nobody(folder: LogFolder) -> None:
    rows = judged(folder, features("redirectReaderWriter-preview"))
    assert rows["delta-spark"]["can_read"] == "unknown"
    assert rows["delta-explorer"]["can_read"] == "no"


@pytest.mark.parametrize("protocol", [versions(4, 7), versions(3, 7), versions(3, 8)])
def test_nobody_reads_and_writes_by_a_version_or_list_that_is_not_known(
    folder: LogFolder, protocol: Action
) -> None:
    rows = judged(folder, protocol)
    assert not [name for name, row in rows.items() if row["can_read"] in CAN]
    assert not [name for name, row in rows.items() if row["can_write"] in CAN]


def test_an_engine_built_upon_another_reads_what_that_one_does(folder: LogFolder) -> None:
    """The kernel has v2Checkpoint since 0.9.0; the extension went from 0.7.0 to 0.12.1."""
    duckdb = judged(folder, features("v2Checkpoint"))["duckdb-delta"]
    assert since(duckdb, "read") == ("v0.4.0", True)
    assert duckdb["can_write"] == "unknown"
    rows = judged(folder, features("typeWidening"))
    assert since(rows["emr"], "read") == ("7.8.0", True)
    assert since(rows["glue"], "read") == ("5.0", True)
    assert rows["emr"]["read_evidence"] == "documented"
    assert "is built upon delta-spark 3.3.2-amzn-2" in rows["emr"]["notes"][0]
    fabric = judged(folder, features(writers=("clustering", "domainMetadata")))
    assert since(fabric["fabric: Spark runtime"], "write") == ("1.3", True)
    every = frame_rows(folder, features("deletionVectors"))
    (older,) = (row for row in every if row["release"] == "1.2")
    assert "disabled since 2026-03-31" in older["notes"]


def test_a_setting_that_an_engine_needs_is_a_condition(folder: LogFolder) -> None:
    spark = judged(folder, features("geospatial"))["delta-spark"]
    assert (spark["can_read"], since(spark, "read")) == ("conditional", ("4.3.0", True))
    assert "preview setting" in spark["read_needs"][0]


def test_a_build_flag_is_a_condition(folder: LogFolder) -> None:
    kernel = judged(folder, features("adaptiveMetadata-preview"))["delta-kernel-rs"]
    assert (kernel["can_read"], since(kernel, "read")) == ("conditional", ("0.26.0", True))


def test_runtimes_of_a_service_count_for_all_features_at_once(folder: LogFolder) -> None:
    listed = features("typeWidening", "deletionVectors", writers=("appendOnly", "invariants"))
    row = judged(folder, listed)["databricks"]
    assert since(row, "read") == ("15.2", True)
    assert since(row, "write") == ("15.4 LTS", True)
    unlisted = judged(folder, features(writers=("rowTracking",)))["databricks"]
    assert (unlisted["can_read"], unlisted["can_write"]) == ("yes", "unknown")


@pytest.mark.parametrize(
    ("said", "kernel_4_4", "since_version"),
    [
        ({}, "yes", "4.0.0"),
        ({"configuration": {"delta.enableChangeDataFeed": "true"}}, "conditional", "4.2.0"),
        ({"configuration": {"delta.constraints.positive": "id > 0"}}, "no", None),
        ({"schemaString": schema(metadata={"delta.generationExpression": "1"})}, "no", None),
        ({"schemaString": "{"}, "unknown", None),
    ],
)
def test_a_condition_of_writing_is_evaluated_on_the_table(
    folder: LogFolder, said: dict[str, Any], kernel_4_4: str, since_version: str | None
) -> None:
    """Writer version 4 supports check constraints, change data feed and generated columns,
    used or not."""
    kernel = judged(folder, versions(1, 4), **said)["delta-kernel-java"]
    assert (kernel["can_write"], kernel["can_read"]) == (kernel_4_4, "yes")
    assert since(kernel, "write")[0] == since_version


def test_what_a_version_alone_stands_for_may_pass_where_lists_are_for_names(
    folder: LogFolder,
) -> None:
    unused = judged(folder, versions(1, 4))["trino"]
    assert (unused["can_write"], unused["write_unknowns"]) == ("unknown", ["generatedColumns"])
    generated = schema(metadata={"delta.generationExpression": "1"})
    used = judged(folder, versions(1, 4), schemaString=generated)["trino"]
    assert used["write_blockers"] == ["generatedColumns"]
    named = judged(folder, features(writers=("generatedColumns",)))["trino"]
    assert named["write_blockers"] == ["generatedColumns"]


@pytest.mark.parametrize("name", [*FEATURES, "fromTheFuture"])
def test_what_is_said_of_ourselves_is_what_we_do(folder: LogFolder, name: str) -> None:
    """The registry refuses what our row says that we cannot read."""
    row = judged(folder, features(name))["delta-explorer"]
    lists = {"reader_features": (name,), "writer_features": (name,)}
    refused = validate_reader(Protocol(min_reader_version=3, min_writer_version=7, **lists))
    assert row["can_read"] == ("no" if refused else "yes")


@pytest.mark.parametrize(
    "protocol",
    [PROTOCOL, versions(2, 6), features(*FEATURES), features("deletionVectors", "typeWidening")],
)
def test_verdicts_reasons_and_evidence_agree(folder: LogFolder, protocol: Action) -> None:
    rows = frame_rows(folder, protocol)
    assert rows[0]["engine"] == "delta-explorer"
    assert len({row["engine"] for row in rows if row["newest"]}) == 36
    for row in rows:
        assert row["source"], row["engine"]
        assert row["engine"] == "delta-explorer" or row["as_of"]
        for verb in ("read", "write"):
            verdict, level = row[f"can_{verb}"], row[f"{verb}_evidence"]
            blockers, unknowns = row[f"{verb}_blockers"], row[f"{verb}_unknowns"]
            assert verdict in {"yes", "no", "conditional", "unknown"}
            assert (level == "unknown") == (verdict == "unknown")
            assert not blockers or verdict == "no"
            assert not unknowns or verdict in {"unknown", "no"}
            assert unknowns or verdict != "unknown"
            assert not row[f"{verb}_needs"] or verdict != "yes"


def sentence(folder: LogFolder) -> str:
    return look.engines_sentence(look.engines(explorer.open_table(folder.root)))


def test_the_sentence_counts_what_is_proven_and_names_what_stops_most(folder: LogFolder) -> None:
    rows = judged(folder, features("deletionVectors"))
    proven = [row for row in rows.values() if row["read_evidence"] == "proven"]
    readers = [row["engine"] for row in proven if row["can_read"] == "yes"]
    assert readers == [
        "delta-explorer",
        "delta-spark",
        "delta-kernel-java",
        "delta-kernel-rs",
        "delta-rs",
        "trino",
        "duckdb-delta",
    ]
    assert sentence(folder) == (
        "19 of 36 engines can read this table, 7 of them proven; deletionVectors stops 7."
    )


def test_the_sentence_of_a_plain_table_names_nothing(folder: LogFolder) -> None:
    judged(folder, PROTOCOL)
    assert sentence(folder).endswith("; no reader is known to be stopped.")


def test_the_sentence_stays_short_whatever_a_feature_is_called(folder: LogFolder) -> None:
    judged(folder, features("x" * 5000))
    assert len(sentence(folder)) < 300


def test_a_version_of_the_past_is_judged_by_its_own_protocol(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata(), add("a")])
    folder.commit(1, [features("deletionVectors")])
    table = explorer.open_table(folder.root)
    verdicts = [
        {row["engine"]: row["can_read"] for row in look.engines(table, version).to_pylist()}["daft"]
        for version in (0, 1)
    ]
    assert verdicts == ["yes", "no"]
