"""Writers, vacuum, cleanup, checkpoints and restores in any order, by seeded schedules.

Writers put files first and commit them later; plans are made at one time and executed at
another, with commits in between. After every execution:

- the newest version opens, and every file of it is there
- every version that was current within the retention has all its files
- no file of a writer that has not yet committed is gone, as long as it is younger than that
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from explorer.errors import DeltaError
from explorer.maintenance import (
    Approval,
    Plan,
    execute,
    plan_checkpoint,
    plan_log_cleanup,
    plan_restore,
    plan_vacuum,
)
from explorer.progress import Progress
from tests.tables import FEATURE_PROTOCOL, metadata
from tests.unit.maintenance.lake import DAY_MS, Lake

SCHEDULES = int(os.environ.get("DELTA_EXPLORER_SCHEDULES", "40"))
SHARE = 8
STEPS = 25
RETENTION_DAYS = 7


@dataclass
class World:
    """A table, writers that have not committed, and plans that wait."""

    lake: Lake
    dice: random.Random
    files: int = 0
    waiting: list[str] = field(default_factory=list)
    written_at: dict[str, int] = field(default_factory=dict)
    plans: list[Plan] = field(default_factory=list)
    executed: int = 0

    def age_days(self, time_ms: int) -> float:
        from_now = self.lake.now_ms - time_ms
        return from_now / DAY_MS

    def stamp(self, path: Path) -> None:
        seconds = self.lake.now_ms / 1000
        os.utime(path, (seconds, seconds))

    def commit(self, actions: list[dict[str, object]]) -> None:
        version = self.lake.table.latest_version() + 1
        self.stamp(self.lake.log.commit(version, actions))

    # --- what may happen

    def write(self) -> None:
        name = f"{self.files:04}.parquet"
        self.files += 1
        self.stamp(self.lake.root / self.lake.file(name))
        self.waiting.append(name)
        self.written_at[name] = self.lake.now_ms

    def append(self) -> None:
        if self.waiting:
            name = self.waiting.pop(self.dice.randrange(len(self.waiting)))
            if (self.lake.root / name).exists():
                body = self.lake.add(name)["add"]
                self.stamp(self.lake.root / name)
                self.commit([{"add": {**body, "modificationTime": self.lake.now_ms}}])

    def remove(self) -> None:
        live = self.lake.table.snapshot().files(["path"]).column("path").to_pylist()
        if live:
            path = self.dice.choice(live)
            body = {"path": path, "deletionTimestamp": self.lake.now_ms, "dataChange": True}
            self.commit([{"remove": {**body, "size": 100}}])

    def wait(self) -> None:
        self.lake.now_ms += int(self.dice.uniform(0.1, 6) * DAY_MS)

    def plan(self) -> None:
        table, clock = self.lake.table, self.lake.clock
        version = self.dice.randrange(table.latest_version() + 1)
        kind = self.dice.choice(["vacuum", "vacuum", "lite", "clean", "checkpoint", "restore"])
        try:
            if kind in {"vacuum", "lite"}:
                mode = "full" if kind == "vacuum" else "lite"
                found = plan_vacuum(table, mode=mode, clock=clock, state_dir=self.lake.state)
                assert not found.refusals, found.refusals
            elif kind == "clean":
                found = plan_log_cleanup(table, clock=clock)
            elif kind == "checkpoint":
                found = plan_checkpoint(table, clock=clock)
            else:
                found = plan_restore(table, version, clock=clock)
        except DeltaError:
            assert kind == "restore", kind  # a version that a cleanup took
            return
        self.plans.append(found)

    def carry_out(self) -> None:
        if not self.plans:
            return
        plan = self.plans.pop(self.dice.randrange(len(self.plans)))
        between = self.dice.random() < 0.3

        def meanwhile(progress: Progress) -> None:
            nonlocal between
            if between:
                between = False
                self.dice.choice([self.append, self.remove])()

        receipt = execute(
            plan,
            Approval(plan.digest),
            state_dir=self.lake.state,
            clock=self.lake.clock,
            progress=meanwhile,
        )
        # commits of ours have the machine's time: as old as the schedule says
        for place in self.lake.log.log.iterdir():
            if place.is_file() and place.stat().st_mtime * 1000 > self.lake.now_ms:
                self.stamp(place)
        assert all(check.holds for check in receipt.checks), receipt.checks
        assert receipt.status in {"completed", "refused", "partly"}, receipt.problem
        self.executed += 1
        self.check()

    def check(self) -> None:
        table = self.lake.table
        latest = table.latest_version()
        for version in range(latest, -1, -1):
            try:
                snapshot = table.snapshot(version=version)
            except DeltaError:
                break  # cleaned up, and so is everything before it
            names = snapshot.files(["path"]).column("path").to_pylist()
            missing = [name for name in names if not (self.lake.root / name).exists()]
            assert not missing, (version, latest, missing)
            committed = (self.lake.log.log / f"{version:020}.json").stat().st_mtime * 1000
            if self.age_days(int(committed)) > RETENTION_DAYS:
                break  # older ones were not current within the retention
        for name in self.waiting:
            if self.age_days(self.written_at[name]) < RETENTION_DAYS:
                assert (self.lake.root / name).exists(), name


@pytest.mark.parametrize("share", range(SHARE))
def test_no_schedule_loses_a_file_that_is_needed(tmp_path: Path, share: int) -> None:
    executed = 0
    for seed in range(share, SCHEDULES, SHARE):
        scratch = tmp_path / str(seed)
        scratch.mkdir()
        world = World(lake=Lake(scratch), dice=random.Random(seed))
        world.stamp(world.lake.log.commit(0, [FEATURE_PROTOCOL, metadata()]))
        moves = [world.write, world.append, world.append, world.remove, world.wait, world.plan]
        for _ in range(STEPS):
            world.dice.choice([*moves, world.write, world.plan, world.carry_out])()
        while world.plans:
            world.carry_out()
        executed += world.executed
    assert executed
    print(f"{len(range(share, SCHEDULES, SHARE))} schedules, {executed} executions")  # noqa: T201
