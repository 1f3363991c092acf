"""The theme: as the system prefers it, until a person chooses."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import WIDE, Guard, Server


def test_a_page_begins_dark_where_the_system_does_and_keeps_what_a_person_chose(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    context = browser.new_context(viewport=WIDE, color_scheme="dark")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    guard.watch(page)
    page.goto(server.address(table=shop, view="log"))
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.get_by_role("button", name="Toggle theme").click()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    page.reload()
    expect(page.locator(".dx-figure").nth(4)).to_be_visible()
    page.wait_for_timeout(500)  # long enough for a theme that would come late
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    page.get_by_role("button", name="Toggle theme").click()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.reload()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    context.close()
    assert guard.errors == []


def test_a_page_begins_light_where_the_system_does(
    browser: Browser, server: Server, shop: Path
) -> None:
    context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(server.address(table=shop, view="log"))
    expect(page.locator(".dx-figure").nth(4)).to_be_visible()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    context.close()
