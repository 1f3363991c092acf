"""Features, and the commits that brought them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import StorageError
from explorer.protocol.schema import parse_schema
from explorer.storage.local import LocalStore
from explorer.table.table import Table
from tests.tables import PROTOCOL, Action, LogFolder, add, metadata


def protocol(*features: str, readers: tuple[str, ...] = ()) -> Action:
    body = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": body | {"readerFeatures": list(readers), "writerFeatures": list(features)}}


def info(operation: str) -> Action:
    return {"commitInfo": {"operation": operation, "userName": "ana", "engineInfo": "E/1"}}


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    return LogFolder(tmp_path / "table")


def rows_of(folder: LogFolder, version: int | None = None) -> dict[str, dict[str, Any]]:
    frame = look.features(explorer.open_table(folder.root), version)
    return {row["name"]: row for row in frame.to_pylist()}


def test_a_feature_is_traced_to_the_commit_and_line_that_added_it(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(1, [add("a")])
    folder.commit(2, [info("SET TBLPROPERTIES"), protocol("appendOnly", "domainMetadata")])
    rows = rows_of(folder)
    assert (rows["appendOnly"]["supported_since"], rows["appendOnly"]["supported_since_exact"]) == (
        0,
        True,
    )
    found = rows["domainMetadata"]
    assert (found["supported_since"], found["supported_since_exact"]) == (2, True)
    assert (
        found["supported_by_operation"],
        found["supported_by_user"],
        found["supported_by_engine"],
    ) == (
        "SET TBLPROPERTIES",
        "ana",
        "E/1",
    )
    assert (found["supported_log_file"], found["supported_line"]) == (
        "00000000000000000002.json",
        2,
    )


def test_a_feature_that_came_and_went_and_came_counts_from_its_last_coming(
    folder: LogFolder,
) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(1, [protocol()])
    folder.commit(2, [protocol("appendOnly")])
    assert rows_of(folder)["appendOnly"]["supported_since"] == 2
    gone = rows_of(folder, 1)["appendOnly"]
    assert (gone["supported"], gone["supported_since"]) == (False, None)


def test_a_feature_older_than_the_log_is_not_exact(folder: LogFolder) -> None:
    folder.checkpoint(5, [protocol("appendOnly"), metadata()])
    folder.commit(5, [add("a")])
    folder.commit(6, [protocol("appendOnly", "domainMetadata")])
    rows = rows_of(folder)
    old, new = rows["appendOnly"], rows["domainMetadata"]
    assert (old["supported_since"], old["supported_since_exact"], old["supported_log_file"]) == (
        5,
        False,
        None,
    )
    assert (new["supported_since"], new["supported_since_exact"]) == (6, True)


def test_a_feature_that_may_have_come_in_a_gap_is_not_exact(folder: LogFolder) -> None:
    folder.commit(0, [protocol(), metadata()])
    folder.checkpoint(3, [protocol("appendOnly"), metadata()])
    folder.commit(4, [protocol("appendOnly")])
    found = rows_of(folder)["appendOnly"]
    assert (found["supported_since"], found["supported_since_exact"]) == (4, False)


@pytest.mark.rule("feature-below-7-number-supports", "feature-supported-not-active")
def test_versions_below_the_lists_support_features_by_number(folder: LogFolder) -> None:
    folder.commit(0, [PROTOCOL, metadata(configuration={"delta.appendOnly": "true"})])
    rows = rows_of(folder)
    assert (rows["appendOnly"]["supported"], rows["appendOnly"]["active"]) == (True, True)
    assert (rows["invariants"]["supported"], rows["invariants"]["active"]) == (True, False)
    assert rows["deletionVectors"]["supported"] is False
    assert rows["deletionVectors"]["kind"] == "reader and writer"


@pytest.mark.rule("newer-open-and-name", "newer-unknown-blocks")
def test_features_of_a_refused_table_name_the_unknown_one(folder: LogFolder) -> None:
    folder.commit(0, [protocol("fromTheFuture", readers=("fromTheFuture",)), metadata()])
    found = rows_of(folder)["fromTheFuture"]
    assert (found["kind"], found["known"], found["supported"]) == ("unknown", False, True)
    assert found["supported_since"] == 0


def test_the_word_protocol_elsewhere_is_no_protocol(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(
        1, [add("a", tags={"protocol": "x"}), {"txn": {"appId": "protocol", "version": 1}}]
    )
    folder.commit(2, [{"commitInfo": {"protocol": {"minReaderVersion": 1}}}])
    assert rows_of(folder)["appendOnly"]["supported_since"] == 0


class _Counting(LocalStore):
    """A store that counts the commits that are read, and may keep one back."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.reads: list[str] = []
        self.kept_back: str | None = None

    def read(self, path: str, limit: int | None = None) -> bytes:
        if self.kept_back is not None and self.kept_back in path:
            raise StorageError("Not now.", reason="A test.", remedy="None.")
        self.reads.append(path)
        return super().read(path, limit)


def _since(table: Table, version: int | None = None) -> dict[str, int]:
    rows = look.features(table, version).to_pylist()
    return {row["name"]: row["supported_since"] for row in rows if row["supported"]}


def test_a_commit_is_read_once_for_its_protocol(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    for version in range(1, 30):
        folder.commit(version, [add(str(version))])
    store = _Counting(folder.root)
    table = Table(store)
    assert _since(table) == {"appendOnly": 0}
    folder.commit(30, [protocol("appendOnly", "domainMetadata")])
    store.reads.clear()
    assert _since(table) == {"appendOnly": 0, "domainMetadata": 30}
    again = len(store.reads)
    assert again < 10
    assert _since(table, 29) == {"appendOnly": 0}
    # a cleanup that took the oldest commits away is seen
    folder.checkpoint(10, [protocol("appendOnly"), metadata()])
    for version in range(10):
        (folder.log / f"{version:020}.json").unlink()
    assert _since(table) == {"appendOnly": 10, "domainMetadata": 30}


def test_a_table_made_anew_has_no_features_of_the_old_one(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    table = explorer.open_table(folder.root)
    assert _since(table) == {"appendOnly": 0}
    folder.commit(0, [protocol(), metadata(), add("other")])
    folder.time(0, 1_000_000_000_000)
    folder.commit(1, [protocol("appendOnly")])
    assert _since(table) == {"appendOnly": 1}


def test_a_commit_that_the_store_kept_back_is_asked_for_again(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(1, [protocol("appendOnly", "domainMetadata")])
    folder.commit(2, [protocol("appendOnly", "domainMetadata", "rowTracking")])
    folder.checkpoint(2, [protocol("appendOnly", "domainMetadata", "rowTracking"), metadata()])
    store = _Counting(folder.root)
    table = Table(store)
    store.kept_back = f"{1:020}.json"
    assert _since(table)["domainMetadata"] == 2
    store.kept_back = None
    assert _since(table)["domainMetadata"] == 1


def clustered(columns: str | None) -> Action:
    body = {"domain": "delta.clustering", "removed": columns is None}
    configuration = "" if columns is None else f'{{"clusteringColumns":{columns}}}'
    return {"domainMetadata": body | {"configuration": configuration}}


def since(row: dict[str, Any], state: str) -> tuple[int | None, bool | None]:
    return row[f"{state}_since"], row[f"{state}_since_exact"]


def test_supported_since_and_active_since_are_two_facts(folder: LogFolder) -> None:
    vectors = protocol("deletionVectors", readers=("deletionVectors",))
    on = metadata(configuration={"delta.enableDeletionVectors": "true"})
    folder.commit(0, [info("CREATE TABLE"), vectors, metadata()])
    folder.commit(1, [add("a")])
    folder.commit(2, [info("SET TBLPROPERTIES"), on])
    found = rows_of(folder)["deletionVectors"]
    assert (since(found, "supported"), since(found, "active")) == ((0, True), (2, True))
    assert (found["supported_by_operation"], found["active_by_operation"]) == (
        "CREATE TABLE",
        "SET TBLPROPERTIES",
    )
    assert (found["active_log_file"], found["active_line"]) == ("00000000000000000002.json", 2)
    folder.commit(3, [metadata()])
    assert since(rows_of(folder)["deletionVectors"], "active") == (None, None)
    folder.commit(4, [on])
    assert since(rows_of(folder)["deletionVectors"], "active") == (4, True)
    assert since(rows_of(folder, 2)["deletionVectors"], "active") == (2, True)


def test_feature_that_was_asked_for_first_is_active_since_it_is_supported(
    folder: LogFolder,
) -> None:
    on = metadata(configuration={"delta.enableDeletionVectors": "true"})
    folder.commit(0, [PROTOCOL, on])
    note = "properties or columns ask for it, and the protocol does not support it"
    assert rows_of(folder)["deletionVectors"]["note"] == note
    folder.commit(1, [protocol("deletionVectors", readers=("deletionVectors",))])
    found = rows_of(folder)["deletionVectors"]
    assert (since(found, "supported"), since(found, "active")) == ((1, True), (1, True))
    assert (found["note"], found["active_line"]) == (None, 1)


def test_feature_older_than_the_log_is_active_since_before_it(folder: LogFolder) -> None:
    on = metadata(configuration={"delta.appendOnly": "true"})
    folder.checkpoint(5, [protocol("appendOnly"), on])
    folder.commit(5, [add("a")])
    assert since(rows_of(folder)["appendOnly"], "active") == (5, False)


def test_clustering_is_active_while_there_are_columns(folder: LogFolder) -> None:
    features = ("clustering", "domainMetadata")
    folder.commit(0, [protocol(*features), metadata()])
    found = rows_of(folder)["clustering"]
    assert (found["active"], found["note"]) == (False, "clustered by no column")
    folder.commit(1, [clustered('[["id"]]')])
    found = rows_of(folder)["clustering"]
    assert (found["active"], found["note"], since(found, "active")) == (True, None, (1, True))
    assert found["active_line"] == 1
    folder.commit(2, [clustered("[]")])
    assert rows_of(folder)["clustering"]["active"] is False
    folder.commit(3, [clustered('[["id"]]')])
    folder.commit(4, [clustered(None)])
    assert rows_of(folder)["clustering"]["active"] is False
    assert look.describe(explorer.open_table(folder.root))["features"]["clustering"] == {
        "supported": True,
        "active": False,
        "note": "clustered by no column",
    }


def test_clustering_of_a_checkpoint_is_active_since_before_it(folder: LogFolder) -> None:
    features = protocol("clustering", "domainMetadata")
    folder.checkpoint(3, [features, metadata(), clustered('[["id"]]')])
    folder.commit(4, [add("a")])
    assert since(rows_of(folder)["clustering"], "active") == (3, False)


def test_clustering_of_a_refused_table_is_not_known(folder: LogFolder) -> None:
    listed = protocol("clustering", "domainMetadata", "mystery", readers=("mystery",))
    folder.commit(0, [listed, metadata(), clustered("[]")])
    found = rows_of(folder)
    assert found["clustering"]["active"] is None
    assert found["mystery"]["active"] is None


def test_in_commit_timestamps_as_a_mere_property_are_not_active(folder: LogFolder) -> None:
    on = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    folder.commit(0, [PROTOCOL, on])
    found = rows_of(folder)["inCommitTimestamp"]
    assert (found["supported"], found["active"]) == (False, False)
    assert "does not support it" in found["note"]
    assert rows_of(folder)["inCommitTimestamp-preview"]["note"] is None
    folder.commit(1, [protocol("inCommitTimestamp")])
    found = rows_of(folder)["inCommitTimestamp"]
    assert (found["supported"], found["active"]) == (True, False)
    assert found["note"] == (
        "its property is set, and the commit of version 1 has no in-commit timestamp"
    )
    folder.commit(2, [{"commitInfo": {"inCommitTimestamp": 1_700_000_000_000}}, add("a")])
    found = rows_of(folder)["inCommitTimestamp"]
    assert (found["active"], found["note"]) == (True, None)


def test_unknown_feature_is_not_active(folder: LogFolder) -> None:
    folder.commit(0, [protocol("mystery"), metadata()])
    found = rows_of(folder)["mystery"]
    assert (found["supported"], found["active"], found["active_since"]) == (True, None, None)
    described = look.describe(explorer.open_table(folder.root))["features"]["mystery"]
    assert described["active"] is None


def test_schema_whose_numbers_alone_change_is_parsed_once(
    folder: LogFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def parse(text: str) -> Any:
        seen.append(text)
        return parse_schema(text)

    monkeypatch.setattr("explorer.inspect.table_features._feature_log.parse_schema", parse)
    identity = (
        '{"type":"struct","fields":[{"name":"id_7","type":"long","nullable":true,"metadata":'
        '{"delta.identity.start":1,"delta.identity.step":1,"delta.identity.highWaterMark":%d,'
        '"delta.identity.allowExplicitInsert":false}}]}'
    )
    for version in range(5):
        first = [protocol("identityColumns")] if version == 0 else []
        folder.commit(version, [*first, metadata(schemaString=identity % version)])
    assert since(rows_of(folder)["identityColumns"], "active") == (0, True)
    assert len(seen) == 1
