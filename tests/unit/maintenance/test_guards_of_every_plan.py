"""What guard 7 refuses, it refuses of every operation: features that nobody here knows, gaps in
the log, and times that are ahead of the clock, where ages decide or somebody commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer import maintenance
from explorer.errors import UnsupportedError
from explorer.maintenance import Plan
from explorer.maintenance.plan.plan import sentence_of
from explorer.maintenance.plan.step_types import Commit
from tests.tables import LogFolder, metadata
from tests.unit.maintenance.lake import NOW_MS, Lake, ms_ago, outcome

Planner = Callable[[Lake], Plan]
SILENT = '{"numRecords":3}'

PLANNERS: Mapping[str, Planner] = {
    "checkpoint": lambda lake: maintenance.plan_checkpoint(lake.table, clock=lake.clock),
    "compact-log": lambda lake: maintenance.plan_log_compaction(lake.table, 4, 5, clock=lake.clock),
    "optimize": lambda lake: maintenance.plan_optimize(lake.table, clock=lake.clock),
    "vacuum": lambda lake: maintenance.plan_vacuum(
        lake.table, clock=lake.clock, state_dir=lake.state
    ),
    "vacuum lite": lambda lake: maintenance.plan_vacuum(
        lake.table, mode="lite", clock=lake.clock, state_dir=lake.state
    ),
    "clean-log": lambda lake: maintenance.plan_log_cleanup(lake.table, clock=lake.clock),
    "restore": lambda lake: maintenance.plan_restore(lake.table, 4, clock=lake.clock),
    "set": lambda lake: maintenance.plan_set_properties(
        lake.table, {"owner": "me"}, clock=lake.clock
    ),
    "add column": lambda lake: maintenance.plan_add_columns(
        lake.table, "note STRING", clock=lake.clock
    ),
    "rename column": lambda lake: maintenance.plan_rename_column(
        lake.table, "part", "slice", map_columns=True, clock=lake.clock
    ),
    "drop columns": lambda lake: maintenance.plan_drop_columns(
        lake.table, ["part"], map_columns=True, clock=lake.clock
    ),
    "change column": lambda lake: maintenance.plan_change_column(
        lake.table, "id", comment="key", clock=lake.clock
    ),
    "cluster by": lambda lake: maintenance.plan_cluster_by(lake.table, ["id"], clock=lake.clock),
    "add constraint": lambda lake: maintenance.plan_add_constraint(
        lake.table, "small", "id < 5", clock=lake.clock
    ),
    "drop constraint": lambda lake: maintenance.plan_drop_constraint(
        lake.table, "old", clock=lake.clock
    ),
    "upgrade": lambda lake: maintenance.plan_upgrade(
        lake.table, features=["domainMetadata"], clock=lake.clock
    ),
    "drop-feature": lambda lake: maintenance.plan_drop_feature(
        lake.table, "deletionVectors", clock=lake.clock
    ),
    "repair hint": lambda lake: maintenance.plan_repair(lake.table, "hint", clock=lake.clock),
    "repair checkpoint": lambda lake: maintenance.plan_repair(
        lake.table, "checkpoint", clock=lake.clock
    ),
    "repair files": lambda lake: maintenance.plan_repair(lake.table, "files", clock=lake.clock),
    "repair statistics": lambda lake: maintenance.plan_repair(
        lake.table, "statistics", clock=lake.clock
    ),
}


def protocol_of(*more: str) -> dict[str, Any]:
    readers = ["deletionVectors", *(name for name in more if name.startswith("catalog"))]
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": readers,
            "writerFeatures": [*{*readers, "checkConstraints", "inCommitTimestamp", *more}],
        }
    }


def build(scratch: Path, *features: str, gap: bool = False, **configuration: str) -> Lake:
    """Six versions that give every operation something to do; `gap` takes version 1 away."""
    lake = Lake(scratch)
    conf = {"delta.constraints.old": "id > 0", **configuration}
    first = [protocol_of(*features), metadata(configuration=conf)]
    adds: list[Any] = []
    for version in range(6):
        adds.append(lake.add(f"{version}.parquet", age_days=60 - version, stats=SILENT))
        head = first if version == 0 else []
        removed = [lake.remove("0.parquet", age_days=55)] if version == 5 else []
        info = {"commitInfo": {"inCommitTimestamp": ms_ago(60 - version)}}
        lake.commit(version, [info, *head, adds[-1], *removed], age_days=60 - version)
    lake.log.checkpoint(3, [*first, *adds[:4]])
    if gap:
        (lake.log.log / f"{1:020}.json").unlink()
    return lake


def test_the_list_has_every_planner() -> None:
    planners = {name for name in maintenance.__all__ if name.startswith("plan_")}
    asked = {name for plan in PLANNERS.values() for name in plan.__code__.co_names}
    assert planners <= asked


def check_refused(lake: Lake, plan: Plan, guard: str) -> None:
    """Refused by that guard, whoever approves it, and nothing is changed."""
    assert guard in {verdict.guard for verdict in plan.refusals}
    # what blocks it comes first, wherever it is shown
    first = f"Blocked: {plan.refusals[0].message}"
    assert plan.sentence.startswith(first)
    assert plan.sentence.endswith(f" Planned: {plan.summary}")
    assert sentence_of(plan.document) == plan.sentence
    before = names_below(lake.log)
    approval = maintenance.Approval(plan.digest, "me", plan.subject.name, "a reason")
    assert lake.execute(plan, approval=approval).status == "refused"
    assert names_below(lake.log) == before


def names_below(folder: LogFolder) -> set[str]:
    return {str(place) for place in folder.root.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANNERS)
def test_sound_table_is_refused_by_none_of_them(tmp_path: Path, name: str) -> None:
    plan = PLANNERS[name](build(tmp_path))
    assert plan.refusals or plan.sentence == plan.summary
    guards = {verdict.guard for verdict in plan.refusals}
    assert not guards & {"features", "vacuum protocol", "log", "catalog", "clock"}


@pytest.mark.rule("feature-writer-all", "newer-unknown-blocks", "newer-vacuum-check-writer")
@pytest.mark.parametrize("name", PLANNERS)
def test_unknown_writer_feature_refuses_every_plan(tmp_path: Path, name: str) -> None:
    lake = build(tmp_path, "fromTheFuture")
    plan = PLANNERS[name](lake)
    guard = "vacuum protocol" if name.startswith("vacuum") else "features"
    check_refused(lake, plan, guard)
    assert any("fromTheFuture" in verdict.message for verdict in plan.refusals)


@pytest.mark.parametrize("name", PLANNERS)
def test_gap_in_the_log_refuses_every_plan(tmp_path: Path, name: str) -> None:
    lake = build(tmp_path, gap=True)
    assert lake.table.snapshot().num_files == 5, "it can be read all the same"
    plan = PLANNERS[name](lake)
    check_refused(lake, plan, "log")
    if name.startswith("clean-log") and not plan.files.num_rows:
        assert "commits are missing" in plan.summary, "and not that none is old enough"


@pytest.mark.rule("newer-catalog-never-written", "newer-catalog-maintenance")
@pytest.mark.parametrize("name", PLANNERS)
def test_table_of_a_catalog_has_no_plan(tmp_path: Path, name: str) -> None:
    lake = build(tmp_path, "catalogManaged")
    with pytest.raises(UnsupportedError, match="catalog"):
        PLANNERS[name](lake)


TIMELESS = {"checkpoint", "compact-log", "repair hint", "repair checkpoint"}
"""They write again what the log says, and no time of their own."""


FOLLOWING = {
    "add column",
    "rename column",
    "drop columns",
    "change column",
    "cluster by",
    "set",
    "add constraint",
    "drop constraint",
    "upgrade",
    "drop-feature",
    "repair statistics",
}
"""They commit, delete no file and begin no file's age."""

WITHOUT_STATISTICS = {"cluster by"}
"""Refused of this table, whose files lack statistics."""

WHATS = ["commit", "commit before the newest", "in-commit timestamp"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (name, what)
        for name in sorted(PLANNERS.keys() - TIMELESS)
        for what in WHATS
        if not (name in FOLLOWING and what == "in-commit timestamp")
    ],
)
def test_time_ahead_of_the_clock_refuses_where_ages_decide_or_begin(
    tmp_path: Path, name: str, what: str
) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    ahead = NOW_MS + 6 * 60_000
    if what == "commit before the newest":
        lake.log.time(4, ahead)
    elif what == "in-commit timestamp":
        info = {"commitInfo": {"inCommitTimestamp": ahead}}
        lake.commit(6, [info, lake.add("6.parquet")], age_days=1)
    else:
        lake.log.time(5, ahead)
    check_refused(lake, PLANNERS[name](lake), "clock")
    lake.now_ms += 2 * 60_000
    assert outcome(PLANNERS[name](lake), "clock") == "allow"


def ahead_by(lake: Lake, ahead_ms: int, **more: Any) -> int:
    """A version of that time, which follows the others; the time."""
    at = NOW_MS + ahead_ms
    lake.commit(6, [{"commitInfo": {"inCommitTimestamp": at}}, *more.values()], age_days=1)
    return at


@pytest.mark.slow
@pytest.mark.parametrize("file_too", [False, True], ids=["recorded alone", "its file, too"])
@pytest.mark.parametrize("name", sorted(FOLLOWING - WITHOUT_STATISTICS))
def test_commit_that_begins_no_age_follows_an_in_commit_timestamp_that_lies_ahead(
    tmp_path: Path, name: str, file_too: bool
) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    at = ahead_by(lake, 30 * 86_400_000)
    if file_too:
        lake.log.time(6, at)
    plan = PLANNERS[name](lake)
    (told,) = (found for found in plan.verdicts if found.guard == "clock")
    assert told.outcome == "warn"
    assert "30 days ahead of this clock. The commit gets a timestamp one" in told.message
    if name in {"add constraint", "repair statistics"}:
        return  # their rows are nowhere
    assert lake.execute(plan).status == "completed"
    info = lake.table.history(1).to_pylist()[0]
    commits = info["version"] - 6  # each follows the one before it
    assert commits >= 1
    assert info["timestamp"].timestamp() * 1000 == at + commits


def test_restore_follows_a_time_ahead_only_where_no_file_leaves(tmp_path: Path) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    ahead_by(lake, 86_400_000, gone=lake.remove("4.parquet", age_days=1))
    assert outcome(maintenance.plan_restore(lake.table, 5, clock=lake.clock), "clock") == "warn"
    assert outcome(maintenance.plan_restore(lake.table, 4, clock=lake.clock), "clock") == "refuse"


def test_commit_that_gives_up_its_own_time_follows_none(tmp_path: Path) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    ahead_by(lake, 86_400_000)
    dropped = maintenance.plan_drop_feature(lake.table, "inCommitTimestamp", clock=lake.clock)
    off = {"delta.enableInCommitTimestamps": "false"}
    unset = maintenance.plan_set_properties(lake.table, off, clock=lake.clock)
    for plan in (dropped, unset):
        check_refused(lake, plan, "clock")


def test_tombstones_of_vectors_follow_no_time_ahead(tmp_path: Path) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    hidden = {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": 1,
        "sizeInBytes": 36,
        "cardinality": 1,
    }
    gone = lake.remove("1.parquet", age_days=1)
    gone["remove"]["deletionVector"] = hidden
    ahead_by(lake, 86_400_000, gone=gone)
    plan = maintenance.plan_drop_feature(lake.table, "deletionVectors", clock=lake.clock)
    assert any(isinstance(step, Commit) and step.files for step in plan.steps)
    check_refused(lake, plan, "clock")


@pytest.mark.parametrize(
    "name", sorted(PLANNERS.keys() - TIMELESS - {"repair files"} - WITHOUT_STATISTICS)
)
def test_clock_that_is_behind_when_a_plan_is_carried_out_refuses_as_it_does_before(
    tmp_path: Path, name: str
) -> None:
    lake = build(tmp_path)
    plan = PLANNERS[name](lake)
    before = names_below(lake.log)
    lake.now_ms -= 6 * 60_000
    approval = maintenance.Approval(plan.digest, "me", plan.subject.name, "a reason")
    receipt = lake.execute(plan, approval=approval)
    assert receipt.status == "refused"
    assert receipt.problem is not None
    assert receipt.problem.kind == "plan_refused"
    assert "this clock" in receipt.problem.reason
    assert {step.status for step in receipt.steps} == {"not begun"}
    assert names_below(lake.log) == before


@pytest.mark.parametrize(
    ("name", "behind_min"), [("set", 4), ("checkpoint", 6), ("compact-log", 6)]
)
def test_clock_that_is_hardly_behind_or_is_not_asked_refuses_nothing(
    tmp_path: Path, name: str, behind_min: int
) -> None:
    lake = build(tmp_path)
    plan = PLANNERS[name](lake)
    lake.now_ms -= behind_min * 60_000
    assert lake.execute(plan).status == "completed"


def test_plan_that_a_clock_refused_is_carried_out_once_it_is_right(tmp_path: Path) -> None:
    lake = build(tmp_path)
    plan = PLANNERS["restore"](lake)
    lake.now_ms = ms_ago(20)
    assert lake.execute(plan).status == "refused"
    lake.now_ms = NOW_MS
    assert lake.execute(plan).status == "completed"
    (removed,) = lake.table.snapshot().tombstones(["deletion_timestamp"]).to_pylist()
    assert removed["deletion_timestamp"].timestamp() * 1000 == NOW_MS


@pytest.mark.parametrize(
    ("days", "said"),
    [(3650, "3,650 days"), (2.9, "2 days"), (1.5, "36 hours"), (0.0625, "90 minutes")],
)
def test_how_far_a_commit_is_ahead_is_told_in_the_largest_unit(
    tmp_path: Path, days: float, said: str
) -> None:
    lake = build(tmp_path)
    lake.log.time(5, ms_ago(-days))
    (refusal,) = PLANNERS["set"](lake).refusals
    assert f"is {said} ahead of this clock" in refusal.message
    assert refusal.remedy.endswith("correct the modification time of that commit's file.")


def test_time_beyond_every_calendar_refuses_in_words(tmp_path: Path) -> None:
    lake = build(tmp_path, **{"delta.enableInCommitTimestamps": "true"})
    info = {"commitInfo": {"inCommitTimestamp": 2**61}}
    lake.commit(6, [info, lake.add("6.parquet")], age_days=1)
    assert outcome(PLANNERS["set"](lake), "clock") == "warn"
    refusals = PLANNERS["optimize"](lake).refusals
    (refusal,) = (found for found in refusals if found.guard == "clock")
    assert "in-commit timestamp, 9999-12-31 23:59:59 UTC, is 2,912,295 days ahead" in (
        refusal.message
    )
    assert "file" not in refusal.remedy, "it says its time itself"
