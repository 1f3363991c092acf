"""What is installed: two packages, the static files, the command and its entry points."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("delta_explorer-*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_installs_exactly_the_two_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"explorer", "widgets"}


def test_every_source_file_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for top in ("explorer", "widgets")
        for path in (ROOT / top).rglob("*.py")
    }
    assert sources <= set(wheel.namelist())


def test_static_files_travel_as_widgets_static(wheel: zipfile.ZipFile) -> None:
    static = ROOT / "static"
    files = {p.relative_to(static).as_posix() for p in static.rglob("*") if p.is_file()}
    assert files
    assert {f"widgets/static/{name}" for name in files} <= set(wheel.namelist())


def test_the_command_and_the_verbs_of_the_page_are_registered(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    points = ConfigParser()
    points.read_string(wheel.read(name).decode())
    assert dict(points["console_scripts"]) == {"delta-explorer": "explorer.cli.main:main"}
    assert dict(points["delta_explorer.verbs"]) == {
        "serve": "widgets.verbs:register_serve",
        "open_page": "widgets.verbs:open_page",
    }


def test_the_licence_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
