"""Markup is a type: no text becomes HTML but as a value of `widgets.markup.html`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

WIDGETS = Path(__file__).resolve().parents[2] / "widgets"
MODULES = sorted(
    str(place.relative_to(WIDGETS))
    for place in WIDGETS.rglob("*.py")
    if place != WIDGETS / "markup.py"
)
TAG = re.compile(r"</?[a-zA-Z!]|&[a-z]+;|^ ?[a-z-]+=[\"']")
BUILDERS = {"html", "join", "esc"}


def find_faults(source: str) -> Iterator[str]:
    """Tags that stand outside of a template, templates that are no literals, and markup that
    another one than the builder declares."""
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    templates = [call.args[0] for call in calls if name_of(call) == "html"]
    allowed = {id(part) for part in templates} | set(docstrings(tree))
    for call in calls:
        if name_of(call) in {"Markup", "HTML"}:
            yield f"line {call.lineno}: only widgets.markup declares markup"
    for template in templates:
        if not isinstance(template, ast.Constant):
            yield f"line {template.lineno}: a template is a literal"
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            allowed |= {id(part) for part in node.values}
            text = "{}".join(
                str(part.value) for part in node.values if isinstance(part, ast.Constant)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in allowed and TAG.search(text):
            yield f"line {node.lineno}: a tag outside of a template: {text[:60]!r}"


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


@pytest.mark.parametrize("module", MODULES)
def test_tags_stand_in_templates_alone(module: str) -> None:
    assert [*find_faults((WIDGETS / module).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "source",
    [
        'f"<b>{name}</b>"',
        '"<b>" + name',
        "f' title=\"{name}\"'",
        'html(f"<b>{name}</b>")',
        "html(template, name)",
        "Markup(name)",
    ],
)
def test_what_goes_around_the_builder_is_found(source: str) -> None:
    assert [*find_faults(source)]


def test_templates_docstrings_and_plain_text_are_let_pass() -> None:
    source = '"""How <b> is made."""\nhtml("<b>{}</b>", f"{count} of {total}")\n"a < b && c"'
    assert [*find_faults(source)] == []
