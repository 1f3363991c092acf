"""Who may open a store that changes a table: three modules, each with guards of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

OPENERS = {
    "explorer/demo/write.py": "a demo table, in a folder that is empty",
    "explorer/maintenance/run/executor.py": "a plan that was approved",
    "explorer/pipeline/writing/places.py": "a statement, or a plan of one that was approved",
}
"""And what they do with it."""

MAKES = {"open_write_store", "RemoteWriteStore"}
HOME = "explorer/storage/"


def names_in(path: Path) -> set[str]:
    """Every name that a module reads or imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found


@pytest.mark.slow
def test_three_modules_open_a_store_that_changes_a_table() -> None:
    paths = [path for top in ("explorer", "widgets") for path in (ROOT / top).rglob("*.py")]
    found = {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if not path.relative_to(ROOT).as_posix().startswith(HOME) and names_in(path) & MAKES
    }
    assert found == set(OPENERS)


@pytest.mark.slow
def test_nobody_else_makes_a_local_store_to_write_through() -> None:
    """A `LocalStore` can write: who makes one has to be the storage floor itself."""
    paths = [path for top in ("explorer", "widgets") for path in (ROOT / top).rglob("*.py")]
    made = set()
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(HOME):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            calls = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if calls and node.func.id == "LocalStore":  # type: ignore[attr-defined]
                made.add(name)
    assert made == set()
