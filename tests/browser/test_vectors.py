"""Deletion vectors in a real browser: a file, its strip, its rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server

# what is hidden, unit tests hold; one way through the page is enough
pytestmark = pytest.mark.turns(one_in=3)


def test_a_file_opens_from_the_density_and_its_link_shows_it_again(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, view="vectors"))
    expect(page.get_by_text("84 of 138 files have deletion vectors", exact=False)).to_be_visible()
    page.get_by_role("button", name="Soft-deleted", exact=True).click()
    page.locator("tr[data-do=file]").first.filter(has_text="71.0%").click()
    expect(page).to_have_url(re.compile("file=country"))
    expect(page.get_by_text("325 of 458 rows are soft-deleted (70.96%).")).to_be_visible()
    page.reload()
    expect(page.get_by_text("325 of 458 rows are soft-deleted (70.96%).")).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("325 of 458 rows are soft-deleted (70.96%).")).to_be_hidden()


def test_a_strip_is_zoomed_and_its_rows_are_read(page: Page, server: Server, shop: Path) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="vectors"))
    page.get_by_role("button", name="Soft-deleted", exact=True).click()
    page.locator("tr[data-do=file]").first.filter(has_text="71.0%").click()
    strip = page.get_by_role("img", name="Soft-deleted rows by position", exact=False)
    expect(strip).to_be_visible()
    strip.click()
    expect(
        page.get_by_text(re.compile(r"Rows \d+ to \d+ of 458: \d+ soft-deleted"))
    ).to_be_visible()
    page.keyboard.press("-")
    page.get_by_role("button", name="All rows").click()
    expect(page.get_by_text("Rows 0 to 457 of 458: 325 soft-deleted")).to_be_visible()
    expect(page.get_by_role("table", name="Commits that hid rows of the file")).to_be_visible()
    page.get_by_role("button", name="Show the soft-deleted rows of this window").click()
    expect(page.get_by_text("1–25 of 325 soft-deleted rows")).to_be_visible()
    expect(page.get_by_role("table", name="Soft-deleted rows as they were")).to_contain_text(
        "version "
    )
