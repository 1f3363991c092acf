"""When plans give a V2 checkpoint the classic name too."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from explorer.maintenance import Plan, plan_checkpoint, plan_log_cleanup
from tests.tables import FEATURE_PROTOCOL, Action, commit_name, metadata
from tests.unit.maintenance.lake import Lake

V2 = {"delta.checkpointPolicy": "v2"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def history(lake: Lake, ages: Sequence[float]) -> list[Action]:
    """A commit of each age in days; all actions."""
    head = [FEATURE_PROTOCOL, metadata(configuration=V2)]
    files = [lake.add(f"{version}.parquet", age_days=age) for version, age in enumerate(ages)]
    for version, age in enumerate(ages):
        lake.commit(version, [*head, files[0]] if version == 0 else [files[version]], age_days=age)
    return [*head, *files]


def kinds(plan: Plan) -> list[str]:
    return [step.kind for step in plan.steps]


def cleanup(lake: Lake) -> Plan:
    return plan_log_cleanup(lake.table, clock=lake.clock)


@pytest.mark.rule("checkpoint-uuid-occasional-classic")
@pytest.mark.parametrize("form", ["v2-json", "v2-parquet"])
def test_log_that_is_cut_at_a_v2_checkpoint_has_a_classic_one_for_old_clients(
    lake: Lake, form: str
) -> None:
    actions = history(lake, [60, 50, 45, 5])
    (named,) = lake.log.checkpoint(2, actions[:-1], form=form, sidecars=1)  # type: ignore[arg-type]
    plan = cleanup(lake)
    assert kinds(plan) == ["copy_checkpoint", "delete_files"]
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert not lake.there(f"_delta_log/{commit_name(1)}")
    assert lake.table.snapshot().num_files == 4
    named.unlink()  # what a client sees that does not know its name
    held = lake.table.snapshot(version=2).segment.checkpoint
    assert held is not None
    assert held.names == (f"{2:020}.checkpoint.parquet",)
    assert lake.table.snapshot().num_files == 4


def test_log_that_keeps_a_classic_checkpoint_needs_no_copy(lake: Lake) -> None:
    actions = history(lake, [60, 50, 45, 5])
    lake.log.checkpoint(2, actions[:-1], form="v2-parquet")
    lake.log.checkpoint(3, actions)
    assert kinds(cleanup(lake)) == ["delete_files"]


def test_classic_checkpoint_that_goes_with_the_cut_does_not_count(lake: Lake) -> None:
    actions = history(lake, [60, 50, 45, 5])
    lake.log.checkpoint(1, actions[:2])
    lake.log.checkpoint(2, actions[:-1], form="v2-parquet")
    assert kinds(cleanup(lake)) == ["copy_checkpoint", "delete_files"]


def test_classic_checkpoint_that_somebody_wrote_meanwhile_stays(lake: Lake) -> None:
    actions = history(lake, [60, 50, 45, 5])
    lake.log.checkpoint(2, actions[:-1], form="v2-parquet")
    plan = cleanup(lake)
    (place,) = lake.log.checkpoint(2, actions[:-1])
    before = place.read_bytes()
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    assert place.read_bytes() == before


@pytest.mark.parametrize(("before", "copies"), [(3, False), (2, True)])
def test_no_checkpoint_is_made_where_checkpoints_are_protected(
    lake: Lake, before: int, *, copies: bool
) -> None:
    actions = history(lake, [60, 50, 45, 5])
    body = dict(FEATURE_PROTOCOL["protocol"])
    body["writerFeatures"] = [*body["writerFeatures"], "checkpointProtection"]
    conf = {**V2, "delta.requireCheckpointProtectionBeforeVersion": str(before)}
    head = [{"protocol": body}, metadata(configuration=conf)]
    lake.commit(0, [*head, actions[2]], age_days=60)
    lake.log.checkpoint(2, [*head, *actions[2:-1]], form="v2-parquet")
    plan = cleanup(lake)
    assert kinds(plan) == ["copy_checkpoint"] * copies + ["delete_files"]
    assert not plan.refusals
    assert lake.execute(plan).status == "completed"


def test_v2_checkpoint_that_went_away_makes_the_plan_stale_before_anything_goes(
    lake: Lake,
) -> None:
    actions = history(lake, [60, 50, 45, 5])
    (place,) = lake.log.checkpoint(2, actions[:-1], form="v2-parquet")
    plan = cleanup(lake)
    place.unlink()
    assert lake.execute(plan).status == "refused"
    assert lake.table.snapshot().num_files == 4
    assert lake.there(f"_delta_log/{commit_name(0)}")


def test_checkpoint_of_a_whole_log_is_not_copied_and_one_of_a_cut_log_is(lake: Lake) -> None:
    actions = history(lake, [60, 50, 45, 5])
    assert kinds(plan_checkpoint(lake.table, clock=lake.clock)) == ["write_checkpoint"]
    # cut by somebody who leaves no classic one
    lake.log.checkpoint(1, actions[:2], form="v2-parquet")
    (lake.log.log / commit_name(0)).unlink()
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    assert kinds(plan) == ["write_checkpoint", "copy_checkpoint"]
    assert lake.execute(plan).status == "completed"
    assert f"{3:020}.checkpoint.parquet" in os.listdir(lake.log.log)
    hint = json.loads((lake.log.log / "_last_checkpoint").read_bytes())
    assert hint["v2Checkpoint"]["path"] != f"{3:020}.checkpoint.parquet"
    lake.commit(4, [lake.add("4.parquet")], age_days=0)
    assert kinds(plan_checkpoint(lake.table, clock=lake.clock)) == ["write_checkpoint"]


@pytest.mark.parametrize("form", ["v2-parquet", "v2-json"])
def test_of_two_v2_checkpoints_the_one_that_can_be_read_is_copied(
    lake: Lake, form: Literal["v2-parquet", "v2-json"]
) -> None:
    actions = history(lake, [60, 50, 45, 5])
    (sound,) = lake.log.checkpoint(2, actions[:-1], form=form)
    later = f"{2:020}.checkpoint.ffffffff-ffff-4fff-8fff-ffffffffffff{sound.suffix}"
    broken = sound.with_name(later)
    broken.write_bytes(sound.read_bytes()[:60])
    receipt = lake.execute(cleanup(lake))
    assert receipt.status == "completed", receipt.problem
    sound.unlink()
    broken.unlink()
    assert lake.table.snapshot(version=2).num_files == 3


def test_what_no_column_can_hold_does_not_keep_the_log_from_being_cleaned(lake: Lake) -> None:
    actions = history(lake, [60, 50, 45, 5])
    odd = {"txn": {"appId": "a", "version": 1, "odd": [1, "x"]}}
    lake.log.checkpoint(2, [*actions[:-1], odd], form="v2-json")
    receipt = lake.execute(cleanup(lake))
    assert receipt.status == "completed", receipt.problem
    assert receipt.steps[0].result is not None
    assert "odd" in receipt.steps[0].result["reason"]
    assert not lake.there(f"_delta_log/{commit_name(1)}")
