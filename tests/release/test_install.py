"""The wheel is installed into an environment that holds nothing else, and answers there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release.install import CONSTRAINTS, install

OTHERS = [f"python3.{minor}" for minor in (11, 12, 13) if minor != sys.version_info.minor]


def test_the_wheel_answers_in_a_clean_environment(built: tuple[Path, Path], tmp_path: Path) -> None:
    install(sys.executable, built[1], tmp_path, CONSTRAINTS)


@pytest.mark.may_skip(reason="Debian has one Python; CONTRIBUTING says how to try the others")
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", OTHERS)
def test_the_wheel_answers_on_another_python(
    built: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    """Where the machine has it; by hand: python -m tests.release.install /path/to/python3.13"""
    found = shutil.which(name)
    if found is None or not _works(found):
        pytest.skip(f"no {name} on this machine")
    install(found, built[1], tmp_path, CONSTRAINTS)


def _works(python: str) -> bool:
    done = subprocess.run(
        [python, "-c", "import venv, ensurepip"], capture_output=True, check=False
    )
    return done.returncode == 0
