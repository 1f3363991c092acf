"""The maintenance view without a browser: work is done at once, clicks are messages."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.maintenance import StateFolder
from tests.tables import FEATURE_PROTOCOL, add, metadata
from tests.unit.widgets.maintenance_page import Page
from tests.unit.widgets.orders import Orders
from widgets.session.operations import OPERATIONS
from widgets.state import Address
from widgets.ui.live_html import LiveHtml

EVIL = "<img src=/evil onerror=window.ran=1>"


@pytest.fixture
def page(orders: Orders, state: StateFolder, no_surprises: None) -> Page:
    return Page(orders, state)


def test_a_plan_begins_with_its_consequence(page: Page) -> None:
    page.plan()
    before_the_files = page.html.partition("Every file, with its reason")[0]
    assert "Permanently deletes 30 files" in before_the_files
    assert "can no longer be read" in before_the_files
    assert "checks passed" in before_the_files
    assert ">Delete 30 files</button>" in page.html
    assert "1\N{EN DASH}25 of 30 files" in page.html


def test_an_approved_plan_ends_in_its_receipt_and_the_new_version(
    page: Page, orders: Orders
) -> None:
    assert page.state.version == 1
    page.plan()
    page.approve(table_name="orders")
    assert "Everything was done as planned." in page.html
    assert orders.left == 0
    assert (page.state.latest, page.state.version) == (3, 3)
    assert "Receipts 1" in page.html
    assert re.findall(r'data-do="commit" data-value="(\d+)"', page.html) == ["2", "3"]
    page.do("commit", "2")
    assert (page.state.view, page.state.version) == ("commit", 2)


def test_who_looks_at_an_older_version_stays_there(page: Page) -> None:
    page.state.version = 0
    page.plan("checkpoint")
    page.approve()
    assert "Everything was done" in page.html
    assert page.state.version == 0


def test_a_locked_page_plans_and_has_no_way_to_approve(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    page = Page(orders, state, unlocked=False)
    assert "This page is read-only." in page.html
    page.plan()
    assert "Permanently deletes 30 files" in page.html
    assert "maintenance=True" in page.html
    assert 'data-do="approve"' not in page.html
    assert "Delete 30 files" not in page.html


def test_a_message_to_a_locked_page_changes_nothing(
    orders: Orders, state: StateFolder, no_surprises: None
) -> None:
    page = Page(orders, state, unlocked=False)
    page.plan()
    found = page.explorer._views["maintenance"]
    digest = found._plan.digest  # type: ignore[attr-defined]  # a locked page sends none
    page.send_everywhere("approve", json.dumps({"digest": digest, "table_name": "orders"}))
    assert orders.left == 30
    assert state.list_receipts() == []
    assert "may not change tables" in page.html


@pytest.mark.parametrize("value", ["", "[]", "{", '{"digest": 1}', "null", '{"digest": "00"}'])
def test_an_approval_that_none_can_be_changes_nothing(
    page: Page, orders: Orders, value: str
) -> None:
    page.plan()
    page.do("approve", value)
    assert orders.left == 30
    assert "not the plan that this page shows" in page.html
    page.approve(table_name="orders")
    assert orders.left == 0


def test_the_name_is_typed_as_it_is(page: Page, orders: Orders) -> None:
    page.plan()
    page.approve(table_name="order")
    assert "name was not typed" in page.html
    assert orders.left == 30


def test_a_second_click_finds_nothing_to_approve(page: Page, state: StateFolder) -> None:
    page.plan("checkpoint")
    consent = page.consent()
    page.do("approve", consent)
    page.send_everywhere("approve", consent)
    assert len(state.list_receipts()) == 1
    assert "Everything was done as planned." in page.html


def test_an_approval_from_a_page_that_has_moved_on_is_ignored(page: Page, orders: Orders) -> None:
    page.plan()
    consent = page.consent(table_name="orders")
    page.do("back")
    page.send_everywhere("approve", consent)
    page.do("back")
    page.plan("checkpoint")
    page.send_everywhere("approve", consent)
    assert orders.left == 30


def test_opening_another_table_gives_the_plan_up(
    tmp_path: Path, page: Page, orders: Orders
) -> None:
    page.plan()
    consent = page.consent(table_name="orders")
    page.explorer.open(Address(table=str(Orders(tmp_path, "other").root), view="maintenance"))
    page.send_everywhere("approve", consent)
    assert orders.left == 30
    assert 'data-do="choose"' in page.html


def test_looking_at_the_table_anew_keeps_the_plan(page: Page, orders: Orders) -> None:
    page.plan()
    page.explorer.reload()
    page.approve(table_name="orders")
    assert orders.left == 0


def test_a_stale_plan_ends_in_its_refusal_and_can_be_made_again(page: Page, orders: Orders) -> None:
    page.plan()
    orders.commit(2, [metadata(name="orders", description="new")], days=0.001)
    page.approve(table_name="orders")
    assert "The plan is stale" in page.html
    assert orders.left == 30
    page.do("again")
    page.approve(table_name="orders")
    assert orders.left == 0


def test_a_restore_names_its_way_back_and_plans_it(page: Page, orders: Orders) -> None:
    page.state.version = 0
    page.do("choose", "restore")
    assert 'name="version"' in page.html
    assert 'value="0"' in page.html
    page.do("plan", json.dumps({"version": "0"}))
    assert ">Restore version 0</button>" in page.html
    page.approve()
    assert page.explorer._service is not None
    assert page.explorer._service.snapshot(2).num_files == 31
    # who looks at an older version stays there, and is led to the new one
    assert page.state.version == 0
    assert "Planned: " in page.html
    assert re.findall(r'data-do="commit" data-value="(\d+)"', page.html) == ["2"]
    assert ">Version 2<" in page.html
    page.do("commit", "3")
    assert page.state.view == "maintenance"
    page.do("undo")
    assert "Restores version 1" in page.html
    assert ">Restore version 1</button>" in page.html


def latest(orders: Orders) -> int:
    return explorer.open_table(orders.root).latest_version()


def test_a_restore_that_removes_rows_says_so_first_and_asks_for_the_name_alone(
    page: Page, orders: Orders
) -> None:
    orders.commit(2, [add("more", stats='{"numRecords":41}')], days=0.001)
    page.explorer.reload()
    page.do("choose", "restore")
    page.do("plan", json.dumps({"version": "1"}))
    assert ">41 rows are removed and 0 return. Restores version 1" in page.html
    assert "<dt>Rows removed</dt><dd>41</dd>" in page.html
    assert "To approve it, type the table's name: <code>orders</code>" in page.html
    page.approve(reason="a mistake")
    assert "name was not typed" in page.html
    assert latest(orders) == 2
    page.approve(table_name="orders")
    assert latest(orders) == 3


@pytest.mark.parametrize(("retention", "is_required"), [("8 days", False), ("2 days", True)])
def test_a_reason_can_be_given_where_the_name_is_asked_for_and_must_be_where_a_guard_asks(
    page: Page, retention: str, is_required: bool
) -> None:
    page.plan("vacuum", retention=retention)
    field = page.html.partition('name="reason"')[2].partition(">")[0]
    assert ("required" in field) is is_required
    assert ("Reason (optional), kept in the receipt" in page.html) is not is_required


def test_a_reason_that_was_not_asked_for_is_kept_in_the_receipt(page: Page) -> None:
    page.plan("vacuum", retention="8 days")
    page.approve(table_name="orders", reason="no space")
    assert "no space" in page.html


def test_answers_that_cannot_be_meant_stay_in_the_form(page: Page) -> None:
    page.plan("vacuum", retention="<b>never</b>", mode="lite")
    assert "is not readable" in page.html
    assert 'value="&lt;b&gt;never&lt;/b&gt;"' in page.html
    assert '<option value="lite" selected>' in page.html
    page.do("plan", json.dumps({"retention": "8 days"}))
    assert "Permanently deletes 30 files" in page.html


def test_nothing_to_do_is_nothing_to_approve(page: Page) -> None:
    page.plan("vacuum", retention="400 days")
    assert "nothing to approve" in page.html
    assert 'data-do="approve"' not in page.html


def test_a_refused_plan_says_so_and_has_no_button(page: Page, orders: Orders) -> None:
    (orders.root / "young.parquet").write_bytes(b"x")
    page.plan("vacuum", retention="1 hours")
    assert "Blocked by " in page.html
    assert "it cannot be carried out" in page.html
    assert 'data-do="approve"' not in page.html


def test_files_of_a_plan_are_sorted_filtered_turned_and_exported(
    page: Page, orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    (orders.root / "=1+1.csv").write_bytes(b"x")
    page.plan()
    page.do("action", "")
    assert "of 31 files" in page.html
    page.do("sort", "bytes")
    assert 'aria-sort="descending"' in page.html
    page.do("filter", "gone-0003")
    assert "1\N{EN DASH}1 of 1 file" in page.html
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(LiveHtml, "_send_msg", lambda _, message: sent.append(message))
    page.do("filter", "")
    page.do("export")
    (message,) = sent
    text = base64.b64decode(message["data"]).decode()
    assert text.startswith("action,path,bytes,reason,deletable_from,modified\r\n")
    assert ",'=1+1.csv," in text
    assert len(text.splitlines()) == 32


def test_plans_and_receipts_that_were_kept_are_opened(
    page: Page, orders: Orders, state: StateFolder
) -> None:
    page.plan()
    later = Page(orders, state)
    later.do("list", "plans")
    (document,) = state.list_plans()
    later.do("open", document["digest"])
    later.approve(table_name="orders")
    (receipt,) = state.list_receipts()
    page.do("back")
    page.do("back")
    page.do("list", "receipts")
    page.do("receipt", receipt.id)
    assert receipt.id in page.html
    page.do("list", "plans")
    page.do("open", document["digest"])
    assert "carried out already" in page.html
    assert 'data-do="approve"' not in page.html


@pytest.mark.parametrize("value", ["../../etc/passwd", "0" * 64, EVIL, ""])
def test_a_document_that_is_none_is_told(page: Page, value: str) -> None:
    page.do("list", "plans")
    part = next(part for part in page.parts() if 'data-do="list"' in part.html)
    page.send(part, "open", value)
    assert 'role="alert"' in page.html
    page.do("back")
    page.send(part, "receipt", value)
    assert 'role="alert"' in page.html


def test_a_page_without_a_state_folder_has_no_list(orders: Orders, no_surprises: None) -> None:
    page = Page(orders, None)
    assert "Receipts and plans" not in page.html


def test_every_string_of_a_plan_and_receipt_is_escaped(
    tmp_path: Path, state: StateFolder, no_surprises: None
) -> None:
    log = Orders(tmp_path, "t")
    log.commit(2, [metadata(name=EVIL, configuration={EVIL: EVIL}), add(f"{EVIL}.x")], days=8)
    page = Page(log, state)
    page.plan()
    assert EVIL not in page.html
    assert "onerror=window.ran=1" in page.html
    page.approve(table_name=EVIL)
    assert 'data-do="back"' in page.html
    assert EVIL not in page.html
    page.do("back")
    page.plan("set-properties", set=f"{EVIL[1:]}=1")
    assert EVIL[1:] not in page.html


def test_a_name_that_cannot_be_typed_is_left_to_the_command_line(
    tmp_path: Path, state: StateFolder, no_surprises: None
) -> None:
    log = Orders(tmp_path, "t")
    log.commit(2, [metadata(name="or\u202eders")], days=8)
    page = Page(log, state)
    page.plan()
    assert "cannot be typed here" in page.html
    assert 'data-do="approve"' not in page.html


def test_changed_properties_name_their_way_back_and_plan_it(page: Page, orders: Orders) -> None:
    page.plan("set-properties", set="owner=ada\nteam=x")
    page.approve()
    page.do("back")
    page.plan("set-properties", set="owner=bob", unset="team")
    page.approve()
    page.do("undo")
    assert ">Change 2 properties</button>" in page.html
    page.approve()
    assert page.explorer._service is not None
    found = page.explorer._service.table.snapshot().metadata.configuration
    assert found == {"owner": "ada", "team": "x"}


def test_an_upgrade_needs_the_name_because_others_may_lose_the_table(page: Page) -> None:
    page.plan("upgrade", features="deletionVectors")
    assert "Can no longer" in page.html
    assert 'data-expected="orders"' in page.html
    page.approve(table_name="")
    assert "name was not typed" in page.html
    page.approve(table_name="orders")
    assert page.explorer._service is not None
    assert page.explorer._service.table.protocol().reader_features == ("deletionVectors",)


@pytest.mark.parametrize(
    ("name", "offered", "others"),
    [
        ("upgrade", ("changeDataFeed", "columnMapping"), ("deletionVectors", "v2Checkpoint")),
        ("drop-feature", ("deletionVectors", "v2Checkpoint"), ("columnMapping",)),
    ],
)
def test_a_form_offers_the_features_that_fit_the_table(
    page: Page, orders: Orders, name: str, offered: tuple[str, ...], others: tuple[str, ...]
) -> None:
    orders.commit(2, [FEATURE_PROTOCOL], days=0.001)
    page.explorer.reload()
    page.do("choose", name)
    for feature in offered:
        assert f'<option value="{feature}">' in page.html
    for feature in others:
        assert f'<option value="{feature}">' not in page.html


def test_a_form_completes_the_columns_of_a_condition(page: Page) -> None:
    for name in ("optimize", "constraint", "cluster-by"):
        page.do("choose", name)
        assert 'data-names="[&quot;' in page.html
        page.do("back")


def test_every_operation_plans_or_says_what_it_lacks(page: Page) -> None:
    for operation in OPERATIONS:
        page.do("choose", operation.name)
        for field in operation.fields:
            assert f'name="{field.name}"' in page.html
        page.do("plan", "{}")
        assert "dx-consequence" in page.html or 'role="alert"' in page.html
        page.do("back")
        if 'data-do="choose"' not in page.html:  # from its form
            page.do("back")
