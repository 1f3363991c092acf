"""Writers and maintenance in each other's way, over many seeded schedules."""

from __future__ import annotations

import os
import random
import shutil
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.faults.schedules_judge import judge
from tests.faults.schedules_turns import DAY_MS, Disk, Participant, Risks, run_together
from tests.faults.schedules_world import (
    MAINTAINERS,
    WRITERS,
    World,
    create,
    go_on,
    named,
    tolerant,
)

SCHEDULES = int(os.environ.get("DELTA_EXPLORER_SCHEDULES", "160"))
_PARTS = 8
_PASTS = 24
_RISKS = (
    Risks(),
    Risks(kill=0.004),
    Risks(fail=0.004),
    Risks(kill=0.003, fail=0.003),
)
_PAUSES_DAYS = (0, 0.01, 1, 3, 8, 20)


@lru_cache(maxsize=_PASTS)
def past(number: int, state: Path) -> World:
    """A table that many schedules begin with."""
    world = World(disk=Disk(), chance=random.Random(f"past {number}"), state=state)
    create(world)
    return world


def run_schedule(seed: int, state: Path) -> list[str]:
    """One schedule; what is wrong after it."""
    chance = random.Random(seed)
    began = past(seed % _PASTS, state.parent / "past")
    world = World(disk=began.disk.copy(), chance=chance, state=state, tries=dict(began.tries))
    dead: list[Participant] = []
    risks = chance.choice(_RISKS)
    wrong: list[str] = []
    for _ in range(chance.randint(1, 4)):
        works = [chance.choice(MAINTAINERS) for _ in range(chance.randint(1, 3))]
        works += [go_on] * bool(world.open_plans)
        works += [chance.choice(WRITERS) for _ in range(chance.randint(1, 3))]
        together = [
            Participant(f"{number} {named(work)}", world.disk, tolerant(world, work, work))
            for number, work in enumerate(works)
        ]
        dead += run_together(chance, world.disk, together, risks)
        wrong += [f"{each.name}: {each.error!r}" for each in together if each.error is not None]
        wrong += judge(world)
        if wrong:
            break
        world.end_of_day()
        world.disk.clock_ms += int(chance.choice(_PAUSES_DAYS) * DAY_MS)
    for each in dead:
        each.end_killed()
    return wrong


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_schedule_loses_or_doubles_a_commit_or_takes_a_file_that_is_promised(
    part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = range(part, SCHEDULES, _PARTS)
    for seed in seeds:
        state = tmp_path / str(seed)
        wrong = run_schedule(seed, state)
        assert not wrong, f"schedule {seed}: " + "; ".join(wrong[:5])
        shutil.rmtree(state, ignore_errors=True)
    with capsys.disabled():
        sys.stdout.write(f" {len(seeds)} schedules ")
