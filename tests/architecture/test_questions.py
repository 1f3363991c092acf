"""docs/questions.md names views, verbs and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from explorer.cli.verbs import build_app
from widgets.state import VIEW_TITLES, parse_address

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("| \n").split(" | ")]
    for line in (ROOT / "docs" / "questions.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d+ \|", line)
]


def test_there_are_twenty_five_questions() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 26))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_answers_a_question_is_there(row: list[str]) -> None:
    _, _, views, link, verbs, tests = row
    assert set(views.split(", ")) <= set(VIEW_TITLES.values())
    address, complaints = parse_address("?table=t&" + re.sub(r"=[NM]\b", "=1", link.strip("`")))
    assert complaints == []
    assert VIEW_TITLES[address.view] in views.split(", ")
    commands = get_command(build_app()).commands  # type: ignore[attr-defined]  # a group
    named = [text.split()[0] for text in re.findall(r"`([^`]+)`", verbs)]
    assert named
    assert set(named) <= set(commands)
    paths = re.findall(r"`([^`]+)`", tests)
    assert paths
    assert all((ROOT / path).is_file() for path in paths)
