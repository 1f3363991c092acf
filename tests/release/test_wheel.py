"""What is installed: two packages, the static files, the command and its entry points."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> zipfile.ZipFile:
    """The wheel that is built from the sdist of this checkout."""
    return zipfile.ZipFile(built[1])


@pytest.fixture(scope="module")
def unpacked(built: tuple[Path, Path]) -> set[str]:
    """The files of the sdist, by their place in the checkout."""
    with tarfile.open(built[0]) as sdist:
        return {name.partition("/")[2] for name in sdist.getnames()}


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
    assert dict(points["console_scripts"]) == {
        "delta-explorer": "explorer.cli.__main__:run_process"
    }
    assert dict(points["delta_explorer.verbs"]) == {
        "serve": "widgets.verbs:register_serve",
        "open_page": "widgets.verbs:open_page",
    }


def test_the_licence_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_sdist_holds_what_is_needed_to_build_document_and_read_it(unpacked: set[str]) -> None:
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt"}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert wanted | pages | {"mkdocs.yml", "static/explorer.css"} <= unpacked


def test_an_index_takes_both(built: tuple[Path, Path]) -> None:
    _check("twine", "check", "--strict", *map(str, built))


def test_the_wheel_is_well_formed(built: tuple[Path, Path]) -> None:
    """Two packages at the top are meant: the engine without the page is of use."""
    _check("check_wheel_contents", "--toplevel", "explorer,widgets", str(built[1]))


def _check(module: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
