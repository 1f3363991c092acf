"""The times of a log's commits, listed once for whoever asks."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from explorer.errors import NotFoundError
from explorer.log.commits import timed_listing
from explorer.log.commits.timed_listing import ListedTimes
from explorer.log.folder.listing import list_log
from explorer.storage.local import LocalStore
from explorer.storage.ports import ObjectInfo
from explorer.table.table import Table
from explorer.table.times import modification_times
from tests.tables import PROTOCOL, LogFolder, add, metadata

_START = 1_700_000_000_000


class _Counted(LocalStore):
    """A store that tells how often folders were listed with their times, and how many at once."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.listed = self.at_once = self._now = 0

    def list_folder(self, folder: str) -> list[ObjectInfo]:
        self.listed += 1
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        found = super().list_folder(folder)
        threading.Event().wait(0.02)
        self._now -= 1
        return found


@pytest.fixture
def folder(tmp_path: Path) -> LogFolder:
    made = LogFolder(tmp_path / "table")
    for version in range(100):
        made.commit(version, [PROTOCOL, metadata()] if version == 0 else [add(f"f{version}")])
        made.time(version, _START + 1000 * version)
    made.time(98, _START + 500_000)  # a clock that went back after it
    return made


@pytest.fixture
def is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred commits are as many as a long log has."""
    monkeypatch.setattr(timed_listing, "_LONG", 100)


def test_a_short_log_is_listed_each_time(folder: LogFolder) -> None:
    table = Table(LocalStore(str(folder.root)))
    assert _time(table, 99) == _START + 500_001
    folder.time(98, _START + 98_000)  # only the time of another commit changes
    assert _time(table, 99) == _START + 99_000


@pytest.mark.usefixtures("is_long")
def test_a_long_log_without_its_oldest_commit_is_listed_again(folder: LogFolder) -> None:
    folder.time(0, _START + 700_000)
    store = LocalStore(str(folder.root))
    listed = ListedTimes()
    assert listed.up_to(store, 99).file_times[99] == _START + 700_099
    (folder.log / f"{0:020}.json").unlink()
    assert listed.up_to(store, 99).file_times[99] == _START + 500_001
    with pytest.raises(NotFoundError, match="no longer in the log"):
        listed.up_to(store, 0)


@pytest.mark.usefixtures("is_long")
def test_a_snapshot_takes_its_time_from_what_was_listed(folder: LogFolder) -> None:
    store = _Counted(str(folder.root))
    table = Table(store)
    table.listed_times.list_log(store)
    assert _time(table, 99) == _START + 500_001
    assert _time(table, 97) == _START + 97_000
    assert store.listed == 1
    assert table.held_bytes > 0
    table.release()
    assert _time(table, 99) == _START + 500_001
    assert store.listed == 2


@pytest.mark.usefixtures("is_long")
def test_what_was_listed_is_not_taken_for_newer_commits_and_another_table(
    folder: LogFolder,
) -> None:
    store = _Counted(str(folder.root))
    table = Table(store)
    assert _time(table, 99) == _START + 500_001
    folder.commit(100, [add("new")])
    folder.time(100, _START + 600_000)
    assert _time(table, 100) == _START + 600_000
    folder.time(98, _START + 98_000)  # the table was made anew, so the file has another time
    folder.time(99, _START + 98_500)
    assert _time(table, 99) == _START + 98_500
    assert store.listed == 3


def test_a_commit_that_was_not_listed_is_asked_for_its_time(folder: LogFolder) -> None:
    store = LocalStore(str(folder.root))
    times = modification_times(store, list_log(store), range(100), lambda: {98: 5})
    assert times[97:] == [_START + 97_000, 5, _START + 99_000]


@pytest.mark.usefixtures("is_long")
def test_one_thread_at_a_time_lists(folder: LogFolder) -> None:
    store = _Counted(str(folder.root))
    listed = ListedTimes()
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(listed.up_to(store, 99).file_times[99]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [_START + 500_001] * 4
    assert (store.listed, store.at_once) == (1, 1)


def _time(table: Table, version: int) -> int:
    timestamp = table.snapshot(version=version).timestamp
    assert timestamp is not None
    return round(timestamp.timestamp() * 1000)
