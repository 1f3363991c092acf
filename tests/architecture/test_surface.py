"""The public names: `__all__` of each front door is sorted, complete and true."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

FRONT_DOORS = [
    "explorer",
    "explorer.inspect",
    "explorer.maintenance",
    "explorer.pipeline",
    "widgets",
]
ALWAYS = {
    "explorer": {"Cancel", "DeltaError", "Problem", "Progress", "open_table"},
    "explorer.inspect": {"describe", "features", "history", "log_files", "schema"},
    "explorer.maintenance": {"Approval", "execute", "plan_checkpoint", "plan_vacuum"},
    "explorer.pipeline": {"diff_rows", "profile", "read", "read_changes"},
    "widgets": {"TableExplorer", "serve"},
}


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_all_is_sorted_without_doubles(name: str) -> None:
    exported = list(importlib.import_module(name).__all__)
    assert exported == sorted(set(exported))


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_every_exported_name_is_there_and_listed_by_dir(name: str) -> None:
    door = importlib.import_module(name)
    for exported in door.__all__:
        assert getattr(door, exported) is not None
    assert set(door.__all__) <= set(dir(door))


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_all_holds_the_names_of_the_contract(name: str) -> None:
    assert ALWAYS[name] <= set(importlib.import_module(name).__all__)


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_all_is_complete(name: str) -> None:
    """Whatever the front door imports for type checkers is exported, and nothing else."""
    door = importlib.import_module(name)
    tree = ast.parse(Path(door.__file__ or "").read_text(encoding="utf-8"))
    typed = {
        alias.asname or alias.name
        for block in tree.body
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(door.__all__)


@pytest.mark.parametrize("name", FRONT_DOORS)
def test_an_unknown_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module(name).no_such_name
