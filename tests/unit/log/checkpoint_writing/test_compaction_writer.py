"""Log compaction files that we write say what their commits say, and no more."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import explorer
from explorer.errors import CorruptLogError, InvalidArgumentError, StorageError
from explorer.log.checkpoint_writing.compaction_writer import WrittenCompaction, write_compaction
from explorer.log.folder.listing import list_log
from explorer.storage.local import LocalStore
from explorer.table.snapshot import Snapshot
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, LogFolder, add, metadata, remove, vector

_APP = "3ae45b72-24e1-865a-a211-34987ae02f2a"


def _write(log: LogFolder, first: int, last: int) -> WrittenCompaction:
    store = LocalStore(str(log.root))
    return write_compaction(store, list_log(store), first, last)


def _lines(log: LogFolder, written: WrittenCompaction) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (log.root / written.file.path).read_bytes().splitlines()]


def _shown(snapshot: Snapshot) -> tuple[object, ...]:
    files = snapshot.files(["path", "size", "stats", "deletion_vector", "tags"]).to_pylist()
    tombstones = snapshot.tombstones().to_pylist()
    return (
        sorted(files, key=str),
        sorted(tombstones, key=str),
        snapshot.protocol,
        snapshot.metadata,
        snapshot.transactions,
        snapshot.domains,
    )


@pytest.mark.rule("compaction-name", "compaction-row-per-action", "compaction-keeps-removes")
@pytest.mark.rule("compaction-drops-commitinfo", "compaction-latest-txn", "compaction-content")
def test_example_of_the_specification(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), add("f1")])
    for version in range(1, 4):
        log.commit(version, [add(f"old-{version}")])
    log.commit(4, [{"commitInfo": {}}, add("f2"), remove("f1")])
    txn = [{"txn": {"appId": _APP, "version": number}} for number in (4389, 4390)]
    log.commit(5, [{"commitInfo": {}}, add("f3"), add("f4"), txn[0]])
    log.commit(6, [{"commitInfo": {}}, remove("f3"), txn[1], {"cdc": {"path": "c"}}])
    written = _write(log, 4, 6)
    name = "00000000000000000004.00000000000000000006.compacted.json"
    assert written.file.path == f"_delta_log/{name}"
    expected = [add("f2"), add("f4"), remove("f1"), remove("f3"), txn[1]]
    assert sorted(_lines(log, written), key=str) == sorted(expected, key=str)
    assert (written.num_adds, written.num_removes, written.num_others) == (2, 2, 1)


def _random_log(log: LogFolder, seed: int) -> None:
    chance = random.Random(seed)
    log.commit(0, [FEATURE_PROTOCOL, metadata()])
    live: dict[str, Any] = {}
    for version in range(1, 30):
        actions: list[Any] = [{"commitInfo": {"operation": "WRITE"}}]
        for path in chance.sample(sorted(live), min(len(live), chance.randrange(3))):
            gone = live.pop(path)
            actions.append(remove(path, deletionVector=gone.get("deletionVector"), later=version))
            if chance.random() < 0.3:
                found = add(path, deletionVector=vector(offset=version), tags={"k": "é"})
                live[path] = found["add"]
                actions.append(found)
        found = add(f"{version}-ä.parquet", stats='{"numRecords":1}', unknown={"deep": [version]})
        live[found["add"]["path"]] = found["add"]
        actions.append(found)
        if chance.random() < 0.3:
            actions.append({"txn": {"appId": str(chance.randrange(3)), "version": version}})
        if chance.random() < 0.3:
            gone_domain = chance.random() < 0.5
            body = {"domain": str(chance.randrange(2)), "configuration": "{}"}
            actions.append({"domainMetadata": body | {"removed": gone_domain}})
        if chance.random() < 0.1:
            actions.append(metadata(description=str(version)))
        log.commit(version, actions)


@pytest.mark.slow
@pytest.mark.rule("compaction-content", "compaction-replaces-commits")
@pytest.mark.parametrize("seed", range(6))
def test_every_version_is_the_same_with_compactions(seed: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    _random_log(log, seed)
    before = [_shown(explorer.open_table(log.root).snapshot(version=at)) for at in range(30)]
    chance = random.Random(seed)
    for _ in range(4):
        first = chance.randrange(28)
        _write(log, first, chance.randrange(first + 1, 30))
    for version in range(30):
        snapshot = explorer.open_table(log.root).snapshot(version=version)
        assert _shown(snapshot) == before[version]
        assert snapshot.problems == ()


@pytest.mark.rule("compaction-content")
def test_removed_domain_stays_removed(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    domain = {"domain": "d", "configuration": "{}", "removed": False}
    log.commit(0, [FEATURE_PROTOCOL, metadata(), {"domainMetadata": domain}])
    log.commit(1, [{"domainMetadata": {**domain, "removed": True}}])
    log.commit(2, [add("a")])
    _write(log, 1, 2)
    (log.log / f"{1:020}.json").write_text("")  # only the compaction can tell now
    assert explorer.open_table(log.root).snapshot().domains == {}


def test_fields_that_nobody_knows_are_kept(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    new = {"list": [1, {"a": None}], "big": 2**63}
    log.commit(0, [PROTOCOL, metadata(new=new), add("a", new=new)])
    log.commit(1, [remove("b", new=new)])
    lines = _lines(log, _write(log, 0, 1))
    bodies = [body for line in lines for body in line.values() if "new" in body]
    assert [body["new"] for body in bodies] == [new, new, new]


def test_last_of_two_actions_of_one_commit_counts(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata(), remove("a"), add("a", size=7)])
    log.commit(1, [add("b")])
    _write(log, 0, 1)
    snapshot = explorer.open_table(log.root).snapshot()
    assert snapshot.size_in_bytes == 107
    assert snapshot.num_tombstones == 0


@pytest.mark.parametrize(("first", "last"), [(2, 2), (3, 2), (-1, 2), (1, 9), (3, 5)], ids=str)
def test_range_that_is_none_is_refused(first: int, last: int, tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    for version in (1, 2, 3, 5):
        log.commit(version, [add(str(version))])
    with pytest.raises(InvalidArgumentError):
        _write(log, first, last)
    assert not list(log.log.glob("*.compacted.json"))


def test_range_that_says_nothing_is_refused(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    log.commit(1, [{"commitInfo": {}}])
    log.commit(2, [{"commitInfo": {}}])
    with pytest.raises(InvalidArgumentError, match="no action"):
        _write(log, 1, 2)
    assert sorted(entry.name for entry in log.log.iterdir()) == [
        f"{version:020}.json" for version in range(3)
    ]


def test_commit_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    log.commit(0, [PROTOCOL, metadata()])
    log.write(f"{1:020}.json", '{"add":{"path":"a"')
    log.commit(2, [add("a")])
    with pytest.raises(CorruptLogError, match=":1"):
        _write(log, 0, 2)
    assert len(list(log.log.iterdir())) == 3


class _Tearing(LocalStore):
    """A store that loses the end of every compaction that it is given."""

    def write(self, path: str, data: bytes) -> None:
        super().write(path, data[:-20] if path.endswith(".compacted.json") else data)

    open_output = None  # type: ignore[assignment]  # so that it is no `OutputStore`


def test_compaction_that_does_not_read_back_is_deleted(tmp_path: Path) -> None:
    log = LogFolder(tmp_path / "t")
    _random_log(log, 1)
    before = _shown(explorer.open_table(log.root).snapshot())
    store = _Tearing(str(log.root))
    with pytest.raises(CorruptLogError, match="read back"):
        write_compaction(store, list_log(store), 1, 5)
    assert not list(log.log.glob("*.compacted.json"))
    assert _shown(explorer.open_table(log.root).snapshot()) == before


def test_store_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogFolder(tmp_path / "t")
    _random_log(log, 1)
    monkeypatch.setattr("os.replace", _refuse)
    with pytest.raises(StorageError):
        _write(log, 1, 5)
    assert sorted(entry.name for entry in log.log.iterdir()) == [
        f"{version:020}.json" for version in range(30)
    ]


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture
def long_log(tmp_path: Path) -> Iterator[LogFolder]:
    log = LogFolder(tmp_path / "t")
    _random_log(log, 3)
    yield log
    shutil.rmtree(log.root)


def test_deltalake_reads_a_table_with_our_compaction(long_log: LogFolder) -> None:
    before = sorted(DeltaTable(long_log.root).file_uris())
    _write(long_log, 2, 28)
    assert sorted(DeltaTable(long_log.root).file_uris()) == before
