"""The lists of situations that the reference's own suites cover, in `situations/`: each names the
test that holds it here, which exists, or says why nothing here is meant by it.

An entry is `path::function`, the path below `tests`, with a piece of the case's values or its id
in brackets behind it; that text stands in the file of the test or in one that it imports.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT

_FOLDER = Path(__file__).parent / "situations"
_LISTS = {path.stem: tomllib.loads(path.read_text()) for path in sorted(_FOLDER.glob("*.toml"))}


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _functions(path: Path) -> set[str]:
    return {node.name for node in ast.walk(_parsed(path)) if isinstance(node, ast.FunctionDef)}


@cache
def _texts(path: Path) -> str:
    """Every text of a file, and of the files of tests that it imports."""
    nodes = list(ast.walk(_parsed(path)))
    found = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = [text for text in found if isinstance(text, str)]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
            other = ROOT / f"{str(node.module).replace('.', '/')}.py"
            if other.is_file() and not other.name.startswith("test_"):
                texts.append(_texts(other))
    return "\n".join(texts)


def test_every_list_has_its_tests_and_its_exceptions() -> None:
    assert _LISTS.keys() >= {
        "change_feed",
        "defaults",
        "delete",
        "generated",
        "identity",
        "merge",
        "row_tracking",
        "update",
    }
    for found in _LISTS.values():
        assert found.keys() == {"tests", "exceptions"}
        assert not found["tests"].keys() & found["exceptions"].keys()
        # a reason, and not a word
        assert all(len(reason.split()) > 1 for reason in found["exceptions"].values())


@pytest.mark.parametrize("name", _LISTS)
def test_every_situation_has_a_test_that_is_there(name: str) -> None:
    missing = []
    for situation, named in _LISTS[name]["tests"].items():
        place, _, rest = named.partition("::")
        function, _, case = rest.partition("[")
        path = ROOT / "tests" / place
        if not path.is_file() or function not in _functions(path):
            missing.append(f"{situation}: there is no {named}")
        elif case.removesuffix("]") not in _texts(path):
            missing.append(f"{situation}: no case of {named}")
    assert not missing, "\n".join(missing)
