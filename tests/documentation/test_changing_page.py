"""What the page about changing rows shows happens: its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "changing.md"


def test_the_page_about_changing_rows_shows_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "path/to").mkdir(parents=True)
    names: dict[str, object] = {}
    steps = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(steps) >= 2
    for step in steps:
        exec(step, names)  # the page's own code
