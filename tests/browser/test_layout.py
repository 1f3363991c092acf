"""The layout of a table in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server


def test_sizes_partitions_and_each_optimize_are_shown(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="layout"))
    expect(page.get_by_text("138 of 138 files are below the target", exact=False)).to_be_visible()
    sizes = page.locator("figure", has=page.get_by_role("img", name="Files by size", exact=False))
    for label in ("size of a file", "files"):
        expect(sizes.get_by_text(label, exact=True)).to_be_visible()
    expect(sizes).to_contain_text(re.compile(r"\d KiB"))
    map_of_bytes = page.get_by_role("img", name="Bytes by partition")
    expect(map_of_bytes).to_contain_text("country=DE")
    row = page.locator("tr[data-do=version]", has_text="119 → 6")
    row.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=compare"))
    expect(page.get_by_text("From version 48 to 49:", exact=False)).to_be_visible()


def test_a_partition_is_chosen_by_click_and_by_keyboard_and_kept(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, view="layout"))
    rows = page.locator("tr[data-do=partition]")
    rows.filter(has_text="country=DE").click()
    head = page.locator("[data-detail]")
    expect(head).to_be_in_viewport()
    expect(page.get_by_text("23 of 23 files are below", exact=False)).to_be_visible()
    expect(page.get_by_text("310.0 KiB (317,484 B)")).to_be_visible()
    expect(page).to_have_url(re.compile("layout=partition"))
    page.reload()
    expect(page.locator("tr[aria-current=true]")).to_contain_text("country=DE")
    expect(page.get_by_text("310.0 KiB (317,484 B)")).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    expect(head).to_have_count(0)
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("data-detail", "country=SE")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_focused()
    page.get_by_role("link", name="List them").click()
    expect(page.get_by_text("1\N{EN DASH}23 of 23 files")).to_be_visible()
    page.reload()
    expect(page.get_by_text("1\N{EN DASH}23 of 23 files")).to_be_visible()
    page.get_by_role("button", name="Show those of all partitions").click()
    expect(page.get_by_text("of 138 files", exact=False).first).to_be_visible()
    page.go_back()
    page.go_back()
    page.get_by_role("button", name="Plan Optimize of this partition").click()
    expect(page.get_by_role("combobox", name="Only where")).to_have_value("country = 'SE'")


def test_a_partition_opens_below_a_narrow_list_in_sight(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="layout"))
    page.locator("tr[data-do=partition]").first.click()
    expect(page.locator("[data-detail]")).to_be_in_viewport()
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("tr[data-do=partition]").first).to_be_focused()


def test_every_column_of_each_optimize_is_in_sight(page: Page, server: Server, shop: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(server.address(table=shop, version=74, view="layout"))
    table = page.locator(".dx-effects .dx-scroll")
    expect(table).to_contain_text("Apache-Spark")
    assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
