"""The style sheet: one place gives a class its form, as screens share one sheet."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.conftest import ROOT

_ALONE = re.compile(r"(?:\.dx )?([a-z]*\.dx-[a-z-]+)")
_SHAPES = {"display", "font-family"}
"""What makes another thing of a class, where a second rule says it."""


def _rules(sheet: str) -> dict[str, set[str]]:
    """For each class that is styled for itself, the shapes that are said in two ways."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    outside = re.sub(r"@[^{;]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheet)
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", outside):
        said = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
        for selector in selectors.split(","):
            if alone := _ALONE.fullmatch(selector.strip()):
                for name, value in said.items():
                    if name.strip() in _SHAPES:
                        found[alone[1]][name.strip()].add(value.strip())
    return {name: {key for key, values in shapes.items() if len(values) > 1}
            for name, shapes in found.items()}  # fmt: skip


def test_a_class_is_not_given_two_forms() -> None:
    sheet = (ROOT / "static" / "explorer.css").read_text(encoding="utf-8")
    sheet = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    assert len(_rules(sheet)) > 30
    twice = {name: sorted(shapes) for name, shapes in _rules(sheet).items() if shapes}
    assert not twice


def test_two_forms_of_a_class_are_seen() -> None:
    sheet = ".dx-a { display: grid; } .dx .dx-a, .dx-b { display: flex; }"
    sheet += "@media x { .dx-b { display: none; } }"
    assert _rules(sheet) == {".dx-a": {"display"}, ".dx-b": set()}
