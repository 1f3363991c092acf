"""Writers and maintenance in each other's way, over thousands of seeded schedules.

Most schedules are short: two or three participants who meet once, on one of many tables, which
finds what two can do to each other for little time. A share of them are long: days on which
half a dozen meet, are killed, and their plans are taken up by others. `DELTA_EXPLORER_SCHEDULES`
says how many schedules there are, `DELTA_EXPLORER_FIRST_SCHEDULE` with which seed they begin;
the counts are printed. `tests.faults.schedules_run` runs many by hand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.schedules_run import BLOCK, quickly, run_schedules
from tests.sampling import unless_asked

SCHEDULES = int(os.environ.get("DELTA_EXPLORER_SCHEDULES", "2000"))
FIRST = int(os.environ.get("DELTA_EXPLORER_FIRST_SCHEDULE", "0"))
_PARTS = max(8, -(-SCHEDULES // BLOCK))


@pytest.fixture(scope="module")
def quick() -> Iterator[Path]:
    """A folder for plans and journals, and all that makes schedules quick."""
    with quickly() as folder:
        yield folder


@pytest.mark.sampled(one_in=unless_asked("DELTA_EXPLORER_SCHEDULES", 2))
@pytest.mark.parametrize("part", range(_PARTS))
def test_no_schedule_loses_or_doubles_a_commit_or_takes_a_file_that_is_promised(
    part: int, quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start, stop = (FIRST + SCHEDULES * number // _PARTS for number in (part, part + 1))
    ran = run_schedules(range(start, stop), quick)
    assert not ran.wrong, ran.wrong[0]
    with capsys.disabled():
        sys.stdout.write(f" from seed {start} {ran.counts} ")


def test_a_seed_is_a_schedule(quick: Path) -> None:
    (once, again) = (run_schedules(range(60, 90), quick).counts for _ in range(2))
    assert once == again
    assert once.kills
    assert once.faults
