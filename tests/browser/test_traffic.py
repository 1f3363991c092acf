"""What travels between a page and its browser, and what does not."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, WebSocket, expect

from tests.browser.conftest import Server


def test_a_page_asks_for_no_style_sheet_and_a_view_comes_in_one_message(
    page: Page, server: Server, shop: Path
) -> None:
    requests: list[str] = []
    messages: list[str] = []

    def hear(text: str | bytes) -> None:
        # the header and the metadata of a message are frames of their own
        if isinstance(text, str) and text.startswith('{"events"'):
            messages.append(text)

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", hear)

    page.on("request", lambda request: requests.append(request.url))
    page.on("websocket", listen)
    page.goto(server.address(table=shop, view="schema"))
    expect(page.get_by_role("heading", name="History of the schema")).to_be_visible()
    page.wait_for_timeout(1000)  # until nothing of it is under way
    messages.clear()
    page.get_by_role("link", name="Layout", exact=True).click()
    expect(page.get_by_role("heading", name="What each OPTIMIZE did")).to_be_visible()
    page.wait_for_timeout(500)
    first = messages[0]
    assert "Layout of version" in first  # the cards of the view,
    assert 'aria-current=\\"page\\"' in first  # the navigation
    assert "view=layout" in first  # and the address
    # its three questions are answered one by one, and whether the table is there still
    assert len(messages) <= 6
    assert [url for url in requests if ".css" in url] == []
    # nor for scripts of which nothing is used
    unused = ("bokeh-tables", "bokeh-gl", "bokeh-mathjax", "es-module-shims")
    assert [url for url in requests if any(name in url for name in unused)] == []


def test_a_card_without_anything_to_show_is_not_there(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, view="compare", version=74, older=73))
    expect(page.get_by_role("heading", name="Rows that differ")).to_be_visible()
    empty = page.locator(".dx-card[data-empty]")
    assert empty.count() > 0  # the schema is the same
    assert [card.is_visible() for card in empty.all()] == [False] * empty.count()
    shown = page.locator(".dx-card:not([data-empty])")
    heading = page.get_by_role("heading", name="Rows that differ")
    expect(shown.filter(has=heading)).to_be_visible()
