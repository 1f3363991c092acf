"""Vacuum under its guards: each refuses, warns or stops where it must."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import maintenance
from explorer.log.actions.columns import string_column
from explorer.maintenance.plan.file_list import build_files, join_files
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, metadata
from tests.unit.maintenance.lake import (
    DAY_MS,
    NOW_MS,
    Lake,
    ms_ago,
    outcome,
    planned,
    start,
    vacuum,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_retention_is_never_shorter_than_the_tables_own_without_a_word(lake: Lake) -> None:
    start(
        lake,
        lake.add("gone"),
        configuration={"delta.deletedFileRetentionDuration": "interval 30 days"},
    )
    lake.commit(1, [lake.remove("gone", age_days=20)], age_days=20)
    assert not planned(vacuum(lake))
    plan = vacuum(lake, timedelta(days=8))
    assert outcome(plan, "retention") == "warn"
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, True)
    assert lake.execute(plan, approval=maintenance.Approval(plan.digest)).status == "refused"
    for wrong in (("order", "space"), ("orders", " "), ("orders", None)):
        approval = maintenance.Approval(plan.digest, table_name=wrong[0], reason=wrong[1])
        assert lake.execute(plan, approval=approval).status == "refused"
        assert lake.there("gone")
    approval = maintenance.Approval(plan.digest, "me", table_name="orders", reason="no space")
    receipt = lake.execute(plan, approval=approval)
    assert (receipt.status, receipt.reason, receipt.approved_by) == ("completed", "no space", "me")
    assert not lake.there("gone")


@pytest.mark.parametrize("text", ["interval 3 months", "3 months", "90d", "90", "P90D", ""])
@pytest.mark.parametrize("asked", [None, timedelta(days=8), timedelta(days=4000)])
@pytest.mark.parametrize("mode", ["full", "lite"])
def test_a_retention_that_cannot_be_read_is_not_taken_for_the_default(
    lake: Lake, text: str, asked: timedelta | None, mode: Any
) -> None:
    start(lake, lake.add("gone"), configuration={"delta.deletedFileRetentionDuration": text})
    lake.commit(1, [lake.remove("gone", age_days=20)], age_days=20)
    plan = maintenance.plan_vacuum(lake.table, asked, mode=mode, clock=lake.clock)
    (verdict,) = (verdict for verdict in plan.verdicts if verdict.guard == "retention")
    assert verdict.outcome == "refuse"
    assert f"is `{text}`" in verdict.message
    assert "delta-explorer set TABLE 'delta.deletedFileRetentionDuration=" in verdict.remedy
    assert lake.execute(plan).status == "refused"
    assert lake.there("gone")


@pytest.mark.parametrize("mode", ["full", "lite"])
def test_of_no_file_is_it_said_that_a_retention_has_passed_which_cannot_be_read(
    lake: Lake, mode: Any
) -> None:
    configuration = {"delta.deletedFileRetentionDuration": "interval 1 month"}
    start(lake, lake.add("gone"), lake.add("undated"), configuration=configuration)
    undated = lake.remove("undated", age_days=30)
    del undated["remove"]["deletionTimestamp"]
    lake.commit(1, [lake.remove("gone", age_days=30), undated], age_days=30)
    lake.file("stray.parquet", age_days=30)
    plan = vacuum(lake, mode=mode)
    assert planned(plan) == {}
    assert plan.steps == ()
    assert plan.summary.startswith(
        "Nothing can be deleted: for how long the table keeps files cannot be read."
    )
    unknown = "but the retention of the table cannot be read"
    left = planned(plan, "leave")
    assert {name: text for name, text in left.items() if not text.endswith(unknown)} == {}
    if mode == "full":
        assert left.keys() == {"gone", "undated", "stray.parquet"}
    assert plan.files.column("deletable_from").null_count == plan.files.num_rows


def test_seven_days_are_the_least_even_where_the_table_says_less(lake: Lake) -> None:
    start(
        lake,
        lake.add("gone"),
        configuration={"delta.deletedFileRetentionDuration": "interval 1 day"},
    )
    lake.commit(1, [lake.remove("gone", age_days=5)], age_days=5)
    assert not planned(vacuum(lake))


@pytest.mark.parametrize(
    ("file_age", "commit_age", "said"),
    [(0.5, 9, "refuse"), (9, 0.5, "refuse"), (1.1, 9, "warn")],
    ids=["young file", "young commit", "all older"],
)
def test_below_a_day_nothing_may_be_younger_than_a_day(
    lake: Lake, file_age: float, commit_age: float, said: str
) -> None:
    start(lake, lake.add("live"))
    lake.commit(1, [], age_days=commit_age)
    lake.file("stray.parquet", age_days=file_age)
    assert outcome(vacuum(lake, timedelta(hours=1)), "retention") == said


@pytest.mark.rule("newer-vacuum-check-writer")
def test_unknown_writer_feature_refuses(lake: Lake) -> None:
    protocol = {
        "protocol": {
            "minReaderVersion": 1,
            "minWriterVersion": 7,
            "writerFeatures": ["vacuumProtocolCheck", "fromTheFuture"],
        }
    }
    lake.commit(0, [protocol, metadata(), lake.add("live")], age_days=40)
    lake.file("stray.parquet")
    plan = vacuum(lake)
    assert outcome(plan, "vacuum protocol") == "refuse"
    assert "fromTheFuture" in plan.refusals[0].message
    assert lake.execute(plan).status == "refused"
    assert lake.there("stray.parquet")


def test_gap_in_the_log_refuses(lake: Lake) -> None:
    start(lake, lake.add("live"))
    lake.commit(2, [lake.add("later")], age_days=20)
    lake.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(), lake.add("live"), lake.add("later")])
    lake.commit(3, [lake.add("last")], age_days=10)
    lake.file("stray.parquet")
    plan = vacuum(lake)
    assert outcome(plan, "log") == "refuse"
    assert "which versions become unreadable is unknown" in plan.summary


@pytest.mark.parametrize("what", ["commit", "file", "add", "remove", "in-commit timestamp"])
def test_time_ahead_of_the_clock_refuses(lake: Lake, what: str) -> None:
    ahead = -6 / (24 * 60)
    info = {"commitInfo": {"inCommitTimestamp": NOW_MS if what[:2] != "in" else ms_ago(ahead)}}
    lake.commit(0, [info, PROTOCOL, metadata(), lake.add("live")], age_days=40)
    actions = {
        "add": [lake.add("more", age_days=ahead)],
        "remove": [lake.remove("live", age_days=ahead)],
    }.get(what, [])
    lake.commit(1, [info, *actions], age_days=ahead if what == "commit" else 30)
    lake.file("more", age_days=40)
    lake.file("stray.parquet", age_days=ahead if what == "file" else 40)
    assert outcome(vacuum(lake), "clock") == "refuse"
    lake.now_ms += 2 * 60_000
    assert outcome(vacuum(lake), "clock") == "allow"


def test_checkpoint_that_lost_a_live_file_stops_the_plan_and_leaves_the_evidence(
    lake: Lake,
) -> None:
    start(lake, lake.add("a.parquet"), lake.add("lost.parquet"))
    lake.log.checkpoint(0, [FEATURE_PROTOCOL, metadata(), lake.add("a.parquet")])
    lake.file("stray.parquet")
    plan = vacuum(lake)
    assert outcome(plan, "second route") == "refuse"
    assert not planned(plan)
    assert "lost.parquet" in planned(plan, "leave")
    assert lake.execute(plan).status == "refused"
    saved = maintenance.StateFolder(lake.state).load_plan(plan.digest)
    assert saved.files.equals(plan.files)


def test_checkpoint_that_lost_a_tombstone_within_retention_stops_the_plan(lake: Lake) -> None:
    start(lake, lake.add("a.parquet"), lake.add("gone.parquet"))
    lake.commit(1, [lake.remove("gone.parquet", age_days=3)], age_days=3)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), lake.add("a.parquet")])
    assert outcome(vacuum(lake), "second route") == "refuse"


def test_tombstone_that_a_checkpoint_may_drop_still_counts_for_a_longer_retention(
    lake: Lake,
) -> None:
    start(lake, lake.add("a.parquet"), lake.add("gone.parquet"))
    lake.commit(1, [lake.remove("gone.parquet", age_days=20)], age_days=20)
    lake.log.checkpoint(1, [FEATURE_PROTOCOL, metadata(), lake.add("a.parquet")])
    assert list(planned(vacuum(lake))) == ["gone.parquet"]
    plan = vacuum(lake, timedelta(days=30))
    assert outcome(plan, "second route") == "allow"
    assert not planned(plan)


def test_commit_that_takes_a_planned_file_makes_the_plan_stale(lake: Lake) -> None:
    start(lake, lake.add("live"), lake.add("gone"))
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    plan = vacuum(lake)
    lake.commit(2, [lake.add("live-too")], age_days=0.1)
    lake.commit(3, [lake.add("gone")], age_days=0.1)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert "Version 3" in receipt.problem.reason
    assert lake.there("gone")
    assert lake.table.latest_version() == 3


def test_commit_that_takes_a_planned_change_file_makes_the_plan_stale(lake: Lake) -> None:
    start(lake, lake.add("live"))
    slow = lake.file("_change_data/slow.parquet")
    plan = vacuum(lake)
    assert list(planned(plan)) == [slow]
    change = {"path": slow, "partitionValues": {}, "size": 100, "dataChange": False}
    lake.commit(1, [{"cdc": change}], age_days=0.1)
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert "changes a file of the plan" in receipt.problem.reason
    assert lake.there(slow)


@pytest.mark.parametrize(
    "action",
    [metadata(configuration={"a": "b"}), PROTOCOL],
    ids=["metadata", "protocol"],
)
def test_commit_that_changes_the_table_makes_the_plan_stale(lake: Lake, action: Any) -> None:
    start(lake, lake.add("gone"))
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    plan = vacuum(lake)
    lake.commit(2, [action], age_days=0.1)
    assert lake.execute(plan).status == "refused"
    assert lake.there("gone")


def test_commit_that_touches_nothing_of_the_plan_does_no_harm(lake: Lake) -> None:
    start(lake, lake.add("gone"))
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    plan = vacuum(lake)
    lake.commit(2, [lake.add("more")], age_days=0.1)
    assert lake.execute(plan).status == "completed"
    assert not lake.there("gone")


def test_slow_writer_that_commits_its_stray_files_does_no_harm(lake: Lake) -> None:
    start(lake, lake.add("live"), lake.add("gone"))
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    lake.file("young.parquet", age_days=1)
    plan = vacuum(lake)
    assert "young.parquet" in planned(plan, "leave")
    lake.commit(2, [lake.add("young.parquet", age_days=1)], age_days=0.1)
    assert lake.execute(plan).status == "completed"
    assert lake.there("young.parquet")


@pytest.mark.slow
def test_restore_while_files_are_deleted_stops_the_run(lake: Lake) -> None:
    gone = [f"{number:04}" for number in range(2500)]
    start(lake, lake.add("live"), *(lake.add(path) for path in gone))
    lake.commit(1, [lake.remove(path, age_days=9) for path in gone], age_days=9)
    plan = vacuum(lake)

    def restore(progress: explorer.Progress) -> None:
        if progress.done == 1000 and lake.table.latest_version() == 2:
            lake.commit(3, [lake.add(gone[-1])], age_days=0)

    receipt = lake.execute(plan, progress=restore)
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (deletion.planned, deletion.done) == (2500, 1000)
    assert lake.there(gone[-1])


@pytest.mark.parametrize("mode", ["full", "lite"])
@pytest.mark.parametrize("lost", ["nothing", "a tombstone", "a live file"])
def test_tombstones_that_an_older_retention_let_go_are_no_disagreement(
    lake: Lake, mode: Any, lost: str
) -> None:
    """The checkpoint was written when files were kept for seven days; now it is thirty."""
    first = [FEATURE_PROTOCOL, metadata(), lake.add("live")]
    lake.commit(0, [*first, lake.add("gone"), lake.add("young")], age_days=40)
    gone = lake.remove("gone", age_days=20)
    young = lake.remove("young", age_days=5)
    lake.commit(1, [gone], age_days=20)
    lake.commit(2, [young], age_days=5)
    left_out = {"a tombstone": [first[2]], "a live file": [young]}
    lake.log.checkpoint(2, [*first[:2], *left_out.get(lost, [first[2], young])])
    longer = {"delta.deletedFileRetentionDuration": "interval 30 days"}
    lake.commit(3, [metadata(configuration=longer)], age_days=1)
    plan = vacuum(lake, mode=mode)
    assert outcome(plan, "second route") == ("allow" if lost == "nothing" else "refuse")
    assert not planned(plan)


def test_file_of_unknown_age_is_never_deleted(lake: Lake) -> None:
    start(lake, lake.add("live"))
    os.utime(lake.root / lake.file("undated.parquet"), (0, 0))
    plan = vacuum(lake)
    assert planned(plan, "leave") == {"undated.parquet": "foreign: its age is unknown"}
    assert plan.files.column("deletable_from").null_count == 1
    lake.now_ms += 400 * DAY_MS
    assert not planned(vacuum(lake))


@pytest.mark.parametrize("climbs", [False, True], ids=["absolute", "upward"])
def test_no_plan_deletes_what_lies_outside_of_the_table(lake: Lake, *, climbs: bool) -> None:
    start(lake, lake.add("live"))
    lake.file("stray.parquet")
    theirs = lake.root.parent / "theirs.parquet"
    theirs.write_bytes(b"x" * 100)
    path = "p=1/../../theirs.parquet" if climbs else str(theirs)
    (lake.root / "p=1").mkdir()
    made = vacuum(lake)
    # no planner lists it: this is what is left to stop a mistake of theirs
    more = build_files(string_column([path]), action="delete", reason="a mistake")
    plan = replace(made, files=join_files([made.files, more]))
    receipt = lake.execute(plan)
    (deletion,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (deletion.done, deletion.refused) == (1, 1)
    assert receipt.status == "partly"
    assert "out of the table" in deletion.exceptions[0].reason
    assert theirs.exists()


def test_file_that_was_written_again_after_the_plan_stays(lake: Lake) -> None:
    start(lake, lake.add("live"))
    for path in ("grown.parquet", "newer.parquet", "gone.parquet", "same.parquet"):
        lake.file(path)
    plan = vacuum(lake)
    lake.file("grown.parquet", size=200)
    lake.file("newer.parquet", age_days=0)
    os.unlink(lake.root / "gone.parquet")
    receipt = lake.execute(plan)
    (step,) = (step for step in receipt.steps if step.kind == "delete_files")
    assert (step.planned, step.done, step.refused, step.already_gone) == (4, 1, 2, 1)
    assert receipt.status == "partly"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert receipt.problem.problem == "2 of 4 planned files were not deleted."
    # nothing is left of this plan that could be done
    again = lake.execute(plan)
    assert (again.status, again.problem) == (receipt.status, receipt.problem)
    assert lake.there("grown.parquet")
    assert {found.path for found in step.exceptions} == {
        "grown.parquet",
        "newer.parquet",
        "gone.parquet",
    }
    assert lake.there("grown.parquet")
    assert lake.there("newer.parquet")
