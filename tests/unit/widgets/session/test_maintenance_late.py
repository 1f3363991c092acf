"""Answers that come late: what a page shows and may approve is what was chosen last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bokeh.document import Document

import explorer
from explorer.maintenance import StateFolder
from explorer.storage.local import LocalStore
from tests.tables import metadata
from tests.unit.widgets.maintenance_page import Beside, Page
from tests.unit.widgets.orders import Orders
from widgets import TableExplorer
from widgets.session import work
from widgets.session.asking import Question
from widgets.session.maintenance import Consent
from widgets.session.work import _PLANNING, _POOL, BackgroundRunner
from widgets.state import Address


@pytest.fixture
def runner() -> Beside:
    return Beside()


@pytest.fixture
def page(orders: Orders, state: StateFolder, runner: Beside) -> Page:
    return Page(orders, state, runner=runner)


def plans_of(page: Page) -> tuple[str, str]:
    """A plan of vacuum and one of a restore, both kept; the page shows the choice."""
    digests = []
    for name, answers in (("vacuum", {}), ("restore", {"version": "0"})):
        page.plan(name, **answers)
        digests.append(json.loads(page.consent())["digest"])
        page.do("back")
        page.do("back")
    return digests[0], digests[1]


def test_the_files_of_a_plan_that_is_no_longer_shown_are_dropped(
    page: Page, runner: Beside
) -> None:
    vacuum, restore = plans_of(page)
    page.do("list", "plans")
    runner.is_slow = True
    page.do("open", vacuum)
    runner.come_once()
    page.do("open", restore)
    runner.come_once()
    runner.come(last_first=True)
    assert json.loads(page.consent())["digest"] == restore
    assert "30 deleted for good" not in page.html


def test_of_two_plans_that_are_opened_the_last_one_stays(page: Page, runner: Beside) -> None:
    vacuum, restore = plans_of(page)
    page.do("list", "plans")
    runner.is_slow = True
    page.do("open", vacuum)
    page.do("open", restore)
    runner.come(last_first=True)
    assert json.loads(page.consent())["digest"] == restore


def test_a_document_that_cannot_be_opened_does_not_end_what_was_begun_since(
    page: Page, runner: Beside
) -> None:
    runner.is_slow = True
    page.send_everywhere("open", "0" * 64)
    page.plan("vacuum")
    runner.come(last_first=True)
    assert "30 deleted for good" in page.html
    assert json.loads(page.consent())["digest"]


def test_who_opens_something_while_a_plan_is_made_hears_that_it_would_be_lost(
    page: Page, runner: Beside
) -> None:
    vacuum, _ = plans_of(page)
    page.do("list", "plans")
    runner.is_slow = True
    page.plan("vacuum")
    page.do("open", vacuum)
    assert page.state.notice is not None
    assert page.state.notice.problem == "A plan is being made."
    assert "Looking, and changing nothing" in page.html
    page.do("stop")
    assert "Looking, and changing nothing" not in page.html
    assert 'data-do="plan"' in page.html
    runner.come()
    assert 'data-do="approve"' not in page.html


def test_what_is_chosen_while_a_table_is_looked_at_anew_stays(page: Page, runner: Beside) -> None:
    runner.is_slow = True
    page.explorer.reload()
    page.state.param.update(view="timeline", version=0)
    runner.come()
    assert (page.state.view, page.state.version) == ("timeline", 0)


def test_answers_for_one_table_are_not_filled_in_for_the_next(
    tmp_path: Path, orders: Orders, state: StateFolder
) -> None:
    page = Page(orders, state)
    page.plan("set-properties", set="owner=ada")
    other = Orders(tmp_path, "invoices")
    page.explorer.open(Address(table=str(other.root), view="maintenance"))
    page.do("choose", "set-properties")
    assert "owner=ada" not in page.html
    page.explorer.open(Address(table=str(orders.root), view="maintenance"))
    page.plan("set-properties", set="owner=ada")
    page.do("back")
    assert "owner=ada" in page.html


def test_forms_are_told_apart_and_so_are_approvals(orders: Orders, state: StateFolder) -> None:
    """A field that is drawn anew keeps what was typed only within the same form."""
    page = Page(orders, state)
    page.do("choose", "vacuum")
    assert 'id="dx-form-vacuum"' in page.html
    page.do("plan", "{}")
    digest = json.loads(page.consent())["digest"]
    assert f'id="dx-approve-{digest[:12]}"' in page.html


def test_a_plan_that_is_being_carried_out_is_not_approved_again(
    orders: Orders, state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(orders, state)
    page.plan("vacuum")
    digest = json.loads(page.consent())["digest"]
    run = page.right.approve(orders.service, Consent(digest=digest, table_name="orders"))
    monkeypatch.setattr(page.right, "running", lambda _: [run])
    page.do("back")
    page.do("back")
    page.do("list", "plans")
    page.do("open", digest)
    assert "This plan is being carried out; a plan is used once." in page.html
    assert 'data-do="approve"' not in page.html


def test_an_explorer_of_an_open_table_begins_where_it_is_told(orders: Orders) -> None:
    page = TableExplorer(explorer.open_table(orders.root), version=0)
    assert page._state.version == 0


def test_a_table_that_was_brought_along_is_looked_at_anew_as_it_was_opened(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = explorer.open_table(orders.root)
    page = TableExplorer(table)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was opened anew, without what it was opened with")

    monkeypatch.setattr(explorer, "open_table", refuse)
    orders.commit(2, [orders._file("new.parquet")], days=0)
    page._explorer.reload()
    assert page._state.latest == 2
    assert page._state.notice is None


def test_plans_take_no_place_of_those_who_ask_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    monkeypatch.setattr(_POOL, "submit", lambda _: taken.append("answers"))
    monkeypatch.setattr(_PLANNING, "submit", lambda _: taken.append("plans"))
    monkeypatch.setattr(work, "_look_after_messages", lambda _: None)
    runner = BackgroundRunner(Document())
    for is_planning in (False, True):
        Question(runner, is_planning=is_planning).ask(lambda _: None, print, print)
    assert taken == ["answers", "plans"]


def test_a_plan_that_waits_for_its_turn_is_not_made_for_a_page_that_is_gone(
    page: Page, runner: Beside, state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.is_slow = True
    page.plan("vacuum")
    page.explorer.close()

    def refuse(*_: object) -> None:
        raise AssertionError("a plan was made that nobody waits for")

    monkeypatch.setattr(LocalStore, "list_pieces", refuse)
    runner.come()
    assert state.list_plans() == []


def test_a_notebook_has_no_button_that_its_kernel_hears_of_too_late(
    orders: Orders, state: StateFolder
) -> None:
    page, drawn = Page(orders, state), []
    for part in page.parts():
        part.param.watch(lambda event: drawn.append(event.new), "html")
    page.plan("vacuum")
    assert any("Looking, and changing nothing" in html for html in drawn)
    assert not any('data-do="stop"' in html for html in drawn)


def test_what_a_refused_plan_would_do_is_not_said_as_if_it_were_done(
    orders: Orders, page: Page
) -> None:
    page.plan("vacuum")
    assert "Blocked by" not in page.html
    page.do("back")
    unread = {"delta.deletedFileRetentionDuration": "90d"}
    orders.commit(2, [metadata(name="orders", configuration=unread)], days=1)
    page.explorer.reload()
    page.do("plan", "{}")
    assert page.html.index("Blocked by ") < page.html.index("The plan: ")
    assert "Permanently deletes 30 files" not in page.html  # how old is old enough is unknown
    assert 'data-do="approve"' not in page.html
