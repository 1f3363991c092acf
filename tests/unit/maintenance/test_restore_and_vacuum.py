"""Restore and vacuum on one table: what one brings back the other must not delete."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.errors import StorageError
from explorer.maintenance import plan_restore
from explorer.storage.local import LocalStore
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import DAY_MS, Lake, outcome, planned, start, vacuum


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    found = Lake(tmp_path)
    found.commit(
        0,
        [FEATURE_PROTOCOL, metadata(), found.add("a.parquet"), found.add("b.parquet")],
        age_days=20,
    )
    found.commit(1, [found.remove("a.parquet", age_days=8)], age_days=8)
    return found


def test_restore_planned_before_a_vacuum_brings_no_deleted_file_back(lake: Lake) -> None:
    restore = plan_restore(lake.table, 0, clock=lake.clock)
    assert lake.execute(vacuum(lake)).status == "completed"
    newest = lake.table.latest_version()
    receipt = lake.execute(restore)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert "vacuum" in f"{receipt.problem.problem} {receipt.problem.reason}".lower()
    assert lake.table.latest_version() == newest


def test_restore_looks_for_its_files_once_more(lake: Lake) -> None:
    restore = plan_restore(lake.table, 0, clock=lake.clock)
    (lake.root / "a.parquet").unlink()  # by an engine that does not log its vacuum
    receipt = lake.execute(restore)
    assert (receipt.status, lake.table.latest_version()) == ("refused", 1)
    assert receipt.problem is not None
    assert "a.parquet" in receipt.problem.reason


@pytest.mark.parametrize(("ended", "verdict"), [(False, "refuse"), (True, "allow")])
def test_restore_waits_for_a_vacuum_that_is_under_way(
    lake: Lake, ended: bool, verdict: str
) -> None:
    lake.commit(2, [{"commitInfo": {"operation": "VACUUM START"}}], age_days=0.01)
    if ended:
        lake.commit(3, [{"commitInfo": {"operation": "VACUUM END"}}], age_days=0.005)
    assert outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == verdict


def test_end_of_another_vacuum_is_not_the_end_of_the_first(lake: Lake) -> None:
    for number, operation in enumerate(("VACUUM START", "VACUUM START", "VACUUM END"), 2):
        info = {"commitInfo": {"operation": operation}}
        lake.commit(number, [info], age_days=0.01 / number)
    assert outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == "refuse"


def test_vacuum_that_was_broken_off_days_ago_is_no_obstacle(lake: Lake) -> None:
    lake.commit(2, [{"commitInfo": {"operation": "VACUUM START"}}], age_days=3)
    assert outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == "allow"


def test_vacuum_is_seen_however_many_commits_came_since(lake: Lake) -> None:
    lake.commit(2, [{"commitInfo": {"operation": "VACUUM START"}}], age_days=0.5)
    for version in range(3, 260):
        lake.commit(version, [{"commitInfo": {"operation": "WRITE"}}], age_days=0.001)
    assert outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == "refuse"


class _Refusing(LocalStore):
    """Deletes nothing."""

    def delete(self, path: str) -> None:
        raise StorageError(f"{path} stays.", reason="A test says so.", remedy="None.")


@pytest.mark.parametrize(("hours", "finishes"), [(22, True), (24, False)])
def test_vacuum_that_was_broken_off_deletes_nothing_once_no_restore_waits_for_it(
    lake: Lake, hours: int, finishes: bool
) -> None:
    plan = vacuum(lake)
    receipt = lake.execute(plan, table=explorer.Table(_Refusing(str(lake.root))))
    assert receipt.status == "partly"
    lake.log.time(2, lake.now_ms)  # files have the time of the system
    lake.now_ms += hours * DAY_MS // 24
    waits = outcome(plan_restore(lake.table, 0, clock=lake.clock), "files") == "refuse"
    assert waits == finishes
    again = lake.execute(plan)
    assert again.status == ("completed" if finishes else "partly")
    assert lake.there("a.parquet") != finishes
    if not finishes:
        assert again.problem is not None
        assert "no longer waits" in again.problem.reason
        assert lake.execute(vacuum(lake)).status == "completed"
        assert not lake.there("a.parquet")


def test_retention_of_what_a_restore_removes_counts_from_its_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.commit(0, [FEATURE_PROTOCOL, metadata(), lake.add("a.parquet")], age_days=20)
    lake.commit(1, [lake.add("b.parquet")], age_days=9)
    restore = plan_restore(lake.table, 0, clock=lake.clock)
    lake.now_ms += 8 * DAY_MS
    assert lake.execute(restore).status == "completed"
    assert "b.parquet" not in planned(vacuum(lake))


def test_young_change_data_is_kept_whatever_its_folder(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    start(lake, lake.add("a.parquet"), configuration={"delta.enableChangeDataFeed": "true"})
    lake.file("ab/cdc-1.parquet", age_days=9)
    change = {"path": "ab/cdc-1.parquet", "partitionValues": {}, "size": 100, "dataChange": False}
    lake.commit(1, [{"cdc": change}, lake.remove("a.parquet", age_days=5)], age_days=5)
    assert "ab/cdc-1.parquet" not in planned(vacuum(lake))


def test_commit_that_comes_while_vacuum_plans_is_no_disagreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(tmp_path)
    start(lake, lake.add("a.parquet"), lake.add("b.parquet"))
    names = LocalStore.list_names
    came: list[int] = []

    def listing_then_a_commit(store: LocalStore, folder: str) -> list[str]:
        found = names(store, folder)
        if folder == "_delta_log" and not came:
            came.append(1)
            lake.commit(
                1, [lake.add("c.parquet"), lake.remove("a.parquet", age_days=0)], age_days=0
            )
        return found

    monkeypatch.setattr(LocalStore, "list_names", listing_then_a_commit)
    plan = vacuum(lake)
    assert came
    assert outcome(plan, "second route") == "allow"
