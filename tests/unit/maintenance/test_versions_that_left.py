"""A promised version that a log cleanup took, before a run or beside it, is no broken promise; a
file that a version in the log has lost is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.log.actions.columns import string_column
from explorer.maintenance import Plan, StateFolder
from explorer.maintenance.plan.file_list import build_files, join_files
from explorer.progress import Progress
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import Lake, start, vacuum


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Version 1 removed a file long ago, and version 3 another one, which is kept; the log may
    be cut at version 2."""
    found = Lake(tmp_path)
    start(found, found.add("live"), found.add("gone"), found.add("kept"))
    found.commit(1, [found.remove("gone", age_days=9)], age_days=9)
    found.commit(2, [], age_days=8)
    held = [found.add("live"), found.add("kept"), found.remove("gone", age_days=9)]
    found.log.checkpoint(2, [FEATURE_PROTOCOL, metadata(), *held])
    found.commit(3, [found.remove("kept", age_days=2)], age_days=2)
    return found


@pytest.fixture
def plan(lake: Lake) -> Plan:
    found = vacuum(lake)
    assert found.promise.versions == {"3": 1, "1": None}
    return found


def clean(lake: Lake) -> None:
    """As another writer does it."""
    for version in (0, 1):
        (lake.log.log / f"{version:020}.json").unlink()


def while_it_runs(plan: Plan, work: Callable[[], None]) -> Callable[[Progress], None]:
    """Does something once the files of the plan are about to go."""
    reason = next(step.reason for step in plan.steps if step.kind == "delete_files")
    left = [work]

    def report(progress: Progress) -> None:
        if progress.label == reason and left:
            left.pop()()

    return report


def test_version_that_left_the_log_before_the_run_is_no_broken_promise(
    lake: Lake, plan: Plan
) -> None:
    clean(lake)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    assert not lake.there("gone")
    told = {check.what: check.detail for check in receipt.checks}
    assert all(check.holds for check in receipt.checks)
    assert told["version 1"] == "Version 1 had left the log before."
    assert told["version 2"] == "It opens, and its 2 files exist.", "the oldest one left"


def test_version_that_another_writer_cleans_up_beside_the_run_is_no_broken_promise(
    lake: Lake, plan: Plan
) -> None:
    receipt = lake.execute(plan, progress=while_it_runs(plan, lambda: clean(lake)))
    assert receipt.status == "completed"
    told = {check.what: check.detail for check in receipt.checks}
    assert told["version 1"] == "Version 1 left the log by a cleanup that is not part of this plan."
    assert "version 2" in told


@pytest.mark.parametrize("cleaned", [False, True], ids=["whole", "cleaned up"])
def test_file_that_a_version_in_the_log_lost_is_a_broken_promise(
    lake: Lake, plan: Plan, *, cleaned: bool
) -> None:
    """As if the plan had been wrong: it names a file that version 2 needs."""
    if cleaned:
        clean(lake)
    wrong = build_files(string_column(["kept"]), action="delete", reason="by mistake")
    receipt = lake.execute(replace(plan, files=join_files([wrong])))
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert receipt.problem.reason == "1 of its files are gone, among them 'kept'."


def test_hole_in_the_log_is_a_broken_promise(lake: Lake, plan: Plan) -> None:
    def damage() -> None:
        (lake.log.log / f"{1:020}.json").unlink()

    assert lake.execute(plan, progress=while_it_runs(plan, damage)).status == "failed"


def test_run_that_is_taken_up_again_remembers_which_versions_were_there(
    lake: Lake, plan: Plan
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.execute(plan, progress=while_it_runs(plan, interrupt))
    clean(lake)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    (told,) = (check.detail for check in receipt.checks if check.what == "version 1")
    assert "not part of this plan" in told
    begun = [x for x in StateFolder(lake.state).read_journal(plan.digest) if x["event"] == "begun"]
    assert [line["promised"] for line in begun] == [[1, 3], [2, 3]]


def test_version_that_a_plan_itself_took_from_the_log_is_a_broken_promise(
    lake: Lake, plan: Plan
) -> None:
    """As if a plan had been wrong: it promises a version and deletes its commit."""
    places = [f"_delta_log/{version:020}.json" for version in (0, 1)]
    wrong = build_files(string_column(places), action="delete", reason="by mistake")
    receipt = lake.execute(replace(plan, files=join_files([wrong])))
    assert receipt.status == "failed"
    assert receipt.problem is not None
    assert "Version 1 is not in this table's log" in receipt.problem.reason
