"""Commits that meet others, and stores that do not say what they did."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import orjson
import pytest

import explorer
from explorer.errors import CancelledError, CorruptLogError, StorageError, UnsupportedError
from explorer.progress import Cancel
from explorer.protocol.actions import Metadata, Protocol
from explorer.protocol.file_actions import AddFile, RemoveFile
from explorer.protocol.filenames import render_commit_path
from explorer.storage.local import LocalStore
from explorer.storage.ports import PutOutcome, WriteStore
from explorer.transaction.attempt import build_attempt
from explorer.transaction.commit import Committed, Retries, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_set import NOTHING
from explorer.transaction.read_version import NO_TABLE, ReadVersion, read_version_of
from explorer.transaction.staged import Provenance, StagedCommit

NOW = 1_700_000_000_000
AT_ONCE = Retries(limit=20, pause=lambda _: None)
SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
METADATA = Metadata(
    id="af23c9d7-fff1-4a5a-a2c8-55c59bd782aa",
    schema_string=SCHEMA,
    configuration={"delta.enableInCommitTimestamps": "true"},
)
PROTOCOL = Protocol(
    min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",)
)
WITHOUT_TIMES = replace(METADATA, configuration={})


class Interfering(LocalStore):
    """A local store on which something happens just before a commit is put."""

    def __init__(self, root: str, before_put: Callable[[str], None]) -> None:
        super().__init__(root)
        self._before_put = before_put

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        self._before_put(path)
        return super().put_if_absent(path, data)


class Unsure(LocalStore):
    """A store that says UNKNOWN to the first puts; `arrives` says which of them take effect."""

    def __init__(self, root: str, arrives: list[bool]) -> None:
        super().__init__(root)
        self._arrives = list(arrives)
        self.puts = 0

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        self.puts += 1
        if not self._arrives:
            return super().put_if_absent(path, data)
        if self._arrives.pop(0):
            super().put_if_absent(path, data)
        return PutOutcome.UNKNOWN


def staged(version: int, last_timestamp: int = NOW, metadata: Metadata = METADATA) -> StagedCommit:
    """An append upon `version`, or with -1 what creates the table."""
    unique = str(uuid4())
    add = AddFile(path=f"{unique}.parquet", partition_values={}, size=1, modification_time=NOW)
    base = ReadVersion(
        version=version, protocol=PROTOCOL, metadata=metadata, timestamp=last_timestamp
    )
    return StagedCommit(
        base=NO_TABLE if version < 0 else base,
        reads=NOTHING,
        provenance=Provenance(operation="WRITE", transaction_id=unique, engine_info="test"),
        actions=(metadata, PROTOCOL) if version < 0 else (add,),
    )


@pytest.fixture
def table(tmp_path: Path) -> LocalStore:
    """A table at version 0, committed at `NOW`."""
    (tmp_path / "_delta_log").mkdir()
    store = LocalStore(str(tmp_path))
    assert commit(store, staged(-1), clock=lambda: NOW) == Committed(version=0, timestamp=NOW)
    return store


def infos(store: WriteStore) -> list[dict]:
    names = sorted(name for name in store.list_names("_delta_log") if name.endswith(".json"))
    first = [store.read(f"_delta_log/{name}").splitlines()[0] for name in names]
    return [orjson.loads(line)["commitInfo"] for line in first]


@pytest.mark.rule("newer-commit-timestamp-first-action")
def test_first_line_is_the_commit_info_with_its_timestamp(table: LocalStore) -> None:
    commit(table, staged(0), clock=lambda: NOW + 5)
    assert infos(table)[1]["inCommitTimestamp"] == infos(table)[1]["timestamp"] == NOW + 5
    assert infos(table)[1]["readVersion"] == 0
    assert "readVersion" not in infos(table)[0]


@pytest.mark.rule("newer-commit-timestamp-monotonic")
def test_timestamp_grows_even_where_the_clock_goes_back(table: LocalStore) -> None:
    assert commit(table, staged(0), clock=lambda: NOW - 60_000) == Committed(
        version=1, timestamp=NOW + 1
    )


@pytest.mark.rule("newer-commit-timestamp-monotonic")
@pytest.mark.parametrize(("behind_ms", "warned"), [(299_000, False), (301_000, True)])
def test_commit_far_ahead_of_this_clock_is_made_and_says_so(
    table: LocalStore, behind_ms: int, warned: bool
) -> None:
    done = commit(table, staged(0), clock=lambda: NOW - behind_ms)
    assert isinstance(done, Committed)
    assert (done.version, done.timestamp) == (1, NOW + 1)
    assert ["ahead of this clock" in found.problem for found in done.warnings] == [True] * warned


def test_without_in_commit_timestamps_the_clock_is_taken_as_it_is(table: LocalStore) -> None:
    written = table.stat(render_commit_path(0)).modified_ms
    plain = staged(0, written, metadata=WITHOUT_TIMES)
    done = commit(table, plain, clock=lambda: NOW - 60_000)
    assert done == Committed(version=1, timestamp=NOW - 60_000)
    assert "inCommitTimestamp" not in infos(table)[1]


@pytest.mark.rule("log-never-overwrite", "log-next-version")
def test_append_that_loses_the_race_follows_the_winner(table: LocalStore) -> None:
    def win(path: str) -> None:
        if path.endswith("1.json"):
            commit(table, staged(0), clock=lambda: NOW + 500)

    store = Interfering(table.uri, win)
    assert commit(store, staged(0), clock=lambda: NOW) == Committed(version=2, timestamp=NOW + 501)
    assert [info.get("readVersion") for info in infos(table)] == [None, 0, 0]


def test_conflicting_loser_gets_the_conflict_and_leaves_the_log_alone(table: LocalStore) -> None:
    remove = RemoveFile(path="x.parquet", deletion_timestamp=NOW, partition_values={}, size=1)
    mine, theirs = (replace(staged(0), actions=(remove,)) for _ in range(2))
    assert isinstance(commit(table, theirs, clock=lambda: NOW), Committed)
    outcome = commit(table, mine, clock=lambda: NOW)
    assert isinstance(outcome, Conflict)
    assert (outcome.version, outcome.rule) == (1, "concurrent delete-delete")
    assert [info["txnId"] for info in infos(table)][1:] == [theirs.provenance.transaction_id]


@pytest.mark.rule("log-never-overwrite")
def test_two_creators_make_one_table(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    store = LocalStore(str(tmp_path))
    first, second = (commit(store, staged(-1), clock=lambda: NOW) for _ in range(2))
    assert isinstance(first, Committed)
    assert isinstance(second, Conflict)


@pytest.mark.parametrize(
    ("arrives", "puts"),
    [([True], 1), ([False], 2), ([False, True], 2), ([False, False, False], 4)],
    ids=["arrived", "lost, then created", "lost, then arrived", "lost three times"],
)
def test_unknown_outcome_is_resolved_by_reading_back(
    table: LocalStore, arrives: list[bool], puts: int
) -> None:
    store = Unsure(table.uri, arrives)
    assert commit(store, staged(0), clock=lambda: NOW) == Committed(version=1, timestamp=NOW + 1)
    assert store.puts == puts
    assert len(infos(table)) == 2


def test_unknown_outcome_that_was_another_writers_commit_is_a_lost_race(table: LocalStore) -> None:
    commit(table, staged(0), clock=lambda: NOW)
    done = commit(Unsure(table.uri, [False]), staged(0), clock=lambda: NOW)
    assert isinstance(done, Committed)
    assert done.version == 2


def test_put_that_arrives_late_is_recognised_as_ours(table: LocalStore) -> None:
    mine = staged(0)

    class Late(Unsure):
        def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
            if self.puts == 1:  # the first put takes effect only now
                LocalStore.put_if_absent(self, path, data)
            return super().put_if_absent(path, data)

    assert commit(Late(table.uri, [False]), mine, clock=lambda: NOW) == Committed(
        version=1, timestamp=NOW + 1
    )
    assert len(infos(table)) == 2


class Unseeing(Unsure):
    """A store that cannot be read for a while, either."""

    def __init__(self, root: str, arrives: list[bool], failures: int) -> None:
        super().__init__(root, arrives)
        self._failures = failures

    def read(self, path: str, limit: int | None = None) -> bytes:
        if self.puts and self._failures:
            self._failures -= 1
            raise StorageError("It failed.", reason="A test.", remedy="None.")
        return super().read(path, limit)


@pytest.mark.parametrize("arrives", [[True], [False, True], []])
def test_a_commit_that_cannot_be_read_back_at_once_is_looked_for_again(
    table: LocalStore, arrives: list[bool]
) -> None:
    store = Unseeing(table.uri, arrives, failures=1)
    done = commit(store, staged(0), clock=lambda: NOW, retries=AT_ONCE)
    assert done == Committed(version=1, timestamp=NOW + 1)
    assert len(infos(table)) == 2


def test_a_commit_that_can_never_be_read_back_may_be_there(table: LocalStore) -> None:
    store = Unseeing(table.uri, [True], failures=99)
    with pytest.raises(StorageError, match="outcome of a commit is unknown") as error:
        commit(store, staged(0), clock=lambda: NOW, retries=AT_ONCE)
    assert "before trying again" in error.value.remedy
    assert len(infos(table)) == 2


class Refusing(Unsure):
    """A store that loses track of its first put, and lets nobody write any more."""

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        if self.puts:
            raise StorageError("It is read-only.", reason="A test.", remedy="None.")
        return super().put_if_absent(path, data)


def test_a_refusal_says_nothing_of_a_request_before_it(table: LocalStore) -> None:
    store = Refusing(table.uri, [False])
    with pytest.raises(StorageError, match="outcome of a commit is unknown"):
        commit(store, staged(0), clock=lambda: NOW, retries=AT_ONCE)


def _drop(folder: Path) -> None:
    shutil.rmtree(folder)


def _put_back(folder: Path) -> None:
    """An older copy of the log takes its place."""
    (folder / f"{1:020}.json").unlink()


def _begin_anew(folder: Path) -> None:
    """Another table, of as many versions."""
    commits = sorted(folder.glob("*.json"))
    for number, name in enumerate(commits):
        text = name.read_text()
        name.write_text(text.replace('"inCommitTimestamp":1', '"inCommitTimestamp":2'))
        os.utime(name, (number, number))


@pytest.mark.rule("log-versions-contiguous")
@pytest.mark.parametrize("metadata", [METADATA, WITHOUT_TIMES], ids=["own times", "file times"])
@pytest.mark.parametrize("happens", [_drop, _put_back, _begin_anew])
def test_nothing_is_committed_upon_a_version_that_is_no_longer_there(
    tmp_path: Path, happens: Callable[[Path], None], metadata: Metadata
) -> None:
    folder = tmp_path / "_delta_log"
    store = LocalStore(str(tmp_path))
    commit(store, staged(-1, metadata=metadata), clock=lambda: NOW)
    commit(store, _append(store), clock=lambda: NOW)
    mine = _append(store)
    happens(folder)
    before = sorted(folder.glob("*"))
    done = commit(store, mine, clock=lambda: NOW)
    assert isinstance(done, Conflict)
    assert (done.rule, done.version) == ("commit gone", 1)
    assert "no longer what it was" in done.as_error().problem
    assert sorted(folder.glob("*")) == before


def test_a_version_whose_commit_a_checkpoint_took_over_can_be_built_upon(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    commit(store, staged(-1, metadata=WITHOUT_TIMES), clock=lambda: NOW)
    mine = _append(store)
    (tmp_path / "_delta_log" / f"{0:020}.json").rename(
        tmp_path / "_delta_log" / f"{0:020}.checkpoint.parquet"  # none looks into it
    )
    assert isinstance(commit(store, mine, clock=lambda: NOW), Committed)


def _append(store: LocalStore) -> StagedCommit:
    read = read_version_of(explorer.open_table(store.uri).snapshot())
    return replace(staged(0), base=read)


def test_a_winner_that_is_still_empty_is_not_followed(table: LocalStore) -> None:
    """A writer that creates a file and then writes it looks so in between."""
    mine = staged(0)
    (Path(table.uri) / "_delta_log" / f"{1:020}.json").write_bytes(b"")
    with pytest.raises(CorruptLogError, match="is empty"):
        commit(table, mine, clock=lambda: NOW)


def test_a_winner_without_the_time_that_it_had_to_say_is_not_followed(table: LocalStore) -> None:
    mine = staged(0)
    text = '{"commitInfo":{"operation":"WRITE"}}\n'
    (Path(table.uri) / "_delta_log" / f"{1:020}.json").write_text(text)
    with pytest.raises(UnsupportedError, match="when version 1 was committed"):
        commit(table, mine, clock=lambda: NOW)


@pytest.mark.parametrize("version", ['"7"', str(2**63), "null"])
def test_a_winner_that_no_reader_can_read_is_not_followed(table: LocalStore, version: str) -> None:
    mine = staged(0)
    text = f'{{"commitInfo":{{}}}}\n{{"txn":{{"appId":"a","version":{version}}}}}\n'
    (Path(table.uri) / "_delta_log" / f"{1:020}.json").write_text(text)
    with pytest.raises(CorruptLogError, match=r"txn\.version"):
        commit(table, mine, clock=lambda: NOW)


def test_outcome_that_stays_unknown_is_an_error_that_says_so(table: LocalStore) -> None:
    with pytest.raises(StorageError, match="unknown"):
        commit(Unsure(table.uri, [False] * 99), staged(0), clock=lambda: NOW)
    assert len(infos(table)) == 1


def test_cancelled_commit_is_not_made(table: LocalStore) -> None:
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(CancelledError):
        commit(table, staged(0), clock=lambda: NOW, cancel=cancel)
    assert len(infos(table)) == 1


@pytest.mark.rule("log-atomic-primitives", "log-never-overwrite", "log-versions-contiguous")
@pytest.mark.rule("newer-commit-timestamp-monotonic", "older-003-atomic-exclusive")
def test_writers_that_race_all_commit_once_and_in_order(table: LocalStore) -> None:
    writers, rounds = 6, 8
    start = threading.Barrier(writers)

    def write(_: int) -> list[str]:
        start.wait()
        mine = [staged(0) for _ in range(rounds)]
        for one in mine:
            assert isinstance(commit(table, one, clock=lambda: NOW), Committed)
        return [one.provenance.transaction_id for one in mine]

    with ThreadPoolExecutor(writers) as pool:
        made = [unique for ids in pool.map(write, range(writers)) for unique in ids]
    found = infos(table)[1:]
    assert sorted(info["txnId"] for info in found) == sorted(made)
    times = [info["inCommitTimestamp"] for info in infos(table)]
    assert times == list(range(NOW, NOW + writers * rounds + 1))
    snapshot = explorer.open_table(table.uri).snapshot()
    assert (snapshot.version, snapshot.num_files) == (writers * rounds, writers * rounds)


@pytest.mark.rule("log-unit-of-atomicity")
def test_half_written_commit_of_a_crashed_writer_is_not_seen(table: LocalStore) -> None:
    data = build_attempt(staged(0), NOW).head
    (Path(table.uri) / "_delta_log" / ".tmp-crashed").write_bytes(data[: len(data) // 2])
    assert explorer.open_table(table.uri).latest_version() == 0
    assert commit(table, staged(0), clock=lambda: NOW) == Committed(version=1, timestamp=NOW + 1)
