"""Vacuum's plan against a second computation of what must stay and what may go."""

from __future__ import annotations

import os
import random
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

import explorer
from explorer import maintenance
from explorer.maintenance import Approval, plan_vacuum
from tests.corpus import READABLE, place_table, table_name
from tests.interop.random_lakes import RandomLake
from tests.interop.vacuum_by_hand import DAY_MS, commits_of, decide, files_of, list_files, replay
from tests.sampling import unless_asked
from tests.unit.maintenance.lake import outcome, planned

_MS = timedelta(milliseconds=1)
_RETENTIONS = (None, timedelta(hours=36), timedelta(days=8), timedelta(days=15), timedelta(days=39))
_LAKES = int(os.environ.get("DELTA_EXPLORER_LAKES", "8"))
_IN_EACH = 12
_COMMITTED_FROM_THE_FIRST = [
    table
    for table in READABLE
    if "archive" not in table
    and table.get("data_files") != "absent"
    and table["n_commits_present"] == table["latest_version"] + 1
]


def there(root: Path) -> set[str]:
    return {path for path, _ in list_files(root)}


@pytest.mark.sampled(one_in=unless_asked("DELTA_EXPLORER_LAKES", 8))
@pytest.mark.rule("log-vacuum-retention-default")
@pytest.mark.parametrize("part", range(_LAKES))
def test_plan_deletes_what_a_second_computation_allows_and_nothing_else(
    part: int, tmp_path: Path
) -> None:
    for seed in range(part * _IN_EACH, (part + 1) * _IN_EACH):
        made = RandomLake(tmp_path, seed)
        lake = made.lake
        asked = random.Random(seed).choice(_RETENTIONS)
        for mode in ("lite", "full"):
            plan = plan_vacuum(lake.table, asked, mode=mode, clock=lake.clock, state_dir=lake.state)
            assert outcome(plan, "second route") == "allow", (seed, plan.verdicts)
            retention = plan.parameters["retention_ms"]
            fate = decide(lake.root, lake.now_ms, retention, lite=mode == "lite")
            assert not fate.keep & fate.delete
            assert fate.allows(set(planned(plan))), (seed, mode, set(planned(plan)) ^ fate.delete)
        assert_it_deletes_just_that(made, plan, seed)


def assert_it_deletes_just_that(made: RandomLake, plan: maintenance.Plan, seed: int) -> None:
    """Carry the plan out: its files go, no other, and every version that was current within
    the retention has all the files that it had."""
    lake = made.lake
    before = there(lake.root)
    cutoff = lake.now_ms - plan.parameters["retention_ms"]
    commits = list(commits_of(lake.root))
    ends = [time for _, time, _ in commits[1:]] + [lake.now_ms]
    current = [number for (number, _, _), end in zip(commits, ends, strict=True) if end > cutoff]
    approval = Approval(plan.digest, table_name=plan.subject.name, reason="a test")
    receipt = lake.execute(plan, approval=approval)
    assert receipt.status == "completed", (seed, receipt.problem)
    after = there(lake.root)
    assert before - after == set(planned(plan)), seed
    for version in current if made.has_true_times else current[-1:]:
        live = replay(lake.root, version).live
        assert not (files_of(lake.root, live).inside & before) - after, (seed, version)
        assert lake.table.snapshot(version=version).num_files == len(live), (seed, version)


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("expected", _COMMITTED_FROM_THE_FIRST, ids=table_name)
def test_table_of_the_corpus_keeps_what_a_second_computation_keeps(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    source = place_table(dict(expected), tmp_path / "place")
    root = Path(shutil.copytree(source, tmp_path / "copy"))
    chance = random.Random(expected["name"])
    newest = max((time for _, time in stamps_of(root)), default=0)
    now_ms = newest + 10 * DAY_MS
    for place in root.rglob("*"):
        if place.is_file() and "_delta_log" not in place.parts:
            time = (now_ms - chance.uniform(1, 40) * DAY_MS) / 1000
            os.utime(place, (time, time))
    table = explorer.open_table(root)
    for days in (None, 2, 5, 12):
        asked = None if days is None else timedelta(days=days)
        for mode in ("lite", "full"):
            state = tmp_path / "state"
            plan = plan_vacuum(table, asked, mode=mode, clock=lambda: now_ms, state_dir=state)
            assert outcome(plan, "second route") == "allow", plan.verdicts
            retention = plan.parameters["retention_ms"]
            fate = decide(root, now_ms, retention, lite=mode == "lite")
            assert fate.allows(set(planned(plan))), (days, mode, set(planned(plan)) ^ fate.delete)
            assert not set(planned(plan)) & fate.keep


def stamps_of(root: Path) -> list[tuple[str, int]]:
    """What the clock must be later than: the times of commits and of removals."""
    times = [(str(number), time) for number, time, _ in commits_of(root)]
    removed = replay(root).removed
    times += [(body["path"], body.get("deletionTimestamp") or 0) for body in removed]
    return times


def test_deltalake_deletes_a_live_vector_that_the_second_computation_keeps_and_we_keep_it(
    corpus: Path, tmp_path: Path
) -> None:
    ours = Path(shutil.copytree(corpus / "tables/kernel-table-with-dv-small", tmp_path / "ours"))
    for place in ours.rglob("*"):
        os.utime(place, (1_600_000_000, 1_600_000_000))
    theirs = Path(shutil.copytree(ours, tmp_path / "theirs"))
    now_ms = maintenance.plan_vacuum(explorer.open_table(ours)).planned_at
    fate = decide(ours, now_ms, 7 * DAY_MS)
    (vector,) = (path for path in fate.keep if path.startswith("deletion_vector_"))
    rows = explorer.read_rows(explorer.open_table(theirs).snapshot())
    assert rows.num_rows == 8

    DeltaTable(str(theirs)).vacuum(dry_run=False, full=True)
    assert vector not in there(theirs)
    with pytest.raises(explorer.DeltaError):
        explorer.read_rows(explorer.open_table(theirs).snapshot())

    plan = plan_vacuum(explorer.open_table(ours), clock=lambda: now_ms)
    assert set(planned(plan)) == fate.delete
    receipt = maintenance.execute(plan, Approval(plan.digest), state_dir=tmp_path / "state")
    assert receipt.status == "completed"
    assert there(ours) == there(theirs) | {vector}
    assert explorer.read_rows(explorer.open_table(ours).snapshot()).equals(rows)
