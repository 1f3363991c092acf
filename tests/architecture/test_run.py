"""What `./run` does besides starting pytest: what it measures, and what a change can touch."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.closing import read_parts
from tests.conftest import ROOT

_TEXT = (ROOT / "run").read_text(encoding="utf-8")


def _function(name: str) -> str:
    """The text of a function of the script."""
    start = _TEXT.index(f"\n{name}() {{")
    return _TEXT[start : _TEXT.index("\n}\n", start) + 3]


def _bash(script: str, folder: Path) -> list[str]:
    ask = ["bash", "-c", f"set -euo pipefail\nLC_ALL=C.UTF-8\n{script}"]
    said = subprocess.run(ask, cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return said.stdout.split()


def test_what_it_runs_is_measured_by_the_clock_and_the_processor(tmp_path: Path) -> None:
    script = f"minutes={tmp_path}\n{_function('timed')}\ntimed setup sleep 0.2\n"
    script += "if timed checks false; then echo wrong; fi\n"
    began = time.monotonic()
    assert _bash(script, tmp_path) == []
    took = time.monotonic() - began
    parts = read_parts((tmp_path / "parts").read_text())
    assert set(parts) == {"setup", "checks"}
    assert 0.19 <= parts["setup"].wall * 60 <= took


def test_what_python_compiles_is_kept_for_the_processes_that_tests_start(tmp_path: Path) -> None:
    unset = [line for line in _TEXT.splitlines() if line.startswith("unset ")]
    script = "\n".join(["export PYTHONDONTWRITEBYTECODE=1", *unset])
    assert _bash(f"{script}\necho ${{PYTHONDONTWRITEBYTECODE-unset}}", tmp_path) == ["unset"]


@pytest.mark.parametrize(
    ("changed", "folders"),
    [
        ("explorer/log/reconcile/replay.py", []),
        ("tests/unit/log/test_replay.py", []),
        ("widgets/screens/rows/view.py", ["browser", "documentation", "notebooks", "served"]),
        ("static/page.css", ["browser", "documentation", "notebooks", "served"]),
        ("notebooks/tour.ipynb", ["notebooks"]),
        ("docs/limits.md", ["documentation"]),
        ("constraints.txt", ["release"]),
        ("tests/served/test_proxy.py", ["served"]),
    ],
)
def test_what_runs_in_another_process_is_tested_where_what_it_serves_has_changed(
    changed: str, folders: list[str], tmp_path: Path
) -> None:
    names = next(line for line in _TEXT.splitlines() if line.startswith("in_other_processes="))
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one"
    script = f"git init -q .; {commit}\nmkdir -p {Path(changed).parent}; touch {changed}\n"
    script += f"{names}\n{_function('touched_folders')}\ntouched_folders\n"
    assert _bash(script, tmp_path) == [f"tests/{name}" for name in folders]


def test_the_folders_that_are_left_to_that_are_there() -> None:
    names = next(line for line in _TEXT.splitlines() if line.startswith("in_other_processes="))
    for name in names.partition("(")[2].rstrip(")").split():
        assert (ROOT / "tests" / name).is_dir()
