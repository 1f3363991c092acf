"""Two versions compared in a real browser: by link, by keyboard, from a commit."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server
from tests.browser.places import lead

# what is compared and exported, unit tests hold; one way through the page is enough
pytestmark = pytest.mark.turns(one_in=5)


def test_a_link_shows_the_comparison_that_it_names(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=74, older=40, view="compare"))
    expect(page.get_by_text("From version 40 to 74:", exact=False)).to_be_visible()
    expect(page.get_by_role("cell", name="unit_price (was price)")).to_be_visible()
    expect(page.get_by_role("heading", name="Statistics")).to_be_visible()
    expect(page).to_have_url(re.compile("older=40"))


def test_versions_are_typed_and_the_back_button_goes_back(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, older=40, view="compare"))
    typed = page.get_by_role("textbox", name="From version")
    # a click takes all of the number, so that what is typed takes its place
    typed.click()
    page.wait_for_function("document.hasFocus()")
    expect(typed).to_be_focused()
    page.wait_for_timeout(100)
    typed.press_sequentially("60")
    typed.press("Enter")
    expect(page.get_by_text("From version 60 to 74:", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("older=60"))
    page.go_back()
    expect(page.get_by_text("From version 40 to 74:", exact=False)).to_be_visible()
    expect(page.get_by_role("textbox", name="From version")).to_have_value("40")


TOGETHER = {
    "compare": ({"From version": "40", "To version": "60"}, {"older": "40", "version": "60"}),
    "feed": ({"From version": "41", "To version": "61"}, {"older": "41", "version": "61"}),
    "timeline": (
        {"Sum up the commits after version": "42", "up to version": "62"},
        {"older": "42", "version": "62"},
    ),
    "conflicts": (
        {
            "The version that was read": "70",
            "Condition on the rows that were read": "country = 'DE'",
        },
        {"version": "70", "where": "country = 'DE'"},
    ),
}
"""Fields that are sent together, what is typed into them, and what the address says then."""


@pytest.mark.daily
def test_enter_in_one_field_counts_what_was_typed_into_the_other(
    page: Page, server: Server, shop: Path
) -> None:
    for view, (typed, chosen) in TOGETHER.items():
        page.goto(server.address(table=shop, view=view))
        for turn in (typed, dict(reversed(typed.items()))):
            lead(page, table=shop, version=74, view=view)
            (first, value), (last, other) = turn.items()
            page.get_by_label(first, exact=True).fill(value)
            page.get_by_label(last, exact=True).click()
            page.get_by_label(last, exact=True).fill(other)
            page.get_by_label(last, exact=True).press("Enter")
            for name, wanted in chosen.items():
                expect(page).to_have_url(re.compile(re.escape(urlencode({name: wanted}))))
            expect(page.get_by_label(first, exact=True)).to_have_value(value)


def test_a_version_that_is_not_there_is_told_and_what_was_typed_stays(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, older=60, view="timeline"))
    after, up_to = page.get_by_label("after version"), page.get_by_label("up to version")
    expect(after).to_have_value("60")
    after.fill("70")
    up_to.fill("90")
    up_to.press("Enter")
    expect(page.get_by_role("alert")).to_have_text(
        "'90' is not a version of this table: the latest is 74."
    )
    expect(after).to_have_value("70")
    page.locator("tr[data-do=select]").nth(1).click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(after).to_have_value("60")
    expect(up_to).to_have_value("73")


def test_a_commit_is_compared_with_the_one_before(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=50, view="timeline"))
    page.get_by_role("link", name="Compare with previous").click()
    expect(page.get_by_text("From version 49 to 50:", exact=False)).to_be_visible()
    page.get_by_role("button", name="Show what it would do").click()
    expect(page.get_by_text("Restores version 49", exact=False)).to_be_visible()
    page.get_by_text("Copy as: CLI · Python · Spark SQL").click()
    expect(page.get_by_text("TO VERSION AS OF 49", exact=False)).to_be_visible()


def test_a_key_is_typed_by_which_a_row_is_the_same(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=33, older=26, view="compare"))
    key = page.get_by_role("combobox", name="same row by")
    expect(key).to_have_value("order_id")
    key.fill("customer_id, order_id")
    key.press("Enter")
    told = page.get_by_text("Rows are the same by", exact=False)
    expect(told).to_contain_text("customer_id")
    expect(key).to_have_value("customer_id, order_id")


def test_the_files_that_differ_are_exported(
    page: Page, server: Server, shop: Path, tmp_path: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, older=40, view="compare"))
    page.get_by_role("button", name="Removed").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    target = tmp_path / "files.csv"
    download.value.save_as(target)
    with target.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 83
    assert {row["kind"] for row in rows} == {"removed"}
    assert all(row["size_before"] and not row["size_after"] for row in rows)
