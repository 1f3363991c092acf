"""Reachability in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server

# what can be reached, unit tests hold; one way through the page is enough
pytestmark = pytest.mark.turns(one_in=5)


def test_the_files_are_looked_at_on_demand(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=3, view="reach"))
    axis = page.get_by_role("img", name="Time travel, change feed and retention", exact=False)
    expect(axis).to_be_visible()
    page.get_by_role("button", name="Look at the files themselves").click()
    expect(page.get_by_text("Version 3: data gone;", exact=False)).to_be_visible()
    expect(page.get_by_role("cell", name="data gone").first).to_be_visible()


def test_a_file_is_typed_and_its_reason_kept_in_the_address(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    name = next(
        path.relative_to(shop).as_posix() for path in sorted(shop.glob("country=GB/*.parquet"))
    )
    page.goto(server.address(table=shop, version=74, view="reach"))
    typed = page.get_by_role("searchbox", name="Path of a file")
    typed.fill(name)
    typed.press("Enter")
    expect(page.get_by_text("Versions that need it")).to_be_visible()
    expect(page).to_have_url(re.compile("file=country"))
    page.reload()
    expect(page.get_by_text("Versions that need it")).to_be_visible()


def test_the_folder_is_listed(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=74, view="reach"))
    page.get_by_role("button", name="List the folder").click()
    expect(page.get_by_role("table", name="Parts of the folder")).to_be_visible()
    page.locator("tr[data-do=file]").first.click()
    expect(page.get_by_text("Versions that need it")).to_be_visible()
