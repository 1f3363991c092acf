"""Ways through maintenance: addresses, reloads, a second tab, the keyboard, what is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import NARROW, WIDE
from tests.browser.keeper import NAME, Keeper, choose, keeping, plan, unlock, unlocked_page
from tests.unit.widgets.orders import Orders

# what each shows, test_maintenance.py goes through on its way too
pytestmark = pytest.mark.turns(one_in=5)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    with keeping(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture(scope="module")
def cookies(browser: Browser, keeper: Keeper) -> Any:
    return unlock(browser, keeper)


@pytest.fixture
def page(browser: Browser, keeper: Keeper, cookies: Any) -> Iterator[Page]:
    with unlocked_page(browser, keeper, cookies) as opened:
        yield opened


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    return Orders(tmp_path)


def test_a_form_has_an_address_and_back_leads_to_the_choice(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root, operation="restore"))
    expect(page.get_by_label("Version to restore")).to_be_visible()
    page.goto(keeper.address(orders.root))
    choose(page, "Vacuum")
    expect(page).to_have_url(re.compile("operation=vacuum"))
    page.get_by_label("Keep files for").fill("8 days")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.locator(".dx-consequence")).to_be_visible()
    expect(page).to_have_url(re.compile("answers=retention%3D8%2Bdays"))
    page.go_back()
    expect(page.get_by_label("Keep files for")).to_have_value("8 days")
    page.go_back()
    expect(page.locator(".dx-choice").first).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(page.get_by_label("Keep files for")).to_have_value("8 days")
    page.reload()
    expect(page.get_by_text("The link has filled in this form.")).to_be_visible()
    expect(page.get_by_label("Keep files for")).to_have_value("8 days")
    expect(page.locator(".dx-consequence")).to_have_count(0)
    page.go_back()  # to the form as it was before it was filled in
    expect(page).not_to_have_url(re.compile("answers="))
    expect(page.get_by_label("Keep files for")).to_have_value("8 days")


def test_a_run_outlasts_a_reload_and_is_seen_and_stopped_in_a_second_tab(
    browser: Browser, tmp_path: Path, orders: Orders
) -> None:
    own = Keeper(tmp_path / "state", held=True)
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page, second = context.new_page(), context.new_page()
    for tab in (page, second):
        tab.set_default_timeout(WAIT_MS)
    page.goto(f"{own.link}&{urlencode({'table': orders.root, 'view': 'maintenance'})}")
    plan(page, "Vacuum")
    page.get_by_label(NAME).fill("orders")
    page.get_by_role("button", name="Delete 30 files").click()
    expect(page.locator(".dx-run")).to_contain_text("Delete files: No version within retention")
    page.reload()
    second.goto(own.address(orders.root))
    for tab in (page, second):
        expect(tab.locator(".dx-run")).to_contain_text("Carrying out the plan, begun")
        expect(tab.locator(".dx-run")).to_contain_text("0 of 30 files")
    second.get_by_role("button", name="Stop after this step").click()
    expect(second.locator(".dx-run")).to_contain_text("Stopping after this step")
    own.let_go()
    for tab in (page, second):
        expect(tab.locator(".dx-outcome")).to_be_visible()
        expect(tab.get_by_role("button", name="Receipts 1")).to_be_visible()
    context.close()
    own.stop()


def test_the_focus_goes_along_from_choice_to_receipt(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root))
    page.locator("button.dx-choice", has_text="Restore").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dx-way h3")).to_be_focused()
    for _ in range(3):  # out of the heading, into the field
        if page.get_by_label("Version to restore").evaluate("one => one.matches(':focus')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    expect(page.locator(".dx-consequence")).to_be_focused()
    page.get_by_role("button", name="Restore version 0").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dx-outcome")).to_be_focused()


def test_what_is_approved_is_seen_without_scrolling(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root))
    plan(page, "Vacuum")
    expect(page.locator(".dx-plan-table")).to_be_visible()
    page.evaluate("window.scrollTo(0, 0)")
    for shown in (page.get_by_label(NAME), page.get_by_role("button", name="Delete 30 files")):
        box = shown.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= WIDE["height"]


def test_a_choice_is_as_wide_as_a_field(page: Page, keeper: Keeper, orders: Orders) -> None:
    page.goto(keeper.address(orders.root, operation="vacuum"))
    boxes = [
        page.get_by_label(name, exact=True).bounding_box() for name in ("Keep files for", "Look at")
    ]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["width"] == boxes[1]["width"]


def test_a_receipt_is_not_cut_on_a_narrow_page(page: Page, keeper: Keeper, orders: Orders) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(keeper.address(orders.root))
    plan(page, "Vacuum")
    page.get_by_label(NAME).fill("orders")
    page.get_by_role("button", name="Delete 30 files").click()
    expect(page.locator(".dx-outcome")).to_be_visible()
    for table in page.locator(".dx-scroll").all():
        over = table.evaluate("one => one.scrollWidth - one.clientWidth")
        assert over <= 0, table.inner_text()
