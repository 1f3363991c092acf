"""Between the stages of maintenance: by its address, by the ways back, by other views."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from explorer.maintenance import StateFolder
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.state import LONGEST_TEXT, parse_address, render_address
from widgets.ui.plan_navigation import open_plan

EVIL = "<img src=/evil onerror=window.ran=1>"


@pytest.fixture
def page(orders: Orders, state: StateFolder, no_surprises: None) -> Page:
    return Page(orders, state)


def test_the_address_says_what_is_about_to_be_planned_and_leads_there(page: Page) -> None:
    page.do("choose", "restore")
    assert page.state.operation == "restore"
    page.explorer.go(replace(page.state.address, operation=""), [])  # Back
    assert 'data-do="choose"' in page.html
    page.explorer.go(replace(page.state.address, operation="vacuum"), [])
    assert 'name="retention"' in page.html
    page.do("back")
    assert page.state.operation == ""


def test_what_was_planned_and_not_carried_out_is_filled_in_again(page: Page) -> None:
    page.plan("vacuum", retention="8 days")
    page.explorer.go(replace(page.state.address, operation=""), [])
    assert 'data-do="approve"' not in page.html
    page.do("choose", "vacuum")
    assert 'value="8 days"' in page.html
    page.do("plan", json.dumps({"retention": "8 days"}))
    page.approve(table_name="orders")
    page.do("back")
    page.do("choose", "vacuum")
    assert 'value="8 days"' not in page.html


def test_a_link_to_a_plan_fills_its_form_in_and_plans_nothing(
    page: Page, orders: Orders, state: StateFolder
) -> None:
    page.plan("vacuum", retention="8 days", mode="full")
    assert page.state.answers == "retention=8+days"  # what is usual is not said
    address, complaints = parse_address(render_address(page.state.address))
    assert complaints == []
    before = len(state.list_plans())
    other = Page(orders, state)
    other.explorer.go(address, [])
    assert 'value="8 days"' in other.html
    assert "The link has filled in this form. Nothing has been planned yet." in other.html
    assert 'data-do="approve"' not in other.html
    assert len(state.list_plans()) == before
    other.do("plan", json.dumps({"retention": "9 days", "mode": "lite"}))
    assert other.state.answers == "retention=9+days&mode=lite"
    other.explorer.go(address, [])  # Back
    assert 'data-do="approve"' not in other.html
    assert 'value="8 days"' in other.html
    other.do("back")
    assert (other.state.operation, other.state.answers) == ("", "")
    other.do("choose", "optimize")
    assert "The link has filled in" not in other.html


def test_answers_of_an_address_that_cannot_be_meant_fill_nothing_in(page: Page) -> None:
    for answers in ("mode=maybe&digest=1", "mode=full", "approve=1&table_name=orders", EVIL, "&=&"):
        place = replace(page.state.address, operation="vacuum", answers=answers)
        page.explorer.go(place, [])
        assert 'name="retention"' in page.html
        assert "The link has filled in" not in page.html
        assert page.state.answers == ""
    page.explorer.go(replace(page.state.address, answers=f"retention={quote(EVIL)}"), [])
    assert "<img" not in page.html
    assert "&lt;img src=/evil" in page.html


def test_answers_to_no_form_do_not_stay_in_the_address(orders: Orders, state: StateFolder) -> None:
    page = Page(orders, state, answers="retention=1")
    assert (page.state.operation, page.state.answers) == ("", "")


def test_a_plan_that_another_view_asks_for_can_be_linked_to(page: Page) -> None:
    request = json.dumps(["restore", {"version": "0"}])
    open_plan(page.state, request)
    assert 'data-do="approve"' in page.html
    assert (page.state.operation, page.state.answers) == ("restore", "version=0")


def test_answers_longer_than_an_address_holds_stay_in_the_page(page: Page) -> None:
    page.plan("set-properties", set=f"owner={'x' * LONGEST_TEXT}")
    assert page.state.answers == ""


def test_back_from_a_plan_leads_to_its_form_and_from_there_to_the_choice(page: Page) -> None:
    page.plan("vacuum", retention="8 days")
    assert 'aria-label="Back to the form"' in page.html
    page.do("back")
    assert 'aria-label="All operations"' in page.html
    assert 'data-do="approve"' not in page.html
    assert 'value="8 days"' in page.html
    page.do("plan", json.dumps({"retention": "9 days"}))
    page.do("back")
    assert 'value="9 days"' in page.html
    page.do("back")
    assert 'data-do="choose"' in page.html
    page.do("choose", "vacuum")
    assert 'value="9 days"' in page.html


def test_back_from_a_plan_that_was_kept_leads_to_the_choice(page: Page, state: StateFolder) -> None:
    page.plan("vacuum", retention="8 days")
    page.do("back")
    page.do("back")
    page.do("list", "plans")
    page.do("open", state.list_plans()[0]["digest"])
    assert "8 days" in page.html
    assert 'aria-label="All operations"' in page.html
    page.do("back")
    assert 'data-do="choose"' in page.html


def test_an_address_with_an_operation_that_there_is_not_is_told(page: Page) -> None:
    page.explorer.go(replace(page.state.address, operation=EVIL), [])
    assert page.state.notice is not None
    assert "There is no operation called" in page.state.notice.reason
    assert page.state.operation == ""
    assert 'data-do="choose"' in page.html
    assert EVIL not in page.html


def test_an_operation_that_is_chosen_while_the_table_is_opened_anew_stays(
    page: Page, orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.do("choose", "restore")
    runner = page.explorer._services.runner
    waiting: list[Any] = []
    monkeypatch.setattr(runner, "run", lambda *given: waiting.append(given))
    page.explorer.reload()
    monkeypatch.undo()
    page.do("back")
    page.do("choose", "vacuum")
    for given in waiting:
        runner.run(*given)
    assert page.state.operation == "vacuum"
    assert 'name="retention"' in page.html
