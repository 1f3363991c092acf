"""What every folder of the product keeps to: one concept, a guide, and what is its own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_MODULES = 15
# Every file of these is one entry, and every entry may be imported: they may have more than 15,
# and no underscores.
REGISTRIES = {
    "explorer/cli": "one module for each verb",
    "explorer/protocol": "one module for each section of the specification",
    "explorer/protocol/features": "one module for each feature with rules of its own",
    "explorer/transaction/rules": "one module for each kind of rule",
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


def _importers() -> dict[str, set[Path]]:
    found: dict[str, set[Path]] = defaultdict(set)
    for path in READERS:
        for name in _imports(path) - {_module(path)}:
            found[name].add(path)
    return found


IMPORTERS = _importers()


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_folder_holds_more_than_15_modules(folder: str) -> None:
    assert len(_modules_of(folder)) <= MAX_MODULES or folder in REGISTRIES


def test_every_registry_is_there() -> None:
    assert set(FOLDERS) >= REGISTRIES.keys()


@pytest.mark.parametrize("name", [name for name in MODULES if "._" in name])
def test_what_begins_with_an_underscore_is_imported_in_its_own_folder_alone(name: str) -> None:
    elsewhere = {_module(path) for path in IMPORTERS[name] if path.parent != MODULES[name].parent}
    assert not elsewhere


@pytest.mark.parametrize("name", MODULES)
def test_what_only_its_own_folder_imports_begins_with_an_underscore(name: str) -> None:
    path, importers = MODULES[name], IMPORTERS[name]
    if path.stem in {"__init__", "__main__"} or "._" in name or not importers:
        return
    if path.parent.relative_to(ROOT).as_posix() in REGISTRIES:
        return
    assert {one for one in importers if one.parent != path.parent or one.stem == "__init__"}


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder not in FRONT_DOORS])
def test_a_guide_says_what_comes_in_what_goes_out_and_what_to_read_first(folder: str) -> None:
    text = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text("utf-8"))) or ""
    if folder in {"widgets", "widgets/screens"}:  # they name rooms alone
        return
    first = re.search(r"Read first: `(\w+)`", text)
    assert first
    assert first[1] in _modules_of(folder)
    assert "In: " in text
    assert "Out: " in text
