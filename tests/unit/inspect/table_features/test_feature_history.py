"""Features, and the commits that brought them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.inspect as look
from explorer.errors import StorageError
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
    assert (rows["appendOnly"]["since_version"], rows["appendOnly"]["since_exact"]) == (0, True)
    found = rows["domainMetadata"]
    assert (found["since_version"], found["since_exact"]) == (2, True)
    assert (found["by_operation"], found["by_user"], found["by_engine"]) == (
        "SET TBLPROPERTIES",
        "ana",
        "E/1",
    )
    assert (found["log_file"], found["line"]) == ("00000000000000000002.json", 2)


def test_a_feature_that_came_and_went_and_came_counts_from_its_last_coming(
    folder: LogFolder,
) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(1, [protocol()])
    folder.commit(2, [protocol("appendOnly")])
    assert rows_of(folder)["appendOnly"]["since_version"] == 2
    gone = rows_of(folder, 1)["appendOnly"]
    assert (gone["supported"], gone["since_version"]) == (False, None)


def test_a_feature_older_than_the_log_is_not_exact(folder: LogFolder) -> None:
    folder.checkpoint(5, [protocol("appendOnly"), metadata()])
    folder.commit(5, [add("a")])
    folder.commit(6, [protocol("appendOnly", "domainMetadata")])
    rows = rows_of(folder)
    old, new = rows["appendOnly"], rows["domainMetadata"]
    assert (old["since_version"], old["since_exact"], old["log_file"]) == (5, False, None)
    assert (new["since_version"], new["since_exact"]) == (6, True)


def test_a_feature_that_may_have_come_in_a_gap_is_not_exact(folder: LogFolder) -> None:
    folder.commit(0, [protocol(), metadata()])
    folder.checkpoint(3, [protocol("appendOnly"), metadata()])
    folder.commit(4, [protocol("appendOnly")])
    found = rows_of(folder)["appendOnly"]
    assert (found["since_version"], found["since_exact"]) == (4, False)


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
    assert found["since_version"] == 0


def test_the_word_protocol_elsewhere_is_no_protocol(folder: LogFolder) -> None:
    folder.commit(0, [protocol("appendOnly"), metadata()])
    folder.commit(
        1, [add("a", tags={"protocol": "x"}), {"txn": {"appId": "protocol", "version": 1}}]
    )
    folder.commit(2, [{"commitInfo": {"protocol": {"minReaderVersion": 1}}}])
    assert rows_of(folder)["appendOnly"]["since_version"] == 0


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
    return {row["name"]: row["since_version"] for row in rows if row["supported"]}


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
