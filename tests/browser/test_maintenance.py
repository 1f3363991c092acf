"""Changing a table from the page: planned, looked at, approved by typing, with a receipt."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import NARROW, WIDE
from tests.browser.keeper import NAME, Keeper, choose, keeping, plan, unlock, unlocked_page
from tests.browser.test_hostile import ATTACKS
from tests.tables import add, metadata
from tests.unit.widgets.orders import Orders

# the way of an operation through page and executor, unit tests hold step by step
pytestmark = pytest.mark.turns(one_in=5)

LOCKED = "This page is read-only."


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


def count_data(table: Path) -> int:
    """Files outside of the log."""
    return sum(place.is_file() and "_delta_log" not in place.parts for place in table.rglob("*"))


def stage(page: Page) -> str:
    return page.locator(".dx-stages [aria-current=step]").inner_text()


@pytest.mark.daily
def test_vacuum_of_the_demo_from_plan_to_receipt(
    page: Page, keeper: Keeper, shop: Path, tmp_path: Path
) -> None:
    table = tmp_path / "shop"
    shutil.copytree(shop, table)
    page.goto(keeper.address(table))
    plan(page, "Vacuum")
    consequence = page.locator(".dx-consequence").inner_text()
    number = re.match(r"Permanently deletes ([\d,]+) files", consequence)
    assert number
    assert "can no longer be read" in consequence
    button = page.get_by_role("button", name=f"Delete {number[1]} files")
    expect(button).to_be_disabled()
    before = count_data(table)
    page.get_by_label(NAME).fill("shop_order")
    expect(button).to_be_disabled()
    page.get_by_label(NAME).fill("shop_orders")
    expect(button).to_be_enabled()
    button.dblclick()
    expect(page.locator(".dx-outcome")).to_contain_text("Everything was done as planned.")
    expect(page.locator(".dx-versions summary")).to_contain_text("76")
    expect(page).to_have_url(re.compile("version=76"))
    expect(page.get_by_role("button", name="Receipts 1")).to_be_visible()
    gone = before - count_data(table)
    assert gone == int(number[1].replace(",", ""))


@pytest.mark.daily
def test_a_browser_that_did_not_open_the_link_plans_and_cannot_approve(
    browser: Browser, keeper: Keeper, cookies: Any, orders: Orders
) -> None:
    assert cookies  # so that the link was opened before
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    answer = page.goto(keeper.link)
    assert answer is not None
    assert answer.status == 403
    page.goto(keeper.address(orders.root))
    expect(page.get_by_text(LOCKED)).to_be_visible()
    plan(page, "Vacuum")
    expect(page.locator(".dx-consequence")).to_contain_text("Permanently deletes 30 files")
    expect(page.get_by_text(LOCKED)).to_be_visible()
    expect(page.locator("[data-do=approve]")).to_have_count(0)
    context.close()
    assert orders.left == 30


def test_a_session_that_a_link_has_chosen_is_refused(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root))
    expect(page.locator(".dx-choice").first).to_be_visible()
    expect(page.get_by_text(LOCKED)).to_have_count(0)
    query = urlencode({"table": orders.root, "bokeh-session-id": "chosen-by-another"})
    answer = page.request.get(f"{keeper.origin}/?{query}")
    assert answer.status == 403
    assert "token" not in answer.text().lower().replace("invalid token", "")


def test_a_page_that_is_loaded_again_has_nothing_to_approve(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root))
    plan(page, "Vacuum")
    page.reload()
    expect(page.get_by_role("button", name="Make the plan")).to_be_visible()
    expect(page.locator("[data-do=approve]")).to_have_count(0)
    assert orders.left == 30


def test_a_stale_plan_is_refused_and_made_again(page: Page, keeper: Keeper, orders: Orders) -> None:
    page.goto(keeper.address(orders.root))
    plan(page, "Vacuum")
    orders.commit(2, [metadata(name="orders", description="new")], days=0.001)
    page.get_by_label(NAME).fill("orders")
    page.get_by_role("button", name="Delete 30 files").click()
    expect(page.locator(".dx-outcome")).to_contain_text("Nothing was changed")
    expect(page.get_by_text("The plan is stale")).to_be_visible()
    assert orders.left == 30
    page.get_by_role("button", name="Plan again").click()
    expect(page.get_by_role("button", name="Delete 30 files")).to_be_visible()


def test_the_keyboard_alone_goes_from_choice_to_receipt(
    page: Page, keeper: Keeper, orders: Orders
) -> None:
    page.goto(keeper.address(orders.root))
    page.locator("button.dx-choice", has_text="Restore").focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("Version to restore")
    expect(page.get_by_role("button", name="Make the plan")).to_be_disabled()
    field.focus()
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Restore version 0")
    expect(button).to_be_visible()
    button.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dx-outcome")).to_contain_text("Everything was done")
    undo = page.get_by_role("button", name="Plan the undo: back to version 1")
    undo.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dx-consequence")).to_contain_text("Restores version 1")
    assert "Approve" in stage(page)


def test_a_reason_is_asked_for_and_kept(page: Page, keeper: Keeper, orders: Orders) -> None:
    page.goto(keeper.address(orders.root))
    choose(page, "Vacuum")
    page.get_by_label("Keep files for").fill("2 days")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.locator(".dx-guards .dx-warn")).to_contain_text("Warning about retention")
    button = page.get_by_role("button", name="Delete 30 files")
    page.get_by_label(NAME).fill("orders")
    expect(button).to_be_disabled()
    page.get_by_label("The reason").fill("the disk is full")
    button.click()
    expect(page.locator(".dx-outcome")).to_contain_text("Everything was done")
    expect(page.get_by_text("the disk is full")).to_be_visible()


def test_files_of_a_plan_are_filtered_and_exported(
    page: Page, keeper: Keeper, orders: Orders, tmp_path: Path
) -> None:
    (orders.root / "=1+1.txt").write_text("kept")
    page.goto(keeper.address(orders.root))
    plan(page, "Vacuum")
    expect(page.locator(".dx-pager > span")).to_have_text("1\N{EN DASH}25 of 30 files")
    page.get_by_role("button", name="stay 1").click()
    expect(page.locator(".dx-pager > span")).to_have_text("1\N{EN DASH}1 of 1 file")
    page.get_by_role("button", name="all 31").click()
    page.get_by_role("searchbox", name="Filter the files of the plan").fill("1+1")
    expect(page.locator(".dx-pager > span")).to_have_text("1\N{EN DASH}1 of 1 file")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    target = tmp_path / "plan.csv"
    download.value.save_as(target)
    assert ",'=1+1.txt," in target.read_text(encoding="utf-8")


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_review_fits_and_can_be_read(
    page: Page, keeper: Keeper, orders: Orders, theme: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.goto(keeper.address(orders.root))
    expect(page.locator(".dx-choice").first).to_be_visible()
    if theme == "dark":
        page.get_by_role("button", name="Light or dark").click()
        expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    plan(page, "Vacuum")
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert over <= 0
    for selector in (".dx-consequence", ".dx-danger", ".dx-stages [aria-current]"):
        box = page.locator(selector).first.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= size["width"]
    assert contrast(page, ".dx-consequence") >= 4.5
    page.get_by_label(NAME).fill("orders")
    expect(page.locator(".dx-danger")).to_be_enabled()
    assert contrast(page, ".dx-danger") >= 4.5


def contrast(page: Page, selector: str) -> float:
    """The contrast of a text with its own ground (WCAG 2.2)."""
    return float(
        page.locator(selector).first.evaluate(
            """(element) => {
              const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number)
              const light = (rgb) => rgb.map((v) => v / 255)
                .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0)
              const style = getComputedStyle(element)
              const [a, b] = [style.color, style.backgroundColor].map(parse).map(light)
              return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
            }"""
        )
    )


def test_nothing_of_a_hostile_table_runs_on_the_way_to_its_receipt(
    page: Page, keeper: Keeper, tmp_path: Path
) -> None:
    evil = " ".join(ATTACKS).replace("\n", " ")
    table = Orders(tmp_path, "<img src=evil onerror=window.ran=12>")
    name = ATTACKS[0]
    table.commit(
        2,
        [metadata(name=name, id=evil, configuration={evil: evil}), add(f"{ATTACKS[0]}.x")],
        days=8,
    )
    (table.root / "<img src=x onerror=window.ran=14>").mkdir()
    (table.root / "<img src=x onerror=window.ran=14>" / "=1+1.txt").write_text("x")
    page.goto(keeper.address(table.root))
    plan(page, "Vacuum")
    page.get_by_role("button", name=re.compile("^all")).click()
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
    page.get_by_label(NAME).fill(name)
    page.get_by_role("button", name="Delete 30 files").click()
    expect(page.locator(".dx-outcome")).to_contain_text("done")
    page.get_by_role("button", name="All operations").first.click()
    choose(page, "Properties")
    page.get_by_label("Set", exact=True).fill(f"{ATTACKS[1]}={evil}\n<b>no sign")
    page.get_by_role("button", name="Make the plan").click()
    expect(page.get_by_role("alert")).to_contain_text("is not readable")
    page.get_by_label("Set", exact=True).fill(f"evil{ATTACKS[3]}=={evil}")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Change 1 property").click()
    expect(page.locator(".dx-outcome")).to_contain_text("done")
    # the list is drawn anew once the receipt is kept, and a click meanwhile hits nothing
    expect(page.get_by_role("button", name="Receipts 2")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Plans")).click()
    page.locator("tr[data-do=open]").first.click()
    expect(page.get_by_text("carried out already")).to_be_visible()


def test_closing_the_page_and_stopping_the_server_leave_a_true_receipt(
    browser: Browser, tmp_path: Path
) -> None:
    table = Orders(tmp_path, "many", gone=4000)
    own = Keeper(tmp_path / "state")
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(f"{own.link}&{urlencode({'table': table.root, 'view': 'maintenance'})}")
    plan(page, "Vacuum")
    page.get_by_label(NAME).fill("many")
    page.get_by_role("button", name="Delete 4,000 files").click()
    expect(page.locator(".dx-run, .dx-outcome").first).to_be_visible()
    context.close()
    own.stop()
    (kept,) = (tmp_path / "state" / "delta-explorer" / "receipts").glob("*.json")
    receipt = json.loads(kept.read_text())
    (deletion,) = (step for step in receipt["steps"] if step["kind"] == "delete_files")
    assert deletion["done"] == 4000 - table.left
    assert (receipt["status"] == "completed") == (table.left == 0)
    assert receipt["status"] in {"completed", "cancelled"}
