"""What every folder of the product keeps to: one concept, a guide, and what is its own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULES = 15
# Every file of these is one entry, and every entry may be imported: no underscores.
REGISTRIES = {
    "explorer/cli": "what all verbs need, and those about the installation",
    "explorer/cli/changing": "one module for each verb, or verbs that share their options",
    "explorer/cli/files": "one module for each verb",
    "explorer/cli/looking": "one module for each verb, or verbs of a line",
    "explorer/cli/versions": "one module for each verb",
    "explorer/protocol": "one module for each section of the specification",
    "explorer/protocol/features": "one module for each feature with rules of its own",
    "explorer/protocol/table_properties": "the sections about properties",
    "explorer/protocol/values": "one module for each kind of value",
    "explorer/protocol/vectors": "the sections about deletion vectors",
    "explorer/transaction/rules": "one module for each kind of rule",
    "explorer/transaction/rules/files": "one module for each kind of rule",
    "explorer/transaction/rules/metadata": "one module for each kind of rule",
}
# These say how they are used, and name their rooms where they have some.
FRONT_DOORS = {"explorer", "explorer/inspect", "explorer/maintenance", "explorer/pipeline"}

PRODUCT = sorted(path for top in ("explorer", "widgets") for path in (ROOT / top).rglob("*.py"))
# beside the product, these import its modules; tests may import whatever they like
READERS = [*PRODUCT, *sorted((ROOT / "benchmarks").rglob("*.py"))]


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {_module(path): path for path in PRODUCT}
FOLDERS = sorted({path.parent.relative_to(ROOT).as_posix() for path in PRODUCT})


def _modules_of(folder: str) -> set[str]:
    return {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__", "__main__"}


def _imports(path: Path) -> set[str]:
    """The modules of the product that a file imports, or names as a whole in a string."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(
                inner if (inner := f"{node.module}.{alias.name}") in MODULES else node.module
                for alias in node.names
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found & MODULES.keys()


@cache
def _importers() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = defaultdict(set)
    for path in READERS:
        for name in _imports(path) - {_module(path)}:
            found[name].add(path)
    return found


def test_no_folder_holds_more_than_15_modules() -> None:
    counts = {folder: len(_modules_of(folder)) for folder in FOLDERS}
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_every_registry_is_there() -> None:
    assert set(FOLDERS) >= REGISTRIES.keys()


@pytest.mark.slow
def test_what_begins_with_an_underscore_is_imported_in_its_own_folder_alone() -> None:
    inner = [name for name in MODULES if "._" in name]
    assert inner
    elsewhere = {
        name: sorted(
            _module(path) for path in _importers()[name] if path.parent != MODULES[name].parent
        )
        for name in inner
    }
    assert {name: importers for name, importers in elsewhere.items() if importers} == {}


def test_what_only_its_own_folder_imports_begins_with_an_underscore() -> None:
    assert [name for name in MODULES if _lacks_its_underscore(name)] == []


def _lacks_its_underscore(name: str) -> bool:
    path, importers = MODULES[name], _importers()[name]
    if path.stem in {"__init__", "__main__"} or "._" in name or not importers:
        return False
    if path.parent.relative_to(ROOT).as_posix() in REGISTRIES:
        return False
    return not {one for one in importers if one.parent != path.parent or one.stem == "__init__"}


def test_a_guide_says_what_comes_in_what_goes_out_and_what_to_read_first() -> None:
    guided = [folder for folder in FOLDERS if folder not in FRONT_DOORS]
    assert guided
    faults = {folder: _faults_of_guide(folder) for folder in guided}
    assert {folder: found for folder, found in faults.items() if found} == {}


def test_a_guide_names_the_rooms_of_its_folder() -> None:
    unnamed = {
        folder: sorted(room for room in _rooms_of(folder) if f"`{room}`" not in _guide(folder))
        for folder in FOLDERS
        if folder != "widgets/screens"  # one folder for each screen
    }
    assert {folder: rooms for folder, rooms in unnamed.items() if rooms} == {}


def _rooms_of(folder: str) -> set[str]:
    return {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}


def _guide(folder: str) -> str:
    return ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text("utf-8"))) or ""


def _faults_of_guide(folder: str) -> list[str]:
    text = _guide(folder)
    if folder in {"widgets", "widgets/screens"}:  # they name rooms alone
        return []
    first = re.search(r"Read first: `(\w+)`", text)
    found = [sign for sign in ("In: ", "Out: ") if sign not in text]
    if not first or first[1] not in {*_modules_of(folder), *_rooms_of(folder)}:
        found.append("Read first: one of its modules or rooms")
    return found
