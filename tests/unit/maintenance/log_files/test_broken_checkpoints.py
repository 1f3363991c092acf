"""Repairing checkpoints: what is broken, what is not, and what is lost with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import DeltaError, StorageError
from explorer.maintenance import Plan, plan_log_cleanup, plan_repair
from explorer.storage.local import LocalStore
from explorer.table.table import Table
from tests.tables import FEATURE_PROTOCOL, Action, commit_name, metadata
from tests.unit.maintenance.lake import Lake, outcome, planned


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def history(lake: Lake, count: int) -> list[Action]:
    """As many commits of one file each, some days old; all actions."""
    head = [FEATURE_PROTOCOL, metadata()]
    files = [lake.add(f"{version}.parquet") for version in range(count)]
    for version, file in enumerate(files):
        lake.commit(version, [*head, file] if version == 0 else [file], age_days=50 - version)
    return [*head, *files]


def tear(*places: Path) -> None:
    for place in places:
        place.write_bytes(place.read_bytes()[:100])


def repair(lake: Lake) -> Plan:
    return plan_repair(lake.table, "checkpoint", clock=lake.clock)


@pytest.mark.parametrize("other", ["multi-part", "v2-parquet", "v2-json"])
def test_two_sound_checkpoints_of_one_version_are_left_alone(lake: Lake, other: Any) -> None:
    actions = history(lake, 3)
    lake.log.checkpoint(2, actions)
    lake.log.checkpoint(2, actions, form=other)
    assert repair(lake).steps == ()


def test_copy_under_the_classic_name_is_left_alone_and_its_broken_twin_goes(lake: Lake) -> None:
    actions = history(lake, 3)
    (named,) = lake.log.checkpoint(1, actions[:-1], form="v2-parquet")
    assert lake.execute(plan_log_cleanup(lake.table, clock=lake.clock)).status == "completed"
    assert lake.there(f"_delta_log/{1:020}.checkpoint.parquet")
    assert repair(lake).steps == ()
    tear(named)
    plan = repair(lake)
    assert list(planned(plan)) == [f"_delta_log/{named.name}"]
    assert plan.effect["lost_versions"] == []
    assert lake.execute(plan).status == "completed"
    assert lake.table.snapshot(version=1).num_files == 2


class Flaky(LocalStore):
    """Cannot read one file now."""

    def open_input(self, path: str) -> Any:
        if path.endswith(f"{1:020}.checkpoint.parquet"):
            raise StorageError("It timed out.", reason="The store is slow.", remedy="Try again.")
        return super().open_input(path)


def test_store_that_fails_makes_no_checkpoint_broken(lake: Lake) -> None:
    actions = history(lake, 4)
    lake.log.checkpoint(1, actions[:4])
    lake.log.checkpoint(3, actions)
    with pytest.raises(DeltaError, match="timed out"):
        plan_repair(Table(Flaky(str(lake.root))), "checkpoint", clock=lake.clock)


def test_checkpoint_that_can_be_read_again_stays(lake: Lake) -> None:
    actions = history(lake, 3)
    (place,) = lake.log.checkpoint(1, actions[:-1])
    whole, times = place.read_bytes(), place.stat().st_mtime
    place.write_bytes(b"x" * len(whole))
    os.utime(place, (times, times))
    plan = repair(lake)
    place.write_bytes(whole)
    os.utime(place, (times, times))
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert "is sound now" in receipt.problem.reason
    assert place.read_bytes() == whole


def test_broken_checkpoint_that_was_written_again_stays_and_the_receipt_says_so(
    lake: Lake,
) -> None:
    actions = history(lake, 4)
    (place,) = lake.log.checkpoint(1, actions[:4])
    lake.log.checkpoint(3, actions)
    tear(place)
    plan = repair(lake)
    assert [step.kind for step in plan.steps] == ["delete_files"]
    place.write_bytes(b"still broken, of another size")
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_stale"
    assert receipt.problem.problem == "1 of 1 planned file was not deleted."
    assert place.exists()


def test_missing_sidecar_breaks_a_checkpoint(lake: Lake) -> None:
    actions = history(lake, 3)
    (place,) = lake.log.checkpoint(2, actions, form="v2-json", sidecars=1)
    (sidecar,) = (lake.log.log / "_sidecars").iterdir()
    sidecar.unlink()
    assert list(planned(repair(lake))) == [f"_delta_log/{place.name}"]


def cut(lake: Lake, first: int) -> None:
    for version in range(first):
        (lake.log.log / commit_name(version)).unlink()


def test_versions_that_go_with_a_broken_checkpoint_are_named_and_name_and_reason_are_asked_for(
    lake: Lake,
) -> None:
    actions = history(lake, 8)
    (place,) = lake.log.checkpoint(3, actions[:6])
    lake.log.checkpoint(6, actions[:9])
    cut(lake, 3)
    tear(place)
    plan = repair(lake)
    assert plan.effect["lost_versions"] == [[3, 5]]
    assert "versions 3–5" in plan.summary
    assert "nothing is lost" not in plan.summary
    assert outcome(plan, "reach") == "warn"
    (verdict,) = (each for each in plan.verdicts if each.guard == "reach")
    assert (verdict.asks_for_name, verdict.asks_for_reason) == (True, True)


def test_nothing_is_lost_where_commits_or_an_earlier_checkpoint_lead_there(lake: Lake) -> None:
    actions = history(lake, 6)
    lake.log.checkpoint(1, actions[:4])
    (place,) = lake.log.checkpoint(3, actions[:6])
    cut(lake, 2)
    tear(place)
    plan = repair(lake)
    assert plan.effect["lost_versions"] == []
    assert "nothing is lost" in plan.summary
    assert outcome(plan, "reach") == "allow"
    assert lake.execute(plan).status == "completed"
    assert [explorer.open_table(lake.root).snapshot(version=at).num_files for at in (3, 4)] == [
        4,
        5,
    ]


def test_none_is_written_where_the_newest_version_has_a_sound_one(lake: Lake) -> None:
    actions = history(lake, 3)
    (place,) = lake.log.checkpoint(0, actions[:3])
    lake.log.checkpoint(2, actions)
    tear(place)
    plan = repair(lake)
    assert [step.kind for step in plan.steps] == ["delete_files"]
    assert "writes" not in plan.summary


def test_hint_to_a_broken_one_is_led_to_the_sound_one(lake: Lake) -> None:
    actions = history(lake, 3)
    (place,) = lake.log.checkpoint(0, actions[:3])
    lake.log.checkpoint(2, actions)
    lake.log.hint(0)
    tear(place)
    plan = repair(lake)
    assert [step.kind for step in plan.steps] == ["delete_files", "write_hint"]
    assert lake.execute(plan).status == "completed"
    assert b'"version":2' in (lake.log.log / "_last_checkpoint").read_bytes()
    assert not lake.table.snapshot().problems


def led_to(lake: Lake) -> int | None:
    """Carry out the repair of the hint; what it names then."""
    plan = plan_repair(lake.table, "hint", clock=lake.clock)
    if plan.steps:
        assert lake.execute(plan).status == "completed"
    place = lake.log.log / "_last_checkpoint"
    return json.loads(place.read_bytes())["version"] if place.exists() else None


@pytest.mark.parametrize("before", [None, 0], ids=["missing", "stale"])
def test_hint_that_is_missing_or_stale_is_led_to_the_newest_checkpoint(
    lake: Lake, before: int | None
) -> None:
    actions = history(lake, 3)
    lake.log.checkpoint(0, actions[:3])
    lake.log.checkpoint(2, actions)
    if before is not None:
        lake.log.hint(before)
    assert led_to(lake) == 2
    assert not plan_repair(lake.table, "hint", clock=lake.clock).steps


@pytest.mark.parametrize("before", [None, 0])
def test_hint_is_led_to_no_checkpoint_that_cannot_be_read(lake: Lake, before: int | None) -> None:
    actions = history(lake, 3)
    lake.log.checkpoint(0, actions[:3])
    tear(*lake.log.checkpoint(2, actions))
    if before is not None:
        lake.log.hint(before)
    assert led_to(lake) == 0


def test_hint_to_a_broken_checkpoint_is_for_the_repair_of_checkpoints(lake: Lake) -> None:
    actions = history(lake, 3)
    lake.log.checkpoint(0, actions[:3])
    tear(*lake.log.checkpoint(2, actions))
    lake.log.hint(2)
    plan = plan_repair(lake.table, "hint", clock=lake.clock)
    assert plan.steps == ()
    assert "version 2, which is broken" in plan.summary


def test_a_log_without_checkpoints_needs_no_hint(lake: Lake) -> None:
    history(lake, 3)
    plan = plan_repair(lake.table, "hint", clock=lake.clock)
    assert plan.steps == ()
    assert "none to name" in plan.summary
