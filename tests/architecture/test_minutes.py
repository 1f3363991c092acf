"""The closing lines tell the truth of the minutes: whose they are, and what is over its budget."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.closing import (
    BUDGET,
    Part,
    add_workers,
    pace_of,
    part_of,
    read_parts,
    render,
    render_whole,
)
from tests.conftest import ROOT
from tests.minutes import Processor, read_processes

_BUDGET = {
    "parts": {"tests/unit": 5.0, "checks": 2.0},
    "whole": {"now": 32.0, "never_above": 60.0},
    "coming": {"changed rows": 10.0, "the page": 5.0},
}
_TOLD = {
    "wall": 600.0,
    "ended": 1000.0,
    "waited": 6.0,
    "cpu": 400.0,
    "kinds": {"JVM": 120.0},
    "parts": {"tests/unit/a.py": [120.0, 180.0], "collection": [30.0, 30.0]},
    "tests": [[9.0, "tests/unit/a.py::test_slow"], [1.0, "tests/unit/a.py::test_quick"]],
    "fixtures": [[3.0, "tests/unit::lake"]],
    "probes": [0.1, 0.3],
}
_RECORD = {"leading": 6.0, "workers": {"gw0": _TOLD, "gw1": {**_TOLD, "ended": 880.0}}}


def test_parts_of_both_workers_are_added_and_those_before_pytest_too() -> None:
    parts = add_workers(read_parts("checks\t60.5\t30.0\t30.0\nchecks\t59.5\t0\t0\n"), _RECORD)
    assert parts["checks"] == Part(2.0, 1.0)
    assert parts["tests/unit"] == Part(4.0, 6.0)
    assert parts["collection"] == Part(1.0, 1.0)
    assert parts["pytest itself"] == Part(0.0, 0.1)


def _line(lines: list[str], word: str) -> str:
    (found,) = [line for line in lines if word in line]
    return found


def test_a_part_over_its_budget_is_marked_and_the_slowest_are_named() -> None:
    parts = {"tests/unit": Part(4.0, 6.0), "checks": Part(2.0, 1.0)}
    lines = list(render(parts, _RECORD, _BUDGET, pace=1.0))
    assert _line(lines, "tests/unit  ").endswith("OVER")
    assert "OVER" not in _line(lines, "checks")
    assert "4.0" in _line(lines, "of these the JVM")
    assert "waited 0.1 between tests and 2.0 at the end" in _line(lines, "worker gw1")
    order = [line.split()[-1] for line in lines if "::" in line]
    assert "     6.0  tests/unit/a.py" in lines
    assert order[0].endswith("test_slow")
    assert order[-1] == "tests/unit::lake"


def test_a_budget_is_in_minutes_of_the_quick_machine() -> None:
    parts = {"tests/unit": Part(4.0, 6.0)}
    assert "OVER" not in "".join(render(parts, _RECORD, _BUDGET, pace=1.3))
    whole = "\n".join(render_whole({"all": Part(20.0, 40.0)}, 20.0, _BUDGET, pace=2.0))
    assert "20.0 minutes by the clock; 40.0 of the processor, 20.0 of the quick" in whole
    assert "OVER" not in whole
    assert "to come: changed rows 10, the page 5; never above 60" in whole
    assert "OVER" in "".join(render_whole({"all": Part(20.0, 40.0)}, 20.0, _BUDGET, pace=1.0))


def test_how_quick_the_machine_is_is_the_mean_of_what_both_workers_saw() -> None:
    slower = {"workers": {**_RECORD["workers"], "gw2": {**_TOLD, "probes": [0.5, 0.7]}}}
    assert pace_of(_RECORD, quick=0.1) == pytest.approx(2.0)
    assert pace_of(slower, quick=0.1) == pytest.approx(2.0 * 2 / 3 + 6.0 / 3)
    assert pace_of({"workers": {}}, quick=1e-9) > 1


def test_every_folder_of_tests_has_a_budget_and_they_add_up_to_the_whole() -> None:
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8"))
    folders = {
        part_of(path.relative_to(ROOT).as_posix()) for path in (ROOT / "tests").rglob("test_*.py")
    }
    assert folders <= budget["parts"].keys()
    named = {name for name in budget["parts"] if name.startswith("tests/")}
    assert named == folders
    assert sum(budget["parts"].values()) == pytest.approx(budget["whole"]["now"], abs=0.05)
    coming = sum(budget["coming"].values())
    assert budget["whole"]["now"] + coming < budget["whole"]["never_above"]


@pytest.mark.slow
def test_processor_time_is_that_of_children_too_while_they_live_and_afterwards() -> None:
    burn = "import time\nwhile time.process_time() < {}: pass\nprint('done', flush=True)\n{}"
    processor = Processor()
    before = processor.seconds()
    with subprocess.Popen(
        [sys.executable, "-c", burn.format(0.5, "input()")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        alive = processor.seconds()
        child.communicate(b"\n")
    after = processor.seconds()
    assert alive - before >= 0.45
    assert alive <= after < alive + 0.5


def test_a_process_whose_name_has_brackets_and_spaces_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "42"
    folder.mkdir()
    (tmp_path / "self").mkdir()
    fields = ["S", "7", *["0"] * 9, "300", "100", "20", "0", *["0"] * 10]
    (folder / "stat").write_text(f"42 (a ) b) {' '.join(fields)}")
    (tmp_path / "43").mkdir()  # has ended: no file
    ticks = os.sysconf("SC_CLK_TCK")
    assert list(read_processes(tmp_path)) == [(42, 7, "a ) b", 400 / ticks, 20 / ticks)]
