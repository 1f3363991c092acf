"""Clauses of the guards that no other test would miss: each was taken out once, and nothing else
noticed."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer import maintenance
from tests.tables import FEATURE_PROTOCOL, add, commit_name, metadata, vector
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned, start, vacuum


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def cut_at_sidecars(lake: Lake) -> Path:
    """Four versions, and a checkpoint of the third with one sidecar."""
    for version, age in enumerate((60, 50, 45, 5)):
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        lake.commit(version, [*first, lake.add(f"{version}.parquet")], age_days=age)
    actions = [
        FEATURE_PROTOCOL,
        metadata(),
        *(lake.add(f"{version}.parquet") for version in range(3)),
    ]
    lake.log.checkpoint(2, actions, form="v2-json", sidecars=1)
    (sidecar,) = (lake.log.log / "_sidecars").iterdir()
    return sidecar


def cleanup(lake: Lake, **options: Any) -> maintenance.Plan:
    return maintenance.plan_log_cleanup(lake.table, clock=lake.clock, **options)


def test_log_is_not_cut_at_a_checkpoint_whose_sidecar_is_broken(lake: Lake) -> None:
    sidecar = cut_at_sidecars(lake)
    assert f"_delta_log/{commit_name(0)}" in planned(cleanup(lake))
    sidecar.write_bytes(b"x" * sidecar.stat().st_size)
    assert not planned(cleanup(lake))


@pytest.mark.parametrize("what", ["gone", "cut short"])
@pytest.mark.parametrize("which", ["sidecar", "checkpoint"])
def test_log_is_not_cut_where_what_stands_for_it_is_no_longer_whole(
    which: str, what: str, lake: Lake
) -> None:
    sidecar = cut_at_sidecars(lake)
    (top,) = lake.log.log.glob("*.checkpoint.*.json")
    place = sidecar if which == "sidecar" else top
    plan = cleanup(lake)
    if what == "gone":
        place.unlink()
    else:
        place.write_bytes(place.read_bytes()[:-1])
    # a copy under the classic name may have been made before
    assert lake.execute(plan).status in {"refused", "partly"}
    assert all((lake.log.log / commit_name(version)).exists() for version in range(4))


@pytest.mark.parametrize(
    "newer",
    [
        metadata(configuration={"delta.logRetentionDuration": "interval 3000 days"}),
        FEATURE_PROTOCOL,
    ],
    ids=["metadata", "protocol"],
)
def test_log_is_not_cut_after_the_table_asked_for_something_else(newer: Any, lake: Lake) -> None:
    cut_at_sidecars(lake)
    plan = cleanup(lake)
    lake.commit(4, [newer], age_days=0)
    assert lake.execute(plan).status == "refused"
    assert (lake.log.log / commit_name(0)).exists()


def test_young_change_data_stays_where_the_log_alone_is_asked(lake: Lake) -> None:
    start(lake, lake.add("gone.parquet"))
    change = lake.file("_change_data/cdc-1.parquet")
    cdc = {"path": change, "partitionValues": {}, "size": 100, "dataChange": False}
    lake.commit(1, [lake.remove("gone.parquet", age_days=20)], age_days=20)
    lake.commit(2, [{"cdc": cdc}], age_days=3)
    assert [*planned(vacuum(lake, mode="lite"))] == ["gone.parquet"]


@pytest.mark.parametrize("mode", ["full", "lite"])
def test_removed_file_in_a_hidden_folder_is_never_touched(mode: str, lake: Lake) -> None:
    paths = ("_index/x.parquet", "a/.hidden/x.parquet")
    start(lake, *map(lake.add, paths))
    lake.commit(1, [lake.remove(path, age_days=20) for path in paths], age_days=20)
    plan = vacuum(lake, mode=mode)
    assert not planned(plan)
    assert all("hidden by its name" in planned(plan, "leave")[path] for path in paths)


def test_folder_of_changes_is_one_below_the_root_alone(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"))
    lake.file("c=1/_change_data/x.parquet")
    lake.file("_change_data/x.parquet")
    plan = vacuum(lake)
    assert [*planned(plan)] == ["_change_data/x.parquet"]
    assert "hidden by its name" in planned(plan, "leave")["c=1/_change_data/x.parquet"]


def test_file_that_a_checkpoint_alone_keeps_refuses_the_plan(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"))
    lake.file("stray.parquet")
    lake.commit(1, [], age_days=30)
    adds = [lake.add("a.parquet"), lake.add("phantom.parquet")]
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), *adds])
    plan = vacuum(lake)
    assert outcome(plan, "second route") == "refuse"
    assert plan.steps == ()
    assert "phantom.parquet" in planned(plan, "leave")


def test_file_that_was_written_again_seconds_after_the_plan_stays(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"))
    lake.file("stray.parquet")
    plan = vacuum(lake)
    time = ms_ago(40) / 1000 + 3
    os.utime(lake.root / "stray.parquet", (time, time))
    receipt = lake.execute(plan)
    assert lake.there("stray.parquet")
    assert sum(step.refused for step in receipt.steps) == 1
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert receipt.problem.problem == "1 of 1 planned file was not deleted."


def test_file_that_was_removed_once_more_after_the_plan_stays(lake: Lake) -> None:
    """Its retention begins anew: versions since had it."""
    start(lake, lake.add("gone.parquet"), lake.add("a.parquet"))
    lake.commit(1, [lake.remove("gone.parquet", age_days=20)], age_days=20)
    plan = vacuum(lake)
    assert [*planned(plan)] == ["gone.parquet"]
    lake.commit(2, [lake.remove("gone.parquet", age_days=0)], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert "Version 2, which came after it, changes a file of the plan" in receipt.problem.reason
    assert lake.there("gone.parquet")


def test_missing_file_that_another_took_out_of_the_table_is_not_taken_out_again(
    lake: Lake,
) -> None:
    start(lake, lake.add("lost.parquet"), lake.add("a.parquet"))
    (lake.root / "lost.parquet").unlink()
    plan = maintenance.plan_repair(lake.table, "files", clock=lake.clock)
    assert [*planned(plan, "remove")] == ["lost.parquet"]
    lake.commit(1, [lake.remove("lost.parquet", age_days=0)], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert lake.table.latest_version() == 1


@pytest.mark.parametrize("has_feed", [False, True])
def test_repair_of_files_counts_the_rows_that_were_there_and_says_what_the_feed_loses(
    lake: Lake, has_feed: bool
) -> None:
    stats = '{"numRecords":10}'
    deleted = {"stats": stats, "deletionVector": vector("u", storageType="i", cardinality=2)}
    start(
        lake,
        lake.add("lost.parquet", **deleted),
        lake.add("lost too.parquet", stats=stats),
        lake.add("a.parquet", stats=stats),
        configuration={"delta.enableChangeDataFeed": "true"} if has_feed else {},
    )
    for name in ("lost.parquet", "lost too.parquet"):
        (lake.root / name).unlink()
    plan = maintenance.plan_repair(lake.table, "files", clock=lake.clock)
    assert "2 missing files out of the table: 18 rows, which" in plan.summary
    lost = (
        "The change feed of the version that this makes, and so of every range with it, can never"
    )
    assert plan.summary.startswith(lost if has_feed else "Takes 2 missing files out")
    assert (plan.effect["rows"], plan.effect["breaks_change_feed"]) == (18, has_feed)


@pytest.mark.parametrize("said", [{}, {"stats": '{"numRecords":1}'}], ids=["nothing", "too few"])
def test_repair_of_files_makes_up_no_number_of_rows(lake: Lake, said: dict[str, str]) -> None:
    deleted = {"deletionVector": vector("u", storageType="i", cardinality=2)}
    start(lake, lake.add("lost.parquet", **deleted, **said), lake.add("a.parquet"))
    (lake.root / "lost.parquet").unlink()
    plan = maintenance.plan_repair(lake.table, "files", clock=lake.clock)
    assert "an unknown number of rows" in plan.summary


def test_commit_that_removes_another_file_leaves_the_plan_as_it_is(lake: Lake) -> None:
    start(lake, lake.add("gone.parquet"), lake.add("a.parquet"), lake.add("b.parquet"))
    lake.commit(1, [lake.remove("gone.parquet", age_days=20)], age_days=20)
    plan = vacuum(lake)
    lake.commit(2, [lake.remove("b.parquet", age_days=0)], age_days=0)
    assert lake.execute(plan).status == "completed"
    assert not lake.there("gone.parquet")
    assert lake.there("b.parquet")


def test_promised_version_with_other_files_than_planned_does_not_hold(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"), lake.add("b.parquet"))
    lake.file("stray.parquet")
    plan = vacuum(lake)
    lake.log.checkpoint(0, [FEATURE_PROTOCOL, metadata(), add("a.parquet", size=100)])
    receipt = lake.execute(plan)
    assert not all(check.holds for check in receipt.checks)
    assert receipt.status != "completed"


@pytest.mark.parametrize(("later_ms", "goes"), [(-1, True), (0, True), (1, False)])
def test_what_is_exactly_as_old_as_the_retention_goes(
    later_ms: int, goes: bool, lake: Lake
) -> None:
    start(lake, lake.add("gone.parquet"), lake.add("a.parquet"))
    stamp = ms_ago(8) + later_ms
    gone = lake.remove("gone.parquet", age_days=8)
    gone["remove"]["deletionTimestamp"] = stamp
    lake.commit(1, [gone], age_days=8)
    lake.file("stray.parquet")
    os.utime(lake.root / "stray.parquet", ns=(stamp * 1_000_000,) * 2)
    lake.file("_change_data/x.parquet")
    os.utime(lake.root / "_change_data/x.parquet", ns=(stamp * 1_000_000,) * 2)
    plan = vacuum(lake, timedelta(days=8))
    expected = {"gone.parquet", "stray.parquet", "_change_data/x.parquet"} if goes else set()
    assert planned(plan).keys() == expected
    assert ("gone.parquet" in planned(vacuum(lake, timedelta(days=8), mode="lite"))) == goes
    assert outcome(plan, "second route") == "allow"
