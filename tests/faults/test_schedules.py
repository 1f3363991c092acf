"""Writers and maintenance in each other's way, over thousands of seeded schedules.

Most schedules are short: two or three participants who meet once, on one of many tables, which
finds what two can do to each other for little time. A share of them are long: days on which
half a dozen meet, are killed, and their plans are taken up by others. `DELTA_EXPLORER_SCHEDULES`
says how many schedules there are, `DELTA_EXPLORER_FIRST_SCHEDULE` with which seed they begin;
the counts are printed.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from tests.faults.schedules_judge import judge
from tests.faults.schedules_turns import DAY_MS, Disk, Participant, Risks, run_together
from tests.faults.schedules_world import (
    MAINTAINERS,
    WRITERS,
    Work,
    World,
    create,
    go_on,
    named,
    tolerant,
)

SCHEDULES = int(os.environ.get("DELTA_EXPLORER_SCHEDULES", "2000"))
FIRST = int(os.environ.get("DELTA_EXPLORER_FIRST_SCHEDULE", "0"))
_PARTS = 8
_PASTS = 24
_LONG = 80
"""One schedule of so many is a long one."""

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


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for plans and journals, which no power cut will meet."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return tmp_path


def run_schedule(seed: int, state: Path) -> list[str]:
    """One schedule; what is wrong after it."""
    chance = random.Random(seed)
    began = past(seed % _PASTS, state.parent / "past")
    world = World(disk=began.disk.copy(), chance=chance, state=state, tries=dict(began.tries))
    dead: list[Participant] = []
    wrong: list[str] = []
    for works in _long(world) if seed % _LONG == 0 else _short(world):
        together = [
            Participant(f"{number} {named(work[0])}", world.disk, tolerant(world, *work))
            for number, work in enumerate(works)
        ]
        dead += run_together(chance, world.disk, together, chance.choice(_RISKS))
        wrong += [f"{each.name}: {each.error!r}" for each in together if each.error is not None]
        wrong += judge(world)
        if wrong:
            break
        world.end_of_day()
        world.disk.clock_ms += int(chance.choice(_PAUSES_DAYS) * DAY_MS)
    for each in dead:
        each.end_killed()
    return wrong


def _short(world: World) -> Iterator[list[tuple[Work, ...]]]:
    """Two or three who meet once, and who takes up what was left."""
    chance = world.chance
    works = [(chance.choice(MAINTAINERS),)]
    works += [(chance.choice((*MAINTAINERS, *WRITERS, *WRITERS)),)]
    works += [(chance.choice(WRITERS),)] * chance.randint(0, 1)
    yield works
    if world.open_plans:
        yield [(go_on,), (chance.choice(WRITERS),)]


def _long(world: World) -> Iterator[list[tuple[Work, ...]]]:
    """Days on which many meet, each of them twice."""
    chance = world.chance
    for _ in range(chance.randint(1, 4)):
        works = [chance.choice(MAINTAINERS) for _ in range(chance.randint(1, 3))]
        works += [go_on] * bool(world.open_plans)
        works += [chance.choice(WRITERS) for _ in range(chance.randint(1, 3))]
        yield [(work, work) for work in works]


@pytest.mark.parametrize("part", range(_PARTS))
def test_no_schedule_loses_or_doubles_a_commit_or_takes_a_file_that_is_promised(
    part: int, quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = range(FIRST + part, FIRST + SCHEDULES, _PARTS)
    for seed in seeds:
        state = quick / str(seed)
        wrong = run_schedule(seed, state)
        assert not wrong, f"schedule {seed}: " + "; ".join(wrong[:5])
        shutil.rmtree(state, ignore_errors=True)
    with capsys.disabled():
        long = sum(seed % _LONG == 0 for seed in seeds)
        sys.stdout.write(f" {len(seeds)} schedules, {long} of them long ")
