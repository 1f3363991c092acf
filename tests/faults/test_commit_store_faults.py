"""Every request of a commit fails, is lost, comes twice or comes late, each in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest

import explorer
from explorer.errors import DeltaError, StorageError
from explorer.storage.local import LocalStore
from explorer.storage.ports import Content, ObjectInfo, PutOutcome
from explorer.transaction.commit import Committed, Retries, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_version import NO_TABLE, read_version_of
from explorer.transaction.staged import StagedCommit
from tests.unit.transaction.stages import add, features, metadata, stage

Fault = Literal["fails", "is lost", "comes twice", "comes late"]
TRACKED = features("rowTracking", "domainMetadata")
AT_ONCE = Retries(limit=20, pause=lambda _: None)


class Faulty(LocalStore):
    """A local store whose request number `at` (from 1) is not what it should be."""

    def __init__(self, root: str, at: int, fault: Fault, meanwhile: Callable[[], None]) -> None:
        super().__init__(root)
        self.requests = 0
        self._at, self._fault, self._meanwhile = at, fault, meanwhile

    def _request(self, work: Callable[[], Any]) -> Any:
        self.requests += 1
        if self.requests != self._at:
            return work()
        if self._fault == "fails":
            raise StorageError("It failed.", reason="A test.", remedy="None.")
        if self._fault == "is lost":
            work()
            raise StorageError("Its answer was lost.", reason="A test.", remedy="None.")
        if self._fault == "comes late":
            self._meanwhile()
        else:
            work()
        return work()

    def stat(self, path: str) -> ObjectInfo:
        return self._request(lambda: LocalStore.stat(self, path))

    def read(self, path: str, limit: int | None = None) -> bytes:
        return self._request(lambda: LocalStore.read(self, path, limit))

    def list_names(self, folder: str) -> list[str]:
        return self._request(lambda: LocalStore.list_names(self, folder))

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        return self._request(lambda: LocalStore.put_if_absent(self, path, data))


def attempt(store: LocalStore, staged: StagedCommit) -> Committed | Conflict:
    return commit(store, staged, clock=lambda: 1, retries=AT_ONCE)


def append(store: LocalStore, name: str) -> StagedCommit:
    read = read_version_of(explorer.open_table(store.uri).snapshot())
    return stage(add(name), upon=read, transaction_id=name)


def committed(store: LocalStore) -> list[str]:
    """The transactions of the log, which has no gap."""
    names = sorted(name for name in store.list_names("_delta_log"))
    assert names == [f"{version:020}.json" for version in range(len(names))]
    heads = [store.read(f"_delta_log/{name}").splitlines()[0] for name in names]
    return [orjson.loads(line)["commitInfo"]["txnId"] for line in heads]


@pytest.mark.rule("log-never-overwrite", "log-versions-contiguous", "log-unit-of-atomicity")
@pytest.mark.parametrize("overtaken", [False, True], ids=["alone", "overtaken"])
@pytest.mark.parametrize("fault", ["fails", "is lost", "comes twice", "comes late"])
def test_whatever_happens_to_a_request_the_commit_is_there_once_or_not_at_all(
    fault: Fault, overtaken: bool, tmp_path: Path
) -> None:
    number, seen = 1, 0
    while number <= seen + 1:  # one more than there are: without a fault
        sound = LocalStore(str(tmp_path / f"{number}"))
        creation = stage(TRACKED, metadata(), upon=NO_TABLE, transaction_id="creation")
        assert isinstance(attempt(sound, creation), Committed)
        mine = append(sound, "mine")
        others = ["creation"]
        if overtaken:
            attempt(sound, append(sound, "first"))
            others.append("first")

        def meanwhile(store: LocalStore = sound, names: list[str] = others) -> None:
            attempt(store, append(store, "late"))
            names.append("late")

        store = Faulty(sound.uri, number, fault, meanwhile)
        try:
            done = attempt(store, mine)
        except DeltaError:
            done = None
        seen, number = max(seen, store.requests), number + 1
        found = committed(sound)
        assert sorted(name for name in found if name != "mine") == sorted(others)
        assert found.count("mine") == (isinstance(done, Committed) or "mine" in found)
        if isinstance(done, Committed):
            assert found[done.version] == "mine"
        if "mine" not in found:  # then it can be made
            assert isinstance(attempt(sound, mine), Committed)
        files = explorer.open_table(sound.uri).snapshot().files(["path", "base_row_id"])
        assert sorted(files["path"].to_pylist()) == sorted({*others, "mine"} - {"creation"})
        assert sorted(files["base_row_id"].to_pylist()) == list(range(0, 10 * files.num_rows, 10))
    assert seen >= (5 if overtaken else 2)


def test_a_put_that_failed_after_it_arrived_is_a_commit(tmp_path: Path) -> None:
    sound = LocalStore(str(tmp_path))
    creation = stage(TRACKED, metadata(), upon=NO_TABLE, transaction_id="creation")
    attempt(sound, creation)
    store = Faulty(sound.uri, 2, "is lost", lambda: None)
    assert attempt(store, append(sound, "mine")) == Committed(version=1, timestamp=1)


def test_a_put_that_failed_and_did_not_arrive_is_told_by_its_own_error(tmp_path: Path) -> None:
    """A store that refuses says why, and five more requests would say no more than that."""
    sound = LocalStore(str(tmp_path))
    creation = stage(TRACKED, metadata(), upon=NO_TABLE, transaction_id="creation")
    attempt(sound, creation)
    store = Faulty(sound.uri, 2, "fails", lambda: None)
    with pytest.raises(StorageError, match="It failed"):
        attempt(store, append(sound, "mine"))
    assert store.requests == 3, "the base, the put, and what became of it"
    assert committed(sound) == ["creation"]
