"""Version checksums that we write say what their versions hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import CorruptLogError, InvalidArgumentError, StorageError
from explorer.inspect.health.version_checksum import validate_checksum
from explorer.log.checkpoint_writing.checkpoint_writer import build_content
from explorer.log.checkpoint_writing.checksum_writer import (
    SIZES_FROM,
    build_checksum,
    write_checksum,
)
from explorer.log.load import LoadedVersion
from explorer.protocol.version_checksum import (
    parse_version_checksum,
    render_version_checksum,
)
from explorer.storage.local import LocalStore
from explorer.storage.ports import PutOutcome
from explorer.table.snapshot import Snapshot
from tests.conftest import CORPUS
from tests.tables import FEATURE_PROTOCOL, LogFolder, add, metadata, remove, vector

_REAL = ("spark44-cdf-all-operations", "spark44-v2-checkpoint-sidecars", "spark44-row-tracking")


def _loaded(snapshot: Snapshot) -> LoadedVersion:
    return snapshot.consult(lambda loaded: loaded)


def _log(root: Path) -> LogFolder:
    """Four versions: an add, one with a vector, a file added anew, a remove of nothing."""
    log = LogFolder(root)
    txn = {"txn": {"appId": "a", "version": 7}}
    domains = [
        {"domainMetadata": {"domain": name, "configuration": "{}", "removed": gone}}
        for name, gone in (("kept", False), ("gone", True))
    ]
    info = {"commitInfo": {"inCommitTimestamp": 1_700_000_000_000, "txnId": "t-0"}}
    log.commit(0, [info, FEATURE_PROTOCOL, metadata(), txn, *domains, add("a", size=5)])
    big = add("b", size=2**40, deletionVector=vector(cardinality=12))
    log.commit(1, [big, add("c", size=10_000)])
    log.commit(2, [add("a", size=6, stats='{"numRecords":1}')])
    log.commit(3, [remove("nothing"), remove("c"), add("d", size=None)])
    return log


@pytest.mark.rule(
    "newer-checksum-required", "newer-checksum-optional", "newer-checksum-deleted-histogram"
)
def test_checksum_of_a_state(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    snapshot = explorer.open_table(log.root).snapshot(version=1)
    body = json.loads(render_version_checksum(build_checksum(_loaded(snapshot))))
    assert (body["numFiles"], body["tableSizeBytes"]) == (3, 5 + 2**40 + 10_000)
    assert (body["numMetadata"], body["numProtocol"]) == (1, 1)
    assert body["protocol"] == FEATURE_PROTOCOL["protocol"]
    assert body["metadata"]["schemaString"] == metadata()["metaData"]["schemaString"]
    assert body["setTransactions"] == [{"appId": "a", "version": 7}]
    assert [found["domain"] for found in body["domainMetadata"]] == ["kept"]
    assert (body["numDeletedRecordsOpt"], body["numDeletionVectorsOpt"]) == (12, 1)
    counts = body["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"]
    assert counts == [2, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    sizes = body["fileSizeHistogram"]
    assert (sizes["fileCounts"][0], sizes["totalBytes"][0]) == (1, 5)
    assert (sizes["fileCounts"][1], sizes["totalBytes"][1]) == (1, 10_000)
    assert (sizes["fileCounts"][-1], sizes["totalBytes"][-1]) == (1, 2**40)
    assert "txnId" not in body


def test_checksum_repeats_what_the_commit_says_of_itself(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    checksum = build_checksum(_loaded(explorer.open_table(log.root).snapshot(version=0)))
    assert (checksum.txn_id, checksum.in_commit_timestamp) == ("t-0", 1_700_000_000_000)


@pytest.mark.rule(
    "newer-checksum-required", "newer-checksum-optional", "newer-checksum-deleted-histogram"
)
@pytest.mark.parametrize("name", _REAL)
def test_checksum_of_a_real_version_is_that_of_the_reference(name: str) -> None:
    table = explorer.open_table(CORPUS / "tables" / name)
    for file in sorted((CORPUS / "tables" / name / "_delta_log").glob("*.crc")):
        theirs = parse_version_checksum(file.read_bytes(), file.name)
        ours = build_checksum(_loaded(table.snapshot(version=int(file.stem))))
        assert ours.file_sizes == theirs.file_sizes
        for field in ("num_files", "table_size_bytes", "metadata", "txn_id", "domains"):
            assert getattr(ours, field) == getattr(theirs, field), (file.name, field)
        for field in ("num_deleted_records", "num_deletion_vectors", "deleted_record_counts"):
            assert getattr(theirs, field) in {None, getattr(ours, field)}, (file.name, field)


def test_bins_are_those_of_the_reference() -> None:
    file = CORPUS / "tables" / _REAL[0] / "_delta_log" / f"{1:020}.crc"
    body = json.loads(file.read_bytes())
    assert list(SIZES_FROM) == body["fileSizeHistogram"]["sortedBinBoundaries"]


def test_written_checksum_agrees_with_its_log(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    store, table = LocalStore(str(log.root)), explorer.open_table(log.root)
    for version in range(4):
        snapshot = table.snapshot(version=version)
        checksum = build_checksum(_loaded(snapshot))
        assert write_checksum(store, version, checksum)
        assert parse_version_checksum(store.read(_path(version)), "") == checksum
        assert validate_checksum(store, snapshot) == []


def test_checksum_says_nothing_of_transactions_that_may_expire(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    conf = {"delta.setTransactionRetentionDuration": "interval 1 day"}
    txn = {"txn": {"appId": "a", "version": 7, "lastUpdated": 1}}
    log.commit(0, [FEATURE_PROTOCOL, metadata(configuration=conf), txn, add("a")])
    store, table = LocalStore(str(log.root)), explorer.open_table(log.root)
    write_checksum(store, 0, build_checksum(_loaded(table.snapshot())))
    assert "setTransactions" not in json.loads(store.read(_path(0)))
    checkpoint = build_content(_loaded(table.snapshot()), datetime.now(UTC))
    assert checkpoint.transactions == ()
    log.checkpoint(0, [FEATURE_PROTOCOL, metadata(configuration=conf), add("a")])
    snapshot = explorer.open_table(log.root).snapshot()
    assert not snapshot.transactions
    assert validate_checksum(store, snapshot) == []
    without = metadata(configuration=conf | {"delta.setTransactionRetentionDuration": "soon"})
    log.commit(1, [without])
    checksum = build_checksum(_loaded(explorer.open_table(log.root).snapshot()))
    assert checksum.transactions == ()


def _path(version: int) -> str:
    return f"_delta_log/{version:020}.crc"


@pytest.mark.rule("newer-checksum-never-overwritten")
def test_checksum_that_is_there_stays(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    log.write(f"{1:020}.crc", "theirs")
    store = LocalStore(str(log.root))
    checksum = build_checksum(_loaded(explorer.open_table(log.root).snapshot(version=1)))
    assert not write_checksum(store, 1, checksum)
    assert store.read(_path(1)) == b"theirs"


@pytest.mark.rule("newer-checksum-after-commit")
def test_checksum_without_its_commit_is_refused(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    store = LocalStore(str(log.root))
    checksum = build_checksum(_loaded(explorer.open_table(log.root).snapshot()))
    with pytest.raises(InvalidArgumentError, match="no such commit"):
        write_checksum(store, 4, checksum)
    assert not list(log.log.glob("*.crc"))


class _Losing(LocalStore):
    """A store that says nothing certain, and keeps half."""

    def put_if_absent(self, path: str, data: Any) -> PutOutcome:
        super().put_if_absent(path, data[: len(data) // 2])
        return PutOutcome.UNKNOWN


def test_checksum_that_does_not_read_back_is_told(tmp_path: Path) -> None:
    log = _log(tmp_path / "t")
    checksum = build_checksum(_loaded(explorer.open_table(log.root).snapshot()))
    with pytest.raises(StorageError, match="read back"):
        write_checksum(_Losing(str(log.root)), 3, checksum)


@pytest.mark.parametrize("size", [-1, 2**62], ids=str)
def test_sizes_that_add_up_to_none_have_no_checksum(size: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [FEATURE_PROTOCOL, metadata(), add("a", size=size), add("b", size=2 * size // 2)])
    loaded = _loaded(explorer.open_table(log.root).snapshot())
    with pytest.raises(CorruptLogError, match="add up"):
        build_checksum(loaded)
