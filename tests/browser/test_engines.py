"""Who can read and write a table, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Server

# the texts and the choice of engines, unit tests hold
pytestmark = pytest.mark.turns(one_in=5)

ROWS = "tr[data-do=engine]"


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_answer_comes_first_and_every_engine_has_its_reason(
    page: Page, server: Server, shop: Path, theme: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, view="engines"))
    expect(page.locator(".dx-answer")).to_contain_text("engines can read this table")
    if theme == "dark":
        page.get_by_role("button", name="Light or dark").click()
        expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    expect(page.locator(ROWS).first).to_contain_text("commits here")
    spark = page.locator(ROWS, has_text="Delta Lake for Apache Spark")
    spark.click()
    detail = page.locator(".dx-card, .dx", has_text="Based on").last
    expect(detail).to_contain_text("proven")
    link = page.locator(".dx-source a").first
    assert (link.get_attribute("href") or "").startswith("https://github.com/delta-io/delta/")
    over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert over <= 0


def test_engines_are_chosen_by_verdict_and_with_the_keyboard(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, view="engines"))
    expect(page.locator(ROWS).nth(30)).to_be_visible()
    page.get_by_role("button", name="Writing").click()
    page.get_by_role("button", name="cannot", exact=False).click()
    expect(page.locator(ROWS, has_text="delta-rs")).to_be_visible()
    expect(page.locator(ROWS, has_text="Delta Lake for Apache Spark")).to_have_count(0)
    page.locator(ROWS, has_text="delta-rs").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("inCommitTimestamp").first).to_be_visible()
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("searchbox", name="Filter engines").fill("trino")
    expect(page.locator(ROWS)).to_have_count(1)


def test_the_protocol_leads_to_the_engines(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, view="protocol"))
    page.get_by_role("button", name="Every engine").click()
    expect(page.locator(ROWS).first).to_be_visible()
    assert "view=engines" in page.url
