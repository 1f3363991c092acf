"""Runs schedules: one, a range of them in this process, or any number on all cores by hand.

    python -m tests.faults.schedules_run FIRST COUNT

Each seed is a schedule, the same on every machine. The counts are printed after each block of
a thousand, with the seed to go on with should the run be stopped; a schedule after which
something is wrong ends the run and is named.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

from explorer.transaction import commit as commits
from tests.faults.schedules_judge import judge
from tests.faults.schedules_known import answers_kept
from tests.faults.schedules_strands import pools_of_strands
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

BLOCK = 1000
"""Schedules that are run in one go: less than what counts as a hang."""

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
_BLOCKS_OF_A_PROCESS = 20
"""So that whatever a long run may leave in memory goes with its process."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What happened, so that nobody mistakes a run in which nothing did for a proof."""

    schedules: int = 0
    long: int = 0
    operations: int = 0
    kills: int = 0
    faults: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            schedules=self.schedules + other.schedules,
            long=self.long + other.long,
            operations=self.operations + other.operations,
            kills=self.kills + other.kills,
            faults=self.faults + other.faults,
        )

    def __str__(self) -> str:
        return (
            f"{self.schedules:,} schedules, {self.long:,} of them long, with "
            f"{self.operations:,} operations, {self.kills:,} kills and {self.faults:,} faults"
        )


@dataclass(frozen=True, kw_only=True)
class Ran:
    """Schedules that were run, and what is wrong after the last of them."""

    counts: Counts = Counts()
    wrong: tuple[str, ...] = ()


@contextmanager
def quickly() -> Iterator[Path]:
    """What schedules are run in, and a folder for plans and journals: in memory where there
    is such a one, for no power cut will meet them."""
    memory = Path("/dev/shm")
    place = memory if os.access(memory, os.W_OK) else None
    with (
        TemporaryDirectory(prefix="schedules-", dir=place) as folder,
        patch.object(os, "fsync", lambda _: None),
        patch.object(commits, "time", SimpleNamespace(sleep=lambda _: None)),
        pools_of_strands(),
        answers_kept(),
    ):
        yield Path(folder)


def run_schedules(seeds: range, folder: Path) -> Ran:
    """One after the other, inside of `quickly`, up to one after which something is wrong;
    those with the same past together, so that what they have in common is kept."""
    counts = Counts()
    for seed in sorted(seeds, key=lambda seed: seed % _PASTS):
        state = folder / str(seed)
        ran = run_schedule(seed, state)
        counts += ran.counts
        shutil.rmtree(state, ignore_errors=True)
        if ran.wrong:
            return Ran(counts=counts, wrong=(f"schedule {seed}: {'; '.join(ran.wrong[:5])}",))
    return Ran(counts=counts)


def run_schedule(seed: int, state: Path) -> Ran:
    """One schedule."""
    chance = random.Random(seed)
    began = _past(seed % _PASTS)
    world = World(disk=began.disk.copy(), chance=chance, state=state, tries=dict(began.tries))
    counts = Counts(schedules=1, long=int(seed % _LONG == 0))
    dead: list[Participant] = []
    wrong: list[str] = []
    for works in _long(world) if seed % _LONG == 0 else _short(world):
        together = [
            Participant(f"{number} {named(work[0])}", world.disk, tolerant(world, *work), chance)
            for number, work in enumerate(works)
        ]
        killed = run_together(chance, world.disk, together, chance.choice(_RISKS))
        dead += killed
        counts += Counts(
            operations=sum(each.operations for each in together),
            kills=len(killed),
            faults=sum(each.faults for each in together),
        )
        wrong += [f"{each.name}: {each.error!r}" for each in together if each.error is not None]
        wrong += judge(world)
        if wrong:
            break
        world.end_of_day()
        world.disk.clock_ms += int(chance.choice(_PAUSES_DAYS) * DAY_MS)
    for each in dead:
        each.end_killed()
    return Ran(counts=counts, wrong=tuple(wrong))


@lru_cache(maxsize=_PASTS)
def _past(number: int) -> World:
    """A table that many schedules begin with."""
    with TemporaryDirectory() as folder:
        chance = random.Random(f"past {number}")
        world = World(disk=Disk(), chance=chance, state=Path(folder))
        create(world)
    return world


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


def _run_block(seeds: range) -> Ran:
    with quickly() as folder:
        return run_schedules(seeds, folder)


def _leave_stopping_to_main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def main(first: int, count: int) -> int:
    """Run them on all cores; 1 where something is wrong, 130 where somebody stopped it, which
    lets the blocks end that have begun."""
    ends = range(first, first + count, BLOCK)
    blocks = [range(start, min(start + BLOCK, first + count)) for start in ends]
    so_far = Counts()
    try:
        for block, ran in _run_blocks(blocks):
            so_far += ran.counts
            if ran.wrong:
                sys.stdout.write(f"{ran.wrong[0]}\n")
                return 1
            sys.stdout.write(f"{so_far}; next seed: {block.stop}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    return 0


def _run_blocks(blocks: list[range]) -> Iterator[tuple[range, Ran]]:
    """Each block in its turn, on all cores."""
    cores = len(os.sched_getaffinity(0))
    # not `max_tasks_per_child`: a pool of Python 3.11 that was given more tasks than its first
    # processes take waits for ever (python/cpython#115634)
    at_once = cores * _BLOCKS_OF_A_PROCESS
    for start in range(0, len(blocks), at_once):
        some = blocks[start : start + at_once]
        with ProcessPoolExecutor(
            cores, mp_context=get_context("spawn"), initializer=_leave_stopping_to_main
        ) as processes:
            try:
                yield from zip(some, processes.map(_run_block, some), strict=True)
            finally:
                processes.shutdown(wait=False, cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
