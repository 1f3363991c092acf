"""The theme: as the system prefers it, until a person chooses."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import WIDE, Guard, Server
from widgets.theme import DARK

# each opens a new browser; what the server answers, unit tests hold
pytestmark = pytest.mark.turns(one_in=5)

GROUND = f"--mui-palette-background-default:{DARK.page}"


def test_a_page_begins_dark_where_the_system_does_and_keeps_what_a_person_chose(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    page, _ = _page_of_a_dark_system(browser, guard, server.address(table=shop, view="log"))
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
    page.context.close()
    assert guard.errors == []


def test_the_server_knows_the_theme_when_it_is_asked_again(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    """So that no page is drawn in the wrong one first."""
    address = server.address(table=shop, view="log")
    page, asked = _page_of_a_dark_system(browser, guard, address)
    assert len(asked) == 1
    answer = page.goto(address)
    assert answer is not None
    assert GROUND in answer.text()  # before anything is there
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.get_by_role("button", name="Toggle theme").click()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    expect(page.locator("body")).to_have_css("background-color", "rgb(246, 247, 249)")
    answer = page.goto(address)
    assert answer is not None
    assert GROUND not in answer.text()
    expect(page.locator(".dx-figure").nth(4)).to_be_visible()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    assert len(asked) == 1
    page.context.close()
    assert guard.errors == []


def test_a_page_follows_the_system_as_long_as_nobody_chose(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    address = server.address(table=shop, view="log")
    page, asked = _page_of_a_dark_system(browser, guard, address)
    page.emulate_media(color_scheme="light")
    page.goto(address)
    expect(page.locator(".dx-page")).to_be_visible()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    assert len(asked) == 2
    (theme,) = (cookie for cookie in page.context.cookies() if "theme" in cookie["name"])
    assert theme["value"] == "light"  # and nobody chose it
    page.context.close()
    assert guard.errors == []


def _page_of_a_dark_system(browser: Browser, guard: Guard, address: str) -> tuple[Page, list[str]]:
    """A browser's first page, and what it asks the server about themes."""
    context = browser.new_context(viewport=WIDE, color_scheme="dark")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    guard.watch(page)
    asked: list[str] = []

    def keep(frame: str | bytes) -> None:
        if isinstance(frame, str) and '["theme",' in frame:
            asked.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", keep))
    page.goto(address)
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    return page, asked


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
