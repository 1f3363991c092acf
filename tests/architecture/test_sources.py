"""What every source file keeps to."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = sorted(path for top in ("explorer", "widgets") for path in (ROOT / top).rglob("*.py"))
ALL = sorted({*PRODUCT, *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")})

MAX_LINES = 600
# A longer file holds two names; one that does not is listed here with its reason.
LONGER_FILES: dict[str, str] = {}

# The front doors re-export lazily; every other __init__.py is a docstring.
FRONT_DOORS = {
    "explorer",
    "explorer/inspect",
    "explorer/maintenance",
    "explorer/pipeline",
    "widgets",
}
EMPTY_NAMES = {"base", "common", "helpers", "manager", "utils"}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_no_file_is_longer_than_600_lines(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES or _name(path) in LONGER_FILES


def test_every_exception_to_the_length_is_still_needed() -> None:
    for name in LONGER_FILES:
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) > MAX_LINES


@pytest.mark.parametrize("path", PRODUCT, ids=_name)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", PRODUCT, ids=_name)
def test_no_module_has_a_name_that_says_nothing(path: Path) -> None:
    assert EMPTY_NAMES.isdisjoint(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize(
    "path", [path for path in PRODUCT if path.name == "__init__.py"], ids=_name
)
def test_an_inner_init_is_a_docstring_and_nothing_else(path: Path) -> None:
    if _name(path.parent) not in FRONT_DOORS:
        assert len(ast.parse(path.read_text(encoding="utf-8")).body) == 1
