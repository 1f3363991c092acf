"""A table that is written while someone looks at it."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.test_page import query
from tests.tables import PROTOCOL, LogFolder, add, metadata


def test_a_version_that_is_written_meanwhile_is_offered_and_the_place_is_kept(
    page: Page, server: Server, tmp_path: Path
) -> None:
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(name="orders"), add("a.parquet")])
    page.goto(server.address(table=log.root, view="timeline"))
    expect(page.get_by_text("The log has 1 commit.")).to_be_visible()
    page.get_by_role("searchbox", name="Filter commits").fill("WRI")
    expect(page).to_have_url(re.compile("only=text"))
    place = query(page)
    log.commit(1, [{"commitInfo": {"operation": "WRITE"}}, add("b.parquet")])
    offer = page.get_by_role("status").filter(has_text="Version 1 is available.")
    expect(offer).to_be_visible(timeout=60_000)
    assert query(page) == place
    expect(page.locator(".dx-version")).to_contain_text("Version 0")
    offer.get_by_role("button", name="Show it").click()
    expect(page.locator(".dx-version")).to_contain_text("Version 1")
    expect(page.get_by_text("The log has 2 commits.")).to_be_visible()
    expect(offer).to_have_count(0)
    assert query(page) == {**place, "version": "1"}
    expect(page.locator("tr[data-do=select]")).to_have_count(1)
    page.go_back()
    expect(page.locator(".dx-version")).to_contain_text("Version 0")
