"""Clauses of the cleanup of the log, of what protects checkpoints, and of the hint, that no other
test would miss."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from explorer.log.actions.columns import string_column
from explorer.maintenance import Plan, Verdict, plan_log_cleanup, plan_repair
from explorer.maintenance.log_files._checkpoint_protection import judge_protection
from explorer.maintenance.plan.file_list import build_files
from explorer.maintenance.plan.planning_context import read_planning_context
from explorer.progress import UNWATCHED
from tests.tables import FEATURE_PROTOCOL, Action, commit_name, metadata
from tests.unit.maintenance.lake import Lake, ms_ago, outcome, planned

PROTECTED = "delta.requireCheckpointProtectionBeforeVersion"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def history(lake: Lake, *ages: float) -> None:
    """One file in each version; each commit as many days old as it says."""
    for version, age in enumerate(ages):
        first = [FEATURE_PROTOCOL, metadata()] if version == 0 else []
        lake.commit(version, [*first, lake.add(f"{version}.parquet")], age_days=age)


def content(lake: Lake, version: int) -> list[Action]:
    """All that a checkpoint of `history` holds."""
    files = (lake.add(f"{number}.parquet") for number in range(version + 1))
    return [FEATURE_PROTOCOL, metadata(), *files]


def cleanup(lake: Lake) -> Plan:
    return plan_log_cleanup(lake.table, clock=lake.clock)


def kinds(plan: Plan) -> list[str]:
    return [step.kind for step in plan.steps]


def hinted(lake: Lake) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((lake.log.log / "_last_checkpoint").read_bytes())
    return found


# --- what the table asks for


@pytest.mark.parametrize(
    ("name", "text", "guard"),
    [
        ("delta.logRetentionDuration", "interval 1 year", "retention"),
        ("delta.enableExpiredLogCleanup", "no", "cleanup"),
    ],
)
def test_what_a_table_asks_for_its_log_is_not_taken_for_the_default_where_it_cannot_be_read(
    lake: Lake, name: str, text: str, guard: str
) -> None:
    first = [FEATURE_PROTOCOL, metadata(configuration={name: text})]
    for version, age in enumerate((60, 50, 45, 40, 5)):
        begun = first if version == 0 else []
        lake.commit(version, [*begun, lake.add(f"{version}.parquet")], age_days=age)
    files = (lake.add(f"{number}.parquet") for number in range(3))
    lake.log.checkpoint(2, [*first, *files])
    plan = cleanup(lake)
    (verdict,) = (verdict for verdict in plan.verdicts if verdict.guard == guard)
    assert verdict.outcome == "refuse"
    assert f"is `{text}`" in verdict.message
    assert f"delta-explorer set TABLE '{name}=" in verdict.remedy
    assert lake.execute(plan).status == "refused"
    assert commit_name(0) in {place.name for place in lake.log.log.iterdir()}


# --- sidecars


def old_sidecar(lake: Lake, name: str) -> None:
    place = lake.log.write(f"_sidecars/{name}", b"x")
    os.utime(place, (ms_ago(30) / 1000, ms_ago(30) / 1000))


@pytest.mark.parametrize(
    ("is_torn", "gone"), [(False, {"unknown.parquet"}), (True, set())], ids=["whole", "torn"]
)
def test_sidecar_that_a_part_of_an_unfinished_checkpoint_may_name_stays(
    lake: Lake, is_torn: bool, gone: set[str]
) -> None:
    """Nothing else says who writes it and how far that is, and what lies in a part of it
    decides, as for a checkpoint that is whole."""
    history(lake, 60, 50, 45, 40, 5)
    lake.log.checkpoint(1, content(lake, 1))
    sidecar = {"path": "named.parquet", "sizeInBytes": 1, "modificationTime": 1}
    actions = [FEATURE_PROTOCOL, metadata(), {"sidecar": sidecar}]
    part, missing = lake.log.checkpoint(3, actions, form="multi-part")
    missing.unlink()
    if is_torn:
        part.write_bytes(part.read_bytes()[:-20])
    for name in ("named.parquet", "unknown.parquet"):
        old_sidecar(lake, name)
    found = {path for path in planned(cleanup(lake)) if "_sidecars" in path}
    assert found == {f"_delta_log/_sidecars/{name}" for name in gone}


def test_log_is_not_cut_at_a_checkpoint_whose_tombstones_cannot_be_read(lake: Lake) -> None:
    """They say how long a file that was removed is needed, and the commits that also do go."""
    history(lake, 60, 50, 45, 5)
    gone = lake.remove("0.parquet", age_days=50)
    (place,) = lake.log.checkpoint(2, [*content(lake, 2), gone])
    assert f"_delta_log/{commit_name(0)}" in planned(cleanup(lake))
    group = pq.read_metadata(place).row_group(0)
    columns = map(group.column, range(group.num_columns))
    (column,) = (each for each in columns if each.path_in_schema == "remove.path")
    data = bytearray(place.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    place.write_bytes(data)
    assert not planned(cleanup(lake))


# --- the hint


@pytest.mark.parametrize(
    ("content_of_hint", "is_led"),
    [
        (b'{"version":0,"size":3}', True),
        (b'{"version":1,"size":4}', True),
        (b'{"version":2,"size":5}', False),
        (b'{"version":3,"size":6}', False),
        (b"{", False),
        (None, False),
    ],
    ids=["version 0", "before the cut", "at the cut", "behind the cut", "torn", "none"],
)
def test_hint_is_led_on_by_a_cleanup_where_its_checkpoint_goes_and_nowhere_else(
    lake: Lake, content_of_hint: bytes | None, is_led: bool
) -> None:
    history(lake, 60, 50, 45, 20, 5)
    for version in range(4):
        lake.log.checkpoint(version, content(lake, version))
    place = lake.log.log / "_last_checkpoint"
    if content_of_hint is not None:
        place.write_bytes(content_of_hint)
    plan = cleanup(lake)
    assert kinds(plan) == [*["write_hint"] * is_led, "delete_files"]
    assert lake.execute(plan).status == "completed"
    if is_led:
        assert hinted(lake)["version"] == 2
    else:
        assert (place.read_bytes() if place.exists() else None) == content_of_hint


@pytest.mark.parametrize(
    ("newer", "has_checkpoint", "left"), [(3, True, 3), (3, False, 2), (0, True, 2)]
)
def test_hint_that_names_a_newer_checkpoint_by_now_is_not_moved_back(
    lake: Lake, newer: int, has_checkpoint: bool, left: int
) -> None:
    history(lake, 60, 50, 45, 5)
    for version in (0, 1, 2):
        lake.log.checkpoint(version, content(lake, version))
    lake.log.hint(1)
    plan = cleanup(lake)
    assert kinds(plan) == ["write_hint", "delete_files"]
    if has_checkpoint:
        lake.log.checkpoint(newer, content(lake, newer))
    lake.log.hint(newer)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    assert receipt.steps[0].result == {"was_there": left != 2}
    assert receipt.steps[0].done == (left == 2)
    assert hinted(lake)["version"] == left


def test_hint_is_not_led_to_a_checkpoint_that_went_meanwhile(lake: Lake) -> None:
    history(lake, 9, 8)
    (place,) = lake.log.checkpoint(0, content(lake, 0))
    lake.log.hint(1)
    plan = plan_repair(lake.table, "hint", clock=lake.clock)
    assert kinds(plan) == ["write_hint"]
    place.unlink()
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert "version 0 is not there any more" in receipt.problem.reason
    assert hinted(lake)["version"] == 1


def test_hint_to_the_parts_of_a_broken_checkpoint_is_led_to_another_of_the_same_version(
    lake: Lake,
) -> None:
    """Readers that trust it build the names of the parts from it."""
    history(lake, 9, 8)
    (part, _) = lake.log.checkpoint(1, content(lake, 1), form="multi-part")
    part.write_bytes(part.read_bytes()[:100])
    lake.log.checkpoint(1, content(lake, 1))
    lake.log.hint(1, parts=2)
    plan = plan_repair(lake.table, "checkpoint", clock=lake.clock)
    assert kinds(plan) == ["delete_files", "write_hint"]
    assert lake.execute(plan).status == "completed"
    assert hinted(lake)["version"] == 1
    assert "parts" not in hinted(lake)


# --- checkpoints that are protected


def protocol(*more: str) -> Action:
    body = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}
    return {"protocol": {**body, "writerFeatures": ["v2Checkpoint", *more]}}


@pytest.mark.parametrize(("until", "copies"), [(1, True), (2, True), (3, False)])
def test_copy_under_the_classic_name_is_made_of_no_version_that_is_protected(
    lake: Lake, until: int, copies: bool
) -> None:
    """Checkpoints before that version are protected, and the one of that version is not."""
    head = [protocol("checkpointProtection"), metadata(configuration={PROTECTED: str(until)})]
    files = [lake.add(f"{number}.parquet") for number in range(4)]
    for version, age in enumerate((60, 50, 45, 5)):
        first = head if version == 0 else []
        lake.commit(version, [*first, files[version]], age_days=age)
    lake.log.checkpoint(2, [*head, *files[:3]], form="v2-json")
    plan = cleanup(lake)
    assert kinds(plan) == [*["copy_checkpoint"] * copies, "delete_files"]
    assert lake.execute(plan).status == "completed"
    assert (lake.log.log / f"{2:020}.checkpoint.parquet").exists() is copies


def test_log_that_is_not_cut_keeps_all_of_its_protected_history(lake: Lake) -> None:
    head = [protocol("checkpointProtection"), metadata(configuration={PROTECTED: "3"})]
    lake.commit(0, [*head, lake.add("a")], age_days=60)
    old_sidecar(lake, "unknown.parquet")
    plan = cleanup(lake)
    assert [*planned(plan)] == ["_delta_log/_sidecars/unknown.parquet"]
    assert outcome(plan, "checkpoint protection") == "allow"


def cut_at(lake: Lake, until: int, *, unknown_at: int, gone: int = 2) -> Verdict:
    """What is said of a log that is cut at version 2 of 5 by a plan that takes the checkpoint of
    version `gone`. Version `unknown_at` brings a feature that is not known here, and the next
    one drops it."""
    conf = {PROTECTED: str(until)}
    for version in range(5):
        features = {unknown_at: ["someFeature"], unknown_at + 1: ["checkpointProtection"]}
        named = [protocol(*features[version])] if version in features else []
        first = [protocol(), metadata(configuration=conf)] if version == 0 else []
        actions = [*(first if not named else [*named, *first[1:]]), lake.add(f"{version}")]
        lake.commit(version, actions, age_days=60 - version)
    paths = string_column([f"_delta_log/{gone:020}.checkpoint.parquet"])
    files = build_files(paths, action="delete", reason="a mistake")
    look = read_planning_context(lake.table, lake.clock, UNWATCHED)
    return judge_protection(look, replace(cleanup(lake), files=files), 2)


@pytest.mark.parametrize(
    ("until", "says", "message"),
    [
        (0, "allow", "No checkpoint is protected"),
        (1, "allow", "is deleted together"),
        (2, "allow", "is deleted together"),
        (3, "refuse", "Checkpoints before version 3 are protected"),
    ],
)
def test_history_that_is_protected_goes_at_once_up_to_the_cut_and_no_further(
    lake: Lake, until: int, says: str, message: str
) -> None:
    verdict = cut_at(lake, until, unknown_at=0)
    assert verdict.outcome == says
    assert message in verdict.message


@pytest.mark.parametrize(("gone", "says"), [(1, "allow"), (2, "refuse"), (3, "refuse")])
def test_checkpoint_of_the_cut_and_those_behind_it_are_protected(
    lake: Lake, gone: int, says: str
) -> None:
    assert cut_at(lake, 4, unknown_at=0, gone=gone).outcome == says


@pytest.mark.parametrize(("unknown_at", "says"), [(1, "refuse"), (2, "refuse"), (3, "allow")])
def test_protocol_of_the_cut_itself_has_to_be_known_and_later_ones_need_not(
    lake: Lake, unknown_at: int, says: str
) -> None:
    assert cut_at(lake, 4, unknown_at=unknown_at).outcome == says
