"""Statistics and the skipping simulator in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server

# what a condition skips, unit tests hold; one way through the page is enough
pytestmark = pytest.mark.turns(one_in=5)


def test_a_condition_is_typed_corrected_and_kept_in_the_address(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, view="statistics"))
    typed = page.get_by_role("combobox", name="Condition of a query")
    typed.fill("ordr_id > 3")
    typed.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The table has no column ordr_id.")
    typed.fill("order_id > 1039000 and country = 'GB'")
    typed.press("Enter")
    expect(page.get_by_text("3 of 138 files have to be read", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("where=order_id"))
    page.reload()
    expect(page.get_by_text("3 of 138 files have to be read", exact=False)).to_be_visible()
    page.get_by_role("button", name="Skipped 135").click()
    expect(page.get_by_text("1–25 of 135 files")).to_be_visible()


def test_a_column_is_opened_by_keyboard_with_its_ranges(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="statistics"))
    row = page.locator("tr[data-do=column]").first
    row.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("column=customer_id"))
    drawing = page.get_by_role("img", name="Files by the range of customer_id", exact=False)
    expect(drawing).to_be_visible()
    page.get_by_text("As a table").click()
    expect(page.get_by_role("table", name="Files by part of the range")).to_be_visible()
    page.go_back()
    expect(drawing).to_have_count(0)


def test_an_example_of_the_table_itself_is_asked_by_a_click(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, view="statistics"))
    page.get_by_role("button", name="order_id >= 1039937").click()
    expect(page.get_by_text("1 of 138 files has to be read", exact=False)).to_be_visible()
    expect(page.get_by_role("combobox", name="Condition of a query")).to_have_value(
        "order_id >= 1039937"
    )
