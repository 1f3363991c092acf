"""What guards see in commits whose keys, or all of whose strings, are written with escapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.log.actions.columns import string_column
from explorer.maintenance import plan_log_cleanup, plan_upgrade
from explorer.maintenance.log_files._checkpoint_protection import judge_protection
from explorer.maintenance.plan.file_list import build_files
from explorer.maintenance.plan.planning_context import read_planning_context
from explorer.progress import UNWATCHED
from tests.json_escapes import escape_commits
from tests.tables import PROTOCOL, Action, add, metadata
from tests.unit.maintenance.lake import Lake, planned, start, vacuum

IN_STRINGS = pytest.mark.parametrize("strings", [1, 0], ids=["actions", "all strings"])
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def features(*names: str) -> Action:
    body = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [*names]}
    return {"protocol": body}


@IN_STRINGS
@pytest.mark.parametrize(
    "action",
    [
        add("gone"),
        {
            "cdc": {
                "path": "_change_data/slow.parquet",
                "partitionValues": {},
                "size": 1,
                "dataChange": False,
            }
        },
        metadata(configuration=FEED),
        PROTOCOL,
    ],
    ids=lambda action: next(iter(action)),
)
def test_commit_makes_a_plan_stale(lake: Lake, action: Any, strings: int) -> None:
    start(lake, lake.add("live"), lake.add("gone"))
    lake.commit(1, [lake.remove("gone", age_days=9)], age_days=9)
    slow = lake.file("_change_data/slow.parquet")
    before = planned(vacuum(lake))
    escape_commits(lake.log.log, strings)
    plan = vacuum(lake)
    assert planned(plan) == before
    assert {*before} == {"gone", slow}
    lake.commit(2, [action], age_days=0.1)
    escape_commits(lake.log.log, strings)
    receipt = lake.execute(plan)
    assert receipt.problem is not None
    assert (receipt.status, receipt.problem.kind) == ("refused", "plan_stale")
    assert "Version 2" in receipt.problem.reason
    assert lake.there("gone")


@IN_STRINGS
def test_feature_that_a_version_used_is_listed(lake: Lake, strings: int) -> None:
    numbered: Action = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 6}}
    lake.commit(0, [numbered, metadata(), lake.add("a")], age_days=9)
    lake.commit(1, [metadata(configuration=FEED)], age_days=8)
    lake.commit(2, [metadata()], age_days=7)
    escape_commits(lake.log.log, strings)
    plan = plan_upgrade(lake.table, features=["deletionVectors"], only_used=True, clock=lake.clock)
    assert "appendOnly" in plan.effect["features_left_out"]
    assert "changeDataFeed" not in plan.effect["features_left_out"]


@IN_STRINGS
@pytest.mark.parametrize(
    ("feature", "said"), [("droppedFeature", "refuse"), ("domainMetadata", "allow")]
)
def test_protocol_of_protected_history_is_seen(
    lake: Lake, feature: str, said: str, strings: int
) -> None:
    conf = {"delta.requireCheckpointProtectionBeforeVersion": "3"}
    now = [features("checkpointProtection"), metadata(configuration=conf)]
    lake.commit(0, [features(feature), metadata(), lake.add("0")], age_days=60)
    lake.commit(1, [*now, lake.add("1")], age_days=50)
    lake.commit(2, [lake.add("2")], age_days=45)
    lake.commit(3, [lake.add("3")], age_days=5)
    lake.log.checkpoint(2, [*now, *(lake.add(str(number)) for number in range(3))])
    escape_commits(lake.log.log, strings)
    plan = plan_log_cleanup(lake.table, clock=lake.clock)
    paths = string_column([f"_delta_log/{2:020}.checkpoint.parquet"])
    plan = replace(plan, files=build_files(paths, action="delete", reason="a mistake"))
    look = read_planning_context(lake.table, lake.clock, UNWATCHED)
    assert judge_protection(look, plan, 2).outcome == said
