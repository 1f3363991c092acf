"""What the README shows can be done as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from explorer.demo.write import write_demo

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ORDERS = "path/to/orders"

PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
LOOKING = [
    shlex.split(line, comments=True)[1:]
    for line in re.findall(r"^    (delta-explorer .*)$", README, re.MULTILINE)
    if ORDERS in line and " serve " not in line and "DIGEST" not in line
]


@pytest.fixture(scope="module")
def beside_orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder below which the table of the examples lies: the demo, of autumn 2026."""
    folder = tmp_path_factory.mktemp("readme")
    write_demo(folder / ORDERS, now=datetime(2026, 11, 10, tzinfo=UTC))
    return folder


def test_there_are_examples_to_be_tried() -> None:
    assert len(LOOKING) == 22
    assert "open_table" in PYTHON[0]


@pytest.mark.slow
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("arguments", LOOKING, ids=lambda arguments: arguments[0])
def test_command_of_the_readme_answers(beside_orders: Path, arguments: list[str]) -> None:
    done = _run(beside_orders, "-m", "explorer.cli", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
def test_python_of_the_readme_runs(beside_orders: Path) -> None:
    check = "\nassert 12 < snapshot.version < table.latest_version(), snapshot.version"
    done = _run(beside_orders, "-c", PYTHON[0] + check)
    assert done.returncode == 0, done.stderr


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
