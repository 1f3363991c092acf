"""Checkpoints, log compactions and the cleanup of the log, planned and carried out."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer import maintenance
from explorer.errors import InvalidArgumentError
from explorer.log.actions.columns import string_column
from explorer.maintenance import plan_checkpoint, plan_log_cleanup, plan_log_compaction
from explorer.maintenance.log_files._checkpoint_protection import judge_protection
from explorer.maintenance.plan.file_list import build_files
from explorer.maintenance.plan.planning_context import read_planning_context
from explorer.progress import UNWATCHED
from tests.tables import FEATURE_PROTOCOL, PROTOCOL, commit_name, metadata
from tests.unit.maintenance.lake import DAY_MS, NOW_MS, Lake, ms_ago, outcome, planned

CHECKPOINT = "_delta_log/{:020}.checkpoint.parquet"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def history(
    lake: Lake, ages: list[float], *, protocol: Any = FEATURE_PROTOCOL, **conf: str
) -> None:
    """One file in each version; each commit as many days old as `ages` says."""
    first = [protocol, metadata(configuration=conf)]
    for version, age in enumerate(ages):
        actions = [lake.add(f"{version}.parquet", age_days=age)]
        lake.commit(version, [*first, *actions] if version == 0 else actions, age_days=age)


def checkpoint(lake: Lake, version: int, form: Any = "classic", **options: Any) -> list[Path]:
    """A checkpoint of `history` at a version."""
    actions = [FEATURE_PROTOCOL, metadata()]
    actions += [lake.add(f"{number}.parquet") for number in range(version + 1)]
    return lake.log.checkpoint(version, actions, form=form, **options)


def names(lake: Lake) -> set[str]:
    return set(os.listdir(lake.log.log))


# --- checkpoints


def test_checkpoint_says_what_opening_costs_and_is_what_readers_begin_at(lake: Lake) -> None:
    history(lake, [9, 8, 7])
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    assert plan.effect["before"]["commits"] == 3
    assert plan.effect["before"]["commit_bytes"] == sum(
        (lake.log.log / commit_name(version)).stat().st_size for version in range(3)
    )
    after = plan.effect["after"]
    assert (after["commits"], after["commit_bytes"]) == (0, 0)
    receipt = lake.execute(plan)
    assert receipt.status == "completed", receipt.problem
    snapshot = lake.table.snapshot()
    assert snapshot.segment.checkpoint is not None
    written = (lake.root / CHECKPOINT.format(2)).stat().st_size
    assert written / 4 < after["checkpoint_bytes"] < written * 4
    assert (snapshot.segment.checkpoint.version, snapshot.num_files) == (2, 3)
    again = plan_checkpoint(lake.table, clock=lake.clock)
    assert again.steps == ()
    assert again.effect["before"]["commits"] == 0


@pytest.mark.rule("checkpoint-multipart-forbidden-with-v2")
def test_checkpoint_is_v2_where_the_table_asks_for_it(lake: Lake) -> None:
    history(lake, [9, 8], **{"delta.checkpointPolicy": "v2", "delta.checkpoint.partSize": "1"})
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    assert plan.effect["form"]["kind"] == "v2"
    assert lake.execute(plan).status == "completed"
    snapshot = lake.table.snapshot()
    assert snapshot.segment.checkpoint is not None
    assert snapshot.segment.checkpoint.kind == "v2"
    assert snapshot.num_files == 2


def test_checkpoint_follows_a_newer_commit_without_harm(lake: Lake) -> None:
    history(lake, [9, 8])
    plan = plan_checkpoint(lake.table, clock=lake.clock)
    lake.commit(2, [PROTOCOL, lake.add("2.parquet")], age_days=0)
    receipt = lake.execute(plan)
    assert receipt.status == "completed"
    assert CHECKPOINT.format(1).rpartition("/")[2] in names(lake)
    assert lake.table.snapshot().num_files == 3


# --- log compactions


def test_compaction_stands_for_the_commits_after_the_checkpoint(lake: Lake) -> None:
    history(lake, [9, 8, 7, 6])
    checkpoint(lake, 1)
    plan = plan_log_compaction(lake.table, clock=lake.clock)
    assert plan.parameters == {"first": 2, "last": 3}
    assert lake.execute(plan).status == "completed"
    assert f"{2:020}.{3:020}.compacted.json" in names(lake)
    for version in (2, 3):
        os.unlink(lake.log.log / commit_name(version))
        (lake.log.log / commit_name(version)).write_bytes(b"")
    assert lake.table.snapshot().num_files == 4


def test_compaction_of_a_range_that_lacks_a_commit_is_refused(lake: Lake) -> None:
    history(lake, [9, 8, 7])
    for first, last in ((1, 5), (2, 1), (1, 1)):
        with pytest.raises(InvalidArgumentError):
            plan_log_compaction(lake.table, first, last, clock=lake.clock)
    assert plan_log_compaction(lake.table, 0, 1, clock=lake.clock).steps


def test_nothing_is_compacted_where_too_little_follows_the_checkpoint(lake: Lake) -> None:
    history(lake, [9, 8])
    checkpoint(lake, 0)
    assert plan_log_compaction(lake.table, clock=lake.clock).steps == ()
    lake.commit(2, [{"commitInfo": {"operation": "VACUUM START"}}], age_days=1)
    lake.commit(3, [{"commitInfo": {"operation": "VACUUM END"}}], age_days=1)
    checkpoint(lake, 1)
    assert plan_log_compaction(lake.table, clock=lake.clock).steps == ()


# --- log cleanup


def cleanup(lake: Lake, retention: timedelta | None = None) -> maintenance.Plan:
    return plan_log_cleanup(lake.table, retention, clock=lake.clock)


@pytest.mark.rule(
    "cleanup-delete-before",
    "cleanup-cutoff-checkpoint",
    "cleanup-retain-from-commit",
    "newer-cleanup-keep-commit",
    "newer-cleanup-crc",
)
def test_log_is_cut_at_the_newest_checkpoint_that_is_old_enough(lake: Lake) -> None:
    history(lake, [60, 50, 45, 40, 20, 5])
    for version in (1, 2, 4):
        checkpoint(lake, version)
    for version in (0, 1, 2, 3):
        lake.log.write(f"{version:020}.crc", b"{}")
    plan = cleanup(lake)
    gone = {path.rpartition("/")[2] for path in planned(plan)}
    assert gone == {
        commit_name(0),
        commit_name(1),
        f"{0:020}.crc",
        f"{1:020}.crc",
        f"{1:020}.checkpoint.parquet",
    }
    assert (plan.effect["earliest_version_before"], plan.effect["earliest_version_after"]) == (0, 2)
    assert "versions before 2 can no longer be opened" in plan.summary
    kept = names(lake) - gone
    assert lake.execute(plan).status == "completed"
    assert names(lake) == kept
    assert commit_name(2) in kept, "the commit at the checkpoint stays"


@pytest.mark.rule("cleanup-keep-after-checkpoint", "checkpoint-cleanup-must-cover-oldest")
def test_every_version_from_the_cut_on_opens_afterwards(lake: Lake) -> None:
    history(lake, [60, 50, 45, 40, 20, 5])
    checkpoint(lake, 2)
    lake.execute(cleanup(lake))
    assert [lake.table.snapshot(version=v).num_files for v in range(2, 6)] == [3, 4, 5, 6]
    with pytest.raises(explorer.DeltaError):
        lake.table.snapshot(version=1)


@pytest.mark.rule("cleanup-cutoff-midnight")
@pytest.mark.parametrize(("minutes", "cut"), [(-1, True), (0, True), (1, False)])
def test_cutoff_is_midnight_of_the_day_and_includes_it(
    lake: Lake, minutes: int, *, cut: bool
) -> None:
    threshold = NOW_MS - 30 * DAY_MS
    midnight = threshold - threshold % DAY_MS
    assert datetime.fromtimestamp(midnight / 1000, UTC).hour == 0
    history(lake, [60, 50, 5])
    checkpoint(lake, 1)
    lake.log.time(1, midnight + minutes * 60_000)
    assert bool(planned(cleanup(lake))) is cut


def test_nothing_is_cut_without_a_checkpoint_that_can_be_read(lake: Lake) -> None:
    history(lake, [60, 50, 45, 5])
    (place,) = checkpoint(lake, 2)
    place.write_bytes(place.read_bytes()[:-20])
    plan = cleanup(lake)
    assert plan.steps == ()
    assert "no readable checkpoint" in plan.summary
    checkpoint(lake, 1)
    assert {path.rpartition("/")[2] for path in planned(cleanup(lake))} == {commit_name(0)}


@pytest.mark.rule("cleanup-delete-compactions")
def test_compactions_that_begin_at_or_before_the_cut_go(lake: Lake) -> None:
    history(lake, [60, 50, 45, 44, 43, 5])
    checkpoint(lake, 3)
    spans = {(0, 1), (2, 5), (3, 4), (4, 5)}
    for first, last in spans:
        lake.log.write(f"{first:020}.{last:020}.compacted.json", b"{}\n")
    gone = {path.rpartition("/")[2] for path in planned(cleanup(lake)) if "compacted" in path}
    assert gone == {f"{a:020}.{b:020}.compacted.json" for a, b in spans - {(4, 5)}}


@pytest.mark.rule("cleanup-protect-sidecars", "cleanup-young-sidecars")
def test_sidecars_go_unless_a_checkpoint_that_stays_names_them_or_they_are_young(
    lake: Lake,
) -> None:
    history(lake, [60, 50, 45, 40, 5])
    checkpoint(lake, 1, form="v2-json", sidecars=2)
    first = set(os.listdir(lake.log.log / "_sidecars"))
    checkpoint(lake, 3, form="v2-parquet", sidecars=2)
    kept = set(os.listdir(lake.log.log / "_sidecars")) - first
    lake.log.write("_sidecars/unknown.parquet", b"x")
    young = lake.log.write("_sidecars/young.parquet", b"x")
    for place in (lake.log.log / "_sidecars").iterdir():
        os.utime(place, (ms_ago(30) / 1000, ms_ago(30) / 1000))
    midnight = NOW_MS - NOW_MS % DAY_MS
    os.utime(young, ((midnight - DAY_MS) / 1000 + 1, (midnight - DAY_MS) / 1000 + 1))
    plan = cleanup(lake)
    gone = {path.rpartition("/")[2] for path in planned(plan) if "_sidecars" in path}
    assert gone == {*first, "unknown.parquet"}
    assert lake.execute(plan).status == "completed"
    assert set(os.listdir(lake.log.log / "_sidecars")) == {*kept, "young.parquet"}
    assert lake.table.snapshot().num_files == 5


def test_no_sidecar_goes_while_a_checkpoint_that_stays_cannot_be_read(lake: Lake) -> None:
    history(lake, [60, 50, 45, 40, 5])
    checkpoint(lake, 1)
    (broken,) = checkpoint(lake, 3, form="v2-json", sidecars=1)
    broken.write_bytes(b"{")
    for place in (lake.log.log / "_sidecars").iterdir():
        os.utime(place, (ms_ago(30) / 1000, ms_ago(30) / 1000))
    assert not [path for path in planned(cleanup(lake)) if "_sidecars" in path]


def test_cut_checkpoint_that_went_away_makes_the_plan_stale(lake: Lake) -> None:
    history(lake, [60, 50, 45, 5])
    (place,) = checkpoint(lake, 2)
    plan = cleanup(lake)
    place.unlink()
    receipt = lake.execute(plan)
    assert receipt.status == "refused"
    assert lake.table.snapshot().num_files == 4


def test_hint_to_a_checkpoint_that_goes_is_led_to_the_one_that_stays(lake: Lake) -> None:
    history(lake, [60, 50, 45, 5])
    checkpoint(lake, 1)
    checkpoint(lake, 2)
    lake.log.hint(1)
    assert lake.execute(cleanup(lake)).status == "completed"
    assert not lake.table.snapshot().problems
    assert b'"version":2' in (lake.log.log / "_last_checkpoint").read_bytes()


def test_shorter_log_than_the_table_asks_for_needs_its_name_and_a_reason(lake: Lake) -> None:
    history(lake, [60, 50, 20, 5])
    checkpoint(lake, 2)
    plan = cleanup(lake, timedelta(days=10))
    assert planned(plan)
    assert outcome(plan, "retention") == "warn"
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, True)
    assert lake.execute(plan, approval=maintenance.Approval(plan.digest)).status == "refused"
    approval = maintenance.Approval(plan.digest, table_name="orders", reason="the disk is full")
    assert lake.execute(plan, approval=approval).status == "completed"


def test_table_that_wants_no_cleanup_needs_its_name_and_a_reason(lake: Lake) -> None:
    history(lake, [60, 50, 40, 5], **{"delta.enableExpiredLogCleanup": "false"})
    lake.log.checkpoint(
        2,
        [
            FEATURE_PROTOCOL,
            metadata(configuration={"delta.enableExpiredLogCleanup": "false"}),
            *(lake.add(f"{number}.parquet") for number in range(3)),
        ],
    )
    plan = cleanup(lake)
    assert outcome(plan, "cleanup") == "warn"
    assert (plan.asks_for_name, plan.asks_for_reason) == (True, True)
    assert lake.execute(plan, approval=maintenance.Approval(plan.digest)).status == "refused"


def protocol_with(*features: str) -> Any:
    return {
        "protocol": {
            "minReaderVersion": 1,
            "minWriterVersion": 7,
            "writerFeatures": [*features],
        }
    }


def protected(lake: Lake, until: str, old_feature: str) -> None:
    """Four versions whose feature was dropped with version 1, and a checkpoint of version 2."""
    conf = {"delta.requireCheckpointProtectionBeforeVersion": until}
    new = protocol_with("checkpointProtection")
    lake.commit(0, [protocol_with(old_feature), metadata(), lake.add("0.parquet")], age_days=60)
    lake.commit(1, [new, metadata(configuration=conf), lake.add("1.parquet")], age_days=50)
    lake.commit(2, [lake.add("2.parquet")], age_days=45)
    lake.commit(3, [lake.add("3.parquet")], age_days=5)
    files = [lake.add(f"{number}.parquet") for number in range(3)]
    lake.log.checkpoint(2, [new, metadata(configuration=conf), *files])


@pytest.mark.rule(
    "newer-checkpoint-protection-property", "newer-checkpoint-protection-exception-no-checkpoint"
)
@pytest.mark.parametrize(
    ("until", "said"),
    [("2", "is deleted together"), ("3", "No checkpoint is written, and none of version 2")],
)
def test_cleanup_makes_no_checkpoint_and_takes_none_from_the_cut_on(
    lake: Lake, until: str, said: str
) -> None:
    protected(lake, until, "droppedFeature")
    lake.log.checkpoint(1, [protocol_with("checkpointProtection"), metadata()])
    plan = cleanup(lake)
    (verdict,) = (item for item in plan.verdicts if item.guard == "checkpoint protection")
    assert said in verdict.message
    assert verdict.outcome == "allow"
    before = names(lake)
    assert lake.execute(plan).status == "completed"
    made, gone = names(lake) - before, before - names(lake)
    assert not made
    assert {name for name in gone if "checkpoint" in name} == {f"{1:020}.checkpoint.parquet"}


@pytest.mark.rule(
    "newer-checkpoint-protection-one-go", "newer-checkpoint-protection-exception-protocols"
)
@pytest.mark.parametrize(
    ("until", "old_feature", "said"),
    [
        ("2", "droppedFeature", "allow"),
        ("3", "droppedFeature", "refuse"),
        ("3", "domainMetadata", "allow"),
    ],
    ids=["all at once", "not all, unknown protocol", "not all, known protocol"],
)
@pytest.mark.parametrize("what", ["takes one", "makes one"])
def test_plan_that_changes_checkpoints_keeps_to_their_protection(
    lake: Lake, until: str, old_feature: str, said: str, what: str
) -> None:
    protected(lake, until, old_feature)
    plan = cleanup(lake)
    if what == "takes one":
        paths = string_column([CHECKPOINT.format(2)])
        plan = replace(plan, files=build_files(paths, action="delete", reason="a mistake"))
    else:
        made = plan_checkpoint(lake.table, clock=lake.clock).steps
        plan = replace(plan, steps=(*made, *plan.steps))
    look = read_planning_context(lake.table, lake.clock, UNWATCHED)
    assert judge_protection(look, plan, 2).outcome == said


@pytest.mark.rule("newer-cleanup-staged", "newer-catalog-staged")
def test_staged_commits_go_up_to_the_cut(lake: Lake) -> None:
    history(lake, [60, 50, 45, 5])
    checkpoint(lake, 2)
    unique = "d2c639aa-8816-431a-aaf6-d3fe2512ff61"
    for version in (1, 2, 3):
        lake.log.write(f"_staged_commits/{version:020}.{unique}.json", b"{}")
    gone = {path.rpartition("/")[2] for path in planned(cleanup(lake)) if "_staged" in path}
    assert gone == {f"{version:020}.{unique}.json" for version in (1, 2)}


def test_in_commit_timestamps_decide_where_they_are_active(lake: Lake) -> None:
    conf = {"delta.enableInCommitTimestamps": "true"}
    protocol = protocol_with("inCommitTimestamp")
    for version, age in enumerate([60, 50, 45, 5]):
        info = {"commitInfo": {"inCommitTimestamp": ms_ago(age)}}
        first = [protocol, metadata(configuration=conf)] if version == 0 else []
        # the files were copied: their times say nothing
        lake.commit(version, [info, *first, lake.add(f"{version}.parquet")], age_days=1)
    files = [lake.add(f"{number}.parquet") for number in range(3)]
    lake.log.checkpoint(2, [protocol, metadata(configuration=conf), *files])
    assert len(planned(cleanup(lake))) == 2
