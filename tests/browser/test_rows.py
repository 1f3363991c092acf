"""Rows and their history in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server


def test_a_row_is_looked_for_and_its_history_searched(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="rows"))
    expect(page.get_by_text("The first 500 rows of version 74.")).to_be_visible()
    typed = page.get_by_role("combobox", name="Condition on rows")
    typed.fill("order_id = 1000100")
    typed.press("Enter")
    expect(page.get_by_text("1 row of version 74 matches.")).to_be_visible()
    expect(page).to_have_url(re.compile("where=order_id"))
    page.get_by_role("button", name="Search all versions").click()
    row = page.locator("tr[data-do=version]")
    expect(row).to_have_count(1)
    row.click()
    expect(page).to_have_url(re.compile("version=1&"))
    expect(page.get_by_text("1 row of version 1 matches.")).to_be_visible()
