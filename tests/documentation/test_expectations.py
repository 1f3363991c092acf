"""What the page of expectations promises is shown by a test, and what it refuses has a reason."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def habits() -> list[tuple[str, str, str]]:
    """Of the first table each habit, what holds here, and what shows it."""
    text = (ROOT / "docs" / "expectations.md").read_text(encoding="utf-8")
    lines = text.partition("|---|---|---|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[0], row[4], row[5]) for row in rows]


def beside_the_page() -> list[tuple[str, str, str]]:
    """Of the second table the same."""
    text = (ROOT / "docs" / "expectations.md").read_text(encoding="utf-8")
    lines = text.partition("\n|---|---|---|---|---|\n")[2].strip().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[0], row[2], row[4]) for row in rows]


def is_shown(by: str) -> bool:
    """Whether there is a test of that name."""
    found = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", by)
    if found is None or not (ROOT / found[1]).is_file():
        return False
    text = (ROOT / found[1]).read_text(encoding="utf-8")
    return re.search(rf"^def {found[2]}\(", text, re.MULTILINE) is not None


def test_each_yes_names_a_test_that_exists_and_each_no_a_reason() -> None:
    rows = habits()
    assert len(rows) > 30
    for habit, here, by in rows:
        if here.startswith("yes"):
            assert is_shown(by), (habit, by)
        else:
            assert here == "no", habit
            assert len(by.split()) > 5, habit
    assert not is_shown("`tests/documentation/test_expectations.py::test_of_nothing`")


def test_each_yes_beside_the_page_names_a_test_too() -> None:
    rows = beside_the_page()
    assert len(rows) > 5
    for expected, here, by in rows:
        assert (here == "yes") is is_shown(by), (expected, by)
