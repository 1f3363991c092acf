"""Which test carries which rules: found by parsing, without running or importing a test."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def read_marks(root: Path = ROOT) -> tuple[dict[str, list[str]], set[str]]:
    """The tests of each marked rule, and every test there is.

    A test is `tests/path/test_x.py::test_name`, without parameters. A mark on
    a class holds for all of its tests, and one on a single parameter for the test.
    """
    marks: dict[str, list[str]] = defaultdict(list)
    tests = set()
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for name, rules in _tests_of(tree):
            test = f"{path.relative_to(root).as_posix()}::{name}"
            tests.add(test)
            for rule in rules:
                marks[rule].append(test)
    return dict(marks), tests


def _tests_of(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in tree.body:
        if isinstance(node, _Function) and node.name.startswith("test_"):
            yield node.name, _rules_of(node)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            shared = _rules_of(node)
            for child in node.body:
                if isinstance(child, _Function) and child.name.startswith("test_"):
                    yield f"{node.name}::{child.name}", sorted({*shared, *_rules_of(child)})


def _rules_of(node: _Function | ast.ClassDef) -> list[str]:
    """The ids in every `pytest.mark.rule(...)` of the decorators."""
    return sorted(
        {
            argument.value
            for decorator in node.decorator_list
            for call in ast.walk(decorator)
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.rule"
            for argument in call.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        }
    )
