"""Commits to a log of which only checkpoints are left, or that a checkpoint went past."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.protocol.filenames import render_commit_path
from explorer.storage.local import LocalStore
from explorer.storage.ports import Content, PutOutcome
from explorer.transaction.commit import Committed, commit
from explorer.transaction.conflicts import Conflict
from explorer.transaction.read_version import NO_TABLE, ReadVersion, read_version_of
from tests.unit.transaction.stages import METADATA, PLAIN, add, stage


class CutBefore(LocalStore):
    """A local store whose log loses its commits just before the first put."""

    def put_if_absent(self, path: str, data: Content) -> PutOutcome:
        without_commits(self, 1, 3)
        return super().put_if_absent(path, data)


def append(store: LocalStore, name: str, upon: ReadVersion | None = None) -> Committed | Conflict:
    staged = stage(add(name), upon=upon or newest(store), transaction_id=name)
    return commit(store, staged, clock=lambda: 1)


def newest(store: LocalStore) -> ReadVersion:
    return read_version_of(explorer.open_table(store.uri).snapshot())


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A table at version 0."""
    made = LocalStore(str(tmp_path))
    creation = stage(PLAIN, METADATA, upon=NO_TABLE, transaction_id="creation")
    assert commit(made, creation, clock=lambda: 1) == Committed(version=0, timestamp=1)
    return made


def without_commits(store: LocalStore, *checkpoints: int) -> None:
    """The log as it is where only checkpoints are left, which nobody reads here."""
    for version in checkpoints:
        store.write(f"_delta_log/{version:020}.checkpoint.parquet", b"")
    for name in store.list_names("_delta_log"):
        if name.endswith(".json"):
            store.delete(f"_delta_log/{name}")


@pytest.mark.parametrize("base", [None, 0, 1], ids=["creator", "no checkpoint", "checkpoint"])
@pytest.mark.parametrize("hours", [0, 2])
def test_nothing_is_committed_below_a_checkpoint_that_is_all_that_is_left(
    store: LocalStore, base: int | None, hours: int
) -> None:
    for name in "abc":
        append(store, name)
    table = explorer.open_table(store.uri)
    read = NO_TABLE if base is None else read_version_of(table.snapshot(version=base))
    without_commits(store, 1, 3)
    late = (read.timestamp or 0) + hours * 3_600_000
    first = (PLAIN, METADATA) if base is None else ()
    done = commit(store, stage(*first, add("lost"), upon=read), clock=lambda: late)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (read.version + 1, "commit gone")
    assert not Path(store.uri, render_commit_path(read.version + 1)).exists()


def test_a_commit_that_only_a_checkpoint_went_past_is_taken_away_and_told(
    store: LocalStore,
) -> None:
    read = newest(store)
    append(store, "a")
    late = (read.timestamp or 0) + 2 * 3_600_000
    done = commit(CutBefore(store.uri), stage(add("late"), upon=read), clock=lambda: late)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (1, "commit gone")
    assert not Path(store.uri, render_commit_path(1)).exists()


def test_a_winner_that_lies_alone_below_a_checkpoint_is_not_the_last(store: LocalStore) -> None:
    """Its writer was lost before it could take it away."""
    read = newest(store)
    append(store, "stranded")
    store.write(f"_delta_log/{5:020}.checkpoint.parquet", b"")
    done = append(store, "late", read)
    assert isinstance(done, Conflict)
    assert (done.version, done.rule) == (2, "commit gone")


def test_half_a_checkpoint_says_nothing_of_the_newest_version(store: LocalStore) -> None:
    read = newest(store)
    part = f"{9:020}.checkpoint.{1:010}.{2:010}.parquet"
    store.write(f"_delta_log/{part}", b"")
    assert append(store, "a", read) == Committed(version=1, timestamp=1)
    assert append(store, "late", read) == Committed(version=2, timestamp=1)
