"""The theme: as the system prefers it, until a person chooses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import WIDE, Guard, Server
from widgets.theme import DARK

# each opens a new browser; what the server answers, unit tests hold
pytestmark = pytest.mark.turns(one_in=5)

GROUND = """() => new Promise((done) => {
  const told = () => done([document.documentElement.dataset.theme, getComputedStyle(document.documentElement).backgroundColor])
  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", told) } else { told() }
})"""  # noqa: E501 - a script
"""The theme of the document before any component is there."""

NO_COOKIES = "Object.defineProperty(document, 'cookie', {get: () => '', set: () => {}})"
"""The script of a browser that keeps none."""


def dark_page(browser: Browser, guard: Guard) -> Page:
    """A page of a new browser whose system is dark."""
    page = browser.new_context(viewport=WIDE, color_scheme="dark").new_page()  # type: ignore[arg-type]
    page.set_default_timeout(WAIT_MS)
    guard.watch(page)
    return page


def test_a_page_begins_dark_where_the_system_does_and_keeps_what_a_person_chose(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    page, _ = _page_of_a_dark_system(browser, guard, server.address(table=shop, view="log"))
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    page.reload()
    expect(page.locator(".dx-versions")).to_be_visible()
    page.wait_for_timeout(500)  # long enough for a theme that would come late
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.reload()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.context.close()
    assert guard.errors == []


def test_a_page_has_its_theme_before_any_component_is_there(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    """On the very first visit, too, when the server does not know it."""
    address = server.address(table=shop, view="log")
    page = dark_page(browser, guard)
    # nothing but the document itself arrives
    page.route("**/static/**", lambda route: route.abort())
    page.goto(address, wait_until="domcontentloaded")
    assert page.evaluate(GROUND) == ["dark", "rgb(15, 18, 23)"]
    expect(page.locator("header.bar")).to_have_css("background-color", "rgb(23, 27, 34)")
    page.context.close()
    page, asked = _page_of_a_dark_system(browser, guard, address)
    assert asked == []  # the socket had said it
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    page.wait_for_function("document.cookie.includes('light-chosen')")  # which the server reads
    page.goto(address, wait_until="domcontentloaded")
    assert page.evaluate(GROUND) == ["light", "rgb(246, 247, 249)"]
    expect(page.locator(".dx-versions")).to_be_visible()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    assert asked == []
    page.context.close()


@pytest.mark.parametrize("keeps_cookies", [True, False])
def test_no_plot_is_sent_in_other_colours_than_those_of_a_first_visit(
    browser: Browser, server: Server, shop: Path, guard: Guard, keeps_cookies: bool
) -> None:
    page = dark_page(browser, guard)
    if not keeps_cookies:
        page.add_init_script(NO_COOKIES)
    colours: set[str] = set()

    def keep(frame: str | bytes) -> None:
        colours.update(re.findall(r'"major_label_text_color":"(#\w+)"', str(frame)))

    page.on("websocket", lambda socket: socket.on("framereceived", keep))
    page.goto(server.address(table=shop, view="timeline"))
    expect(page.locator("canvas").first).to_be_visible()
    page.wait_for_timeout(500)  # long enough for a theme that would come late
    page.context.close()
    assert colours == {DARK.muted}
    assert guard.errors == []


def test_a_page_without_cookies_tells_its_theme_when_it_is_there(
    browser: Browser, server: Server, shop: Path, guard: Guard
) -> None:
    page = dark_page(browser, guard)
    page.add_init_script(NO_COOKIES)
    # what lies between may take the theme out of the address of the socket
    page.add_init_script("Object.defineProperty(window, 'WebSocket', {writable: false})")
    page.goto(server.address(table=shop, view="log"))
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
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
    assert asked == []
    (theme,) = (cookie for cookie in page.context.cookies() if "theme" in cookie["name"])
    assert theme["value"] == "light"  # and nobody chose it
    page.context.close()
    assert guard.errors == []


def _page_of_a_dark_system(browser: Browser, guard: Guard, address: str) -> tuple[Page, list[str]]:
    """A browser's first page, and what it asks the server about themes."""
    page = dark_page(browser, guard)
    asked: list[str] = []

    def keep(frame: str | bytes) -> None:
        if isinstance(frame, str) and '["theme",' in frame:
            asked.append(frame)

    page.on("websocket", lambda socket: socket.on("framesent", keep))
    page.goto(address)
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    # what keeps the theme comes after what is drawn, and asks for that of the system as it is then
    expect(page).to_have_title(re.compile("Log"))
    return page, asked


def test_a_page_begins_light_where_the_system_does(
    browser: Browser, server: Server, shop: Path
) -> None:
    context = browser.new_context(viewport=WIDE, color_scheme="light")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(server.address(table=shop, view="log"))
    expect(page.locator(".dx-versions")).to_be_visible()
    expect(page.locator(".dx-page.dx-dark")).to_have_count(0)
    context.close()
