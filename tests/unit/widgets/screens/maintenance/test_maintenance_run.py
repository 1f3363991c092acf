"""Runs as pages see them: also those that another page began."""

from __future__ import annotations

import threading

import pytest

from explorer.maintenance import StateFolder
from explorer.maintenance.documents.receipt import Receipt
from tests.unit.widgets.maintenance_page import Beside, Page
from tests.unit.widgets.orders import Orders
from widgets.session.asking import Pace
from widgets.session.maintenance import Consent, Maintenance
from widgets.session.operations import find_operation
from widgets.session.runs import Run, Runs
from widgets.text import format_time, read_moment


class Held:
    """A run of another page that waits between two changes until it is let go."""

    def __init__(self, orders: Orders, state: StateFolder, runs: Runs) -> None:
        self._may_go = threading.Event()
        right = Maintenance(is_unlocked=lambda: True, state=state, runs=runs)
        operation = find_operation("vacuum")
        assert operation is not None
        plan = right.plan(orders.service, operation, {})
        right.show(plan)
        consent = Consent(digest=plan.digest, table_name="orders")
        self.run: Run = right.approve(orders.service, consent)
        is_held = threading.Event()

        def hold() -> None:
            is_held.set()
            self._may_go.wait(30)

        self.run.follow(hold)
        right.begin(self.run, in_background=True)
        assert is_held.wait(30)

    def let_go(self) -> None:
        ended = threading.Event()
        self.run.follow(lambda: self.run.outcome is not None and ended.set())
        self._may_go.set()
        assert ended.wait(30)


def test_a_run_that_another_page_began_is_shown_and_ends_in_its_receipt(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs, runner=Beside())
    begun = format_time(read_moment(held.run.begun_at * 1000))
    assert f"Carrying out the plan, begun {begun}" in page.html
    assert "Permanently deletes 30 files" in page.html
    assert "Stop after this step" in page.html
    assert "Under way" not in page.html
    assert "Receipts 0" in page.html
    held.let_go()
    assert "Everything was done as planned." in page.html
    assert "Receipts 1" in page.html
    assert orders.left == 0


@pytest.mark.slow
def test_a_page_that_comes_back_to_the_view_is_led_to_the_run(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    page = Page(orders, state, runs=runs)
    page.state.view = "timeline"
    held = Held(orders, state, runs)
    page.state.view = "maintenance"
    assert "Carrying out the plan" in page.html
    held.let_go()


def test_the_receipts_are_read_anew_when_a_run_ends_that_nobody_watches(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs)
    page.do("back")
    assert "Under way: Vacuum." in page.html
    held.let_go()
    assert "Receipts 1" in page.html
    assert "Under way" not in page.html


def test_who_approves_beside_a_run_is_told_of_it(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs)
    page.do("back")
    page.plan("checkpoint")
    assert "Another plan of this table has been under way since" in page.html
    assert "It is of the operation Vacuum." in page.html
    held.let_go()
    page.do("back")
    page.do("back")
    page.plan("set-properties", set="owner=ada")
    assert "under way" not in page.html


def test_a_locked_page_looks_on_and_cannot_stop_a_run(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs, unlocked=False)
    assert "Carrying out the plan" in page.html
    assert 'data-do="stop"' not in page.html
    page.send_everywhere("stop", "")
    assert not held.run.is_stopping
    held.let_go()
    assert orders.left == 0


def test_looking_away_does_not_stop_a_run(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs)
    page.do("back")
    assert "Carrying out the plan" not in page.html
    page.do("run", held.run.plan.digest)
    assert "Carrying out the plan" in page.html
    page.do("back")
    held.let_go()
    assert orders.left == 0
    assert 'data-do="choose"' in page.html


def test_a_run_outlives_the_page_that_shows_it(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs, runner=Beside())
    page.explorer.close()
    assert not held.run.is_stopping
    held.let_go()
    assert isinstance(held.run.outcome, Receipt)
    assert held.run.outcome.status == "completed"
    assert orders.left == 0


def test_progress_of_the_same_kind_is_told_at_a_pace_and_another_at_once() -> None:
    pace = Pace(60)
    assert pace.is_due("listing")
    assert not pace.is_due("listing")
    assert pace.is_due("deleting")
    assert not pace.is_due("deleting")


def test_a_run_is_stopped_between_two_changes_and_says_what_became_of_it(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    runs = Runs()
    held = Held(orders, state, runs)
    page = Page(orders, state, runs=runs, runner=Beside())
    page.do("stop")
    assert "Stopping after this step" in page.html
    assert 'data-do="stop"' not in page.html
    held.let_go()
    assert "A person stopped it after a step." in page.html
    assert "Nothing was changed." in page.html
    assert orders.left == 30
    assert [receipt.status for receipt in state.list_receipts()] == ["cancelled"]
