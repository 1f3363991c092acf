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


def test_no_file_is_longer_than_600_lines() -> None:
    lengths = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in ALL}
    longer = {name: lines for name, lines in lengths.items() if lines > MAX_LINES}
    assert longer.keys() == LONGER_FILES.keys(), longer  # and every exception is still needed


@pytest.mark.slow
def test_every_module_says_what_it_is() -> None:
    assert [
        _name(path)
        for path in PRODUCT
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = {_name(path): path.relative_to(ROOT).with_suffix("").parts for path in PRODUCT}
    assert [name for name, parts in named.items() if not EMPTY_NAMES.isdisjoint(parts)] == []


def test_an_inner_init_is_a_docstring_and_nothing_else() -> None:
    inner = [
        path
        for path in PRODUCT
        if path.name == "__init__.py" and _name(path.parent) not in FRONT_DOORS
    ]
    assert inner
    assert [
        _name(path) for path in inner if len(ast.parse(path.read_text(encoding="utf-8")).body) != 1
    ] == []
