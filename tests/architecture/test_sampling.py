"""Samples lose nothing: every case has its turn, each run says which, and all can be asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests import sampling
from tests.conftest import ROOT
from tests.sampling import sample, unless_asked

_FILE = """
import pytest

@pytest.mark.sampled(one_in=3, each="table")
@pytest.mark.parametrize("route", ["a", "b", "c"])
@pytest.mark.parametrize("table", range(20))
def test_route(table, route): ...

@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("number", range(10))
def test_number(number): ...

def test_always(): ...
"""


@pytest.fixture(autouse=True)
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests say the same in a run of everything."""
    monkeypatch.setattr(sampling, "EVERYTHING", False)


@pytest.mark.parametrize(("count", "one_in"), [(1, 3), (2, 5), (12, 3), (100, 7), (7, 1)])
def test_as_many_days_as_parts_run_every_case_once(count: int, one_in: int) -> None:
    days = min(one_in, count)
    ran = Counter(
        case for day in range(100, 100 + days) for case in sample(range(count), one_in, "x", day)
    )
    assert ran == Counter(range(count))


def test_every_day_runs_something_and_the_same_seed_the_same() -> None:
    for seed in range(50):
        chosen = sample(range(10), 4, "some list", seed)
        assert chosen == sample(range(10), 4, "some list", seed)
        assert 2 <= len(chosen) <= 3
        assert chosen == sorted(chosen)


def test_lists_that_are_alike_have_their_turns_apart() -> None:
    assert sample(range(100), 3, "one", 7) != sample(range(100), 3, "another", 7)


def test_everything_is_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERYTHING", True)
    assert sample(range(10), 5, "x") == list(range(10))


def test_a_number_of_cases_that_is_asked_for_is_run_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELTA_EXPLORER_SCHEDULES", raising=False)
    assert unless_asked("DELTA_EXPLORER_SCHEDULES", 4) == 4
    monkeypatch.setenv("DELTA_EXPLORER_SCHEDULES", "7000")
    assert unless_asked("DELTA_EXPLORER_SCHEDULES", 4) == 1


def _collected(folder: Path, *args: str, **environment: str) -> list[str]:
    file = folder / "tests" / "test_some.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(_FILE)
    (folder / "tests" / "conftest.py").write_text(
        "from tests.sampling import sample_tests\n"
        "def pytest_collection_modifyitems(config, items):\n"
        "    items[:] = sample_tests(items, config.args)\n"
        "def pytest_configure(config):\n"
        "    config.addinivalue_line('markers', 'sampled(one_in, each): some')\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\n")
    line = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *args]
    clean = {key: value for key, value in os.environ.items() if "DELTA_EXPLORER" not in key}
    done = subprocess.run(
        line,
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_table_runs_one_way_and_a_third_in_the_others(tmp_path: Path) -> None:
    days = [_collected(tmp_path, DELTA_EXPLORER_SEED=str(seed)) for seed in range(300, 304)]
    every = _collected(tmp_path, DELTA_EXPLORER_EVERYTHING="1")
    assert len(every) == 60 + 10 + 1
    assert set().union(*days) == set(every)
    for day in days:
        routes = [name for name in day if "test_route" in name]
        tables = {name.partition("[")[2].partition("-")[0] for name in routes}
        assert len(tables) == 20
        assert 20 <= len(routes) < 45
        assert sum("test_number" in name for name in day) in {2, 3}
        assert sum("test_always" in name for name in day) == 1


def test_a_test_that_is_named_runs_whatever_the_seed(tmp_path: Path) -> None:
    for seed in ("1", "2", "3"):
        name = "tests/test_some.py::test_number[5]"
        assert _collected(tmp_path, name, DELTA_EXPLORER_SEED=seed) == [name]


def test_what_is_started_later_has_the_seed_of_the_first_process() -> None:
    code = (
        "import os, subprocess, sys, time; time.time = lambda: 86_400 * 5.0;"
        "from tests.sampling import SEED; print(SEED, flush=True);"
        "subprocess.run([sys.executable, '-c', 'from tests.sampling import SEED; print(SEED)'])"
    )
    clean = {key: value for key, value in os.environ.items() if key != "DELTA_EXPLORER_SEED"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["5", "5"]
