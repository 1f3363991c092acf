"""Samples lose nothing: every case has its turn, each run says which, and all can be asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import sampling
from tests.conftest import ROOT
from tests.sampling import COSTLY, add_turns, sample, sample_tests, unless_asked

_FILE = """
import pytest

@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("number", range(10))
def test_number(number): ...
"""


@dataclass(frozen=True, slots=True)
class _Test:
    """What is asked of a test that pytest collected."""

    nodeid: str
    sampled: dict[str, Any] | None = None
    params: dict[str, object] = field(default_factory=dict)
    turns: dict[str, Any] | None = None
    daily: dict[str, Any] | None = None
    rule: dict[str, Any] | None = None

    @property
    def callspec(self) -> _Test:
        return self

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        found = getattr(self, name)
        return None if found is None else pytest.Mark(name, (), found, _ispytest=True)


_ROUTES = [
    _Test(f"t.py::test_route[{table}-{route}]", {"one_in": 3, "each": "table"}, {"table": table})
    for table in map(str, range(20))
    for route in "abc"
]
_NUMBERS = [_Test(f"t.py::test_number[{number}]", {"one_in": 4}) for number in range(10)]
_ALWAYS = _Test("t.py::test_always")
_THIRD = {"one_in": 3}
_WHOLE = [_Test(f"w.py::test_{letter}", turns=_THIRD) for letter in "abcdef"]
_CASES = [_Test(f"w.py::test_cases[{at}]", {"one_in": 3}, turns=_THIRD) for at in range(6)]
_EACH_DAY = [
    _Test("w.py::test_smoke", turns=_THIRD, daily={}),
    _Test("w.py::test_of_a_rule", turns=_THIRD, rule={}),
]


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


def _running(monkeypatch: pytest.MonkeyPatch, seed: int, *named: str) -> list[str]:
    monkeypatch.setattr(sampling, "SEED", seed)
    tests: Any = [*_ROUTES, *_NUMBERS, _ALWAYS]
    return [test.nodeid for test in sample_tests(tests, named)]


def test_every_table_runs_one_way_and_a_third_in_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    days = [_running(monkeypatch, seed) for seed in range(300, 304)]
    assert set().union(*days) == {test.nodeid for test in [*_ROUTES, *_NUMBERS, _ALWAYS]}
    for day in days:
        routes = [name for name in day if "test_route" in name]
        tables = {name.partition("[")[2].partition("-")[0] for name in routes}
        assert len(tables) == 20
        assert 20 <= len(routes) < 45
        assert sum("test_number" in name for name in day) in {2, 3}
        assert day[-1] == _ALWAYS.nodeid


def test_tests_of_a_file_take_turns_and_those_of_a_rule_or_of_each_day_always_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tests: Any = [*_WHOLE, *_CASES, *_EACH_DAY]
    ran: Counter[str] = Counter()
    for seed in range(300, 309):
        monkeypatch.setattr(sampling, "SEED", seed)
        day = [test.nodeid for test in sample_tests(tests)]
        ran.update(day)
        assert len({name.partition("[")[0] for name in day} - {e.nodeid for e in _EACH_DAY}) >= 2
        assert day[-2:] == [test.nodeid for test in _EACH_DAY]
    # in three rounds: each test thrice, each of its cases once, whatever both are counted in
    assert [ran[test.nodeid] for test in _WHOLE] == [3] * 6
    assert [ran[test.nodeid] for test in _CASES] == [1] * 6


class _Marked:
    """A test of which the marks alone are asked."""

    def __init__(self, *marks: pytest.MarkDecorator) -> None:
        self.marks = {mark.name: mark for mark in marks}

    def get_closest_marker(self, name: str) -> pytest.MarkDecorator | None:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark


class _MarkedCase(_Marked):
    callspec = None


def test_what_starts_a_jvm_or_a_browser_has_its_turns_unless_it_says_otherwise() -> None:
    mark = pytest.mark
    whole, case = _Marked(mark.spark), _MarkedCase(mark.browser)
    others = [
        _Marked(mark.spark, mark.daily),
        _Marked(mark.spark, mark.turns(one_in=7)),
        _MarkedCase(mark.browser, mark.sampled(one_in=9)),
        _Marked(),
    ]
    before = [dict(item.marks) for item in others]
    tests: Any = [whole, case, *others]
    add_turns(tests)
    assert whole.marks["turns"].kwargs == {"one_in": COSTLY["spark"]}
    assert case.marks["sampled"].kwargs == {"one_in": COSTLY["browser"]}
    assert "sampled" not in whole.marks
    assert "turns" not in case.marks
    assert [item.marks for item in others] == before


def test_a_test_that_waits_runs_when_it_is_named_and_in_a_run_of_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tests: Any = [*_WHOLE, *_CASES]
    name = "w.py::test_a"
    for seed in range(3):
        monkeypatch.setattr(sampling, "SEED", seed)
        assert name in [test.nodeid for test in sample_tests(tests, [name])]
    monkeypatch.setattr(sampling, "EVERYTHING", True)
    assert sample_tests(tests) == tests


def test_a_test_that_is_named_runs_whatever_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "t.py::test_number[5]"
    assert sum(name in _running(monkeypatch, seed) for seed in range(4)) == 1
    assert all(name in _running(monkeypatch, seed, name, "t.py") for seed in range(4))


@pytest.mark.slow
def test_pytest_says_how_many_wait_for_another_seed_and_how_to_run_them(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_some.py").write_text(_FILE)
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  sampled: some\n")
    clean = {key: value for key, value in os.environ.items() if "DELTA_EXPLORER" not in key}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**clean, "PYTHONPATH": str(ROOT), "DELTA_EXPLORER_SEED": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    ran = re.search(r"(\d) passed, (\d) deselected", done.stdout)
    assert ran, done.stdout
    assert {int(ran[1]), int(ran[2])} in ({2, 8}, {3, 7})
    assert f"seed 2; {ran[2]} tests have their turn with another seed" in done.stdout
    assert "all: DELTA_EXPLORER_EVERYTHING=1" in done.stdout


@pytest.mark.slow
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
