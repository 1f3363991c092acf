"""What the page about writing shows happens: its Python runs, its commands print what stands
below them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from explorer.cli.main import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "writing.md"
STEPS = re.compile(
    r"```python\n(?P<python>.*?)```|^    (?P<command>delta-explorer [^\n]*)$"
    r"|```text\n(?P<out>.*?)```",
    re.DOTALL | re.MULTILINE,
)
_VARYING = (
    (re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b"), "HASH"),
    (re.compile(r"\b\d+(?:\.\d)? (?:B|KiB)"), "SIZE"),
)
"""What depends on the release of pyarrow."""


def comparable(text: str, lake: Path) -> str:
    text = text.replace(str(lake), "/lake")
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return " ".join(text.split())


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "path/to").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_about_writing_shows_what_happens(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    said, seen = "", 0
    for step in STEPS.finditer(PAGE.read_text(encoding="utf-8")):
        if step["python"]:
            exec(step["python"], names)  # the page's own code
        elif step["command"]:
            said = answer_of(step["command"], capsys)
        else:
            assert comparable(said, lake) == comparable(step["out"], lake)
            seen += 1
    assert seen == 4


def answer_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    words = shlex.split(command)[1:]
    if words[-1] == "DIGEST":
        run([*words[:-2], "--json"])
        words[-1] = json.loads(capsys.readouterr().out)["digest"]
    run(words)
    captured = capsys.readouterr()
    return captured.out + captured.err
