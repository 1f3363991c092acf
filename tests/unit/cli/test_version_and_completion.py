"""What the command answers without a verb: its version, and what a shell asks for."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from explorer.cli.main import run

ROOT = Path(__file__).resolve().parents[3]


def test_the_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"delta-explorer {project['version']}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "position", "completed"),
    [
        ("delta-explorer hea", 1, {"health"}),
        ("delta-explorer serv", 1, {"serve"}),
        ("delta-explorer health --opt", 2, {"--option"}),
    ],
    ids=["verb", "verb of the page", "option"],
)
def test_a_shell_completes_verbs_and_options(line: str, position: int, completed: set[str]) -> None:
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(position)}
    done = subprocess.run(
        [sys.executable, "-m", "explorer.cli"],
        env={**os.environ, **asked, "_DELTA_EXPLORER_COMPLETE": "complete_bash"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == completed
