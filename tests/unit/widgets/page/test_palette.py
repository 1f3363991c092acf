"""The palette: what it offers, what it finds, and what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.widgets.page.test_explorer_view import Page, shop
from widgets.session.operations import OPERATIONS
from widgets.state import VIEWS
from widgets.ui.copy_as import view_commands

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page().open(shop(tmp_path), view="schema")


def say(page: Page, action: str, value: str = "") -> None:
    page.explorer.tools._handle_msg({"action": action, "value": value})


def found(page: Page, text: str) -> list[dict[str, Any]]:
    say(page, "find", text)
    answer = page.explorer.tools.found
    assert answer["question"] == text
    entries: list[dict[str, Any]] = answer["entries"]
    return entries


@pytest.mark.slow
def test_every_view_is_offered_and_gone_to(page: Page) -> None:
    offered = [one["value"] for one in page.explorer.tools.entries if one["kind"] == "View"]
    assert offered == list(VIEWS)
    for view in offered:
        say(page, "view", view)
        assert page.state.view == view


@pytest.mark.slow
def test_every_view_can_be_copied_as_python_and_as_a_command(page: Page) -> None:
    for view in VIEWS:
        page.state.view = view
        copies = [one for one in page.explorer.tools.entries if one["action"] == "copy"]
        assert [one["label"] for one in copies][:2] == ["Copy as CLI", "Copy as Python"]
        assert all(page.state.table in one["value"] for one in copies)


@pytest.mark.parametrize("view", VIEWS)
def test_the_python_of_a_view_runs(page: Page, view: str) -> None:
    *lines, call = view_commands(view, page.state.table, 3)["Python"].splitlines()
    names: dict[str, Any] = {}
    exec("\n".join([*lines, f"found = {call}"]), names)
    assert names["found"] is not None


@pytest.mark.parametrize(
    ("text", "version"),
    [("7", 7), ("version 1,2", 12), ("version5", 5), ("v 6", 6), ("V6", 6), ("Version 59", 59)],
)
def test_a_version_is_found_first_and_gone_to(page: Page, text: str, version: int) -> None:
    first = found(page, text)[0]
    assert (first["kind"], first["value"], first["first"]) == ("Version", str(version), True)
    say(page, first["action"], first["value"])
    assert page.state.version == version


def test_a_word_before_a_version_says_what_is_done_with_it(page: Page) -> None:
    (restore,) = [one for one in found(page, "restore to 42") if one["first"]]
    assert (restore["kind"], restore["label"]) == ("Plan", "Restore version 42")
    say(page, restore["action"], restore["value"])
    assert (page.state.view, page.state.operation) == ("maintenance", "restore")
    assert "42" in page.state.answers
    (compare,) = [one for one in found(page, "comp 42") if one["first"]]
    assert compare["label"] == "Compare version 42 with the one before"
    say(page, compare["action"], compare["value"])
    assert (page.state.view, page.state.version, page.state.since) == ("compare", 42, None)
    for text in ("restore", "restore 60", "compare 0", "who deleted 42", "nonsense 42"):
        assert not any(one["first"] for one in found(page, text))
    for action in ("restore", "compare"):
        say(page, action, "60")
    assert (page.state.view, page.state.version) == ("compare", 42)


def test_versions_that_do_not_exist_are_not_found_nor_gone_to(page: Page) -> None:
    assert [one for one in found(page, "60") if one["kind"] == "Version"] == []
    for typed in ("60", "-1", "x", str(2**70)):
        say(page, "version", typed)
    assert page.state.version == 59


def test_columns_and_files_are_found_by_a_part_of_their_name(page: Page) -> None:
    kinds = {one["kind"]: one for one in found(page, "ID")}
    assert kinds["Column"]["value"] == "id"
    say(page, "column", "id")
    assert (page.state.view, page.state.column) == ("statistics", "id")
    files = [one["value"] for one in found(page, "31.parq")]
    assert files == ["31.parquet"]
    say(page, "file", files[0])
    assert (page.state.view, page.state.file) == ("files", "31.parquet")
    assert 'class="dx-head" data-detail="31.parquet"' in page.html


def test_one_letter_looks_for_nothing(page: Page) -> None:
    assert found(page, "i") == []


def test_what_nobody_offered_does_nothing(page: Page) -> None:
    before = page.state.address
    for action, value in (("view", EVIL), ("step", "x"), ("nonsense", ""), ("find", EVIL * 99)):
        say(page, action, value)
    page.explorer.tools._handle_msg({"action": 3, "value": None})
    page.explorer.tools._handle_msg("x")
    assert page.state.address == before


def test_a_file_that_a_link_names_is_shown_whatever_page_it_is_on(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path), view="files", file="59.parquet")
    assert "Rows that are live" in page.html
    page.state.file = "not/there.parquet"
    assert "This version does not hold the file." in page.html
    page.state.file = EVIL
    assert EVIL not in page.html


def test_questions_lead_to_views_and_plans_to_their_form(page: Page) -> None:
    entries = page.explorer.tools.entries
    asked = [one for one in entries if one["kind"] == "Question"]
    assert any("deleted" in one["label"] for one in asked)
    assert {one["value"] for one in asked} <= set(VIEWS)
    plans = [one for one in entries if one["kind"] == "Plan"]
    assert {one["value"] for one in plans} == {one.name for one in OPERATIONS}
    say(page, "plan", "restore")
    assert (page.state.view, page.state.operation) == ("maintenance", "restore")
    say(page, "plan", "no such operation")
    assert page.state.operation == "restore"
