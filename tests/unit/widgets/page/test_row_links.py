"""Rows that lead to a place are links to it, in every view."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.demo_story import AUTUMN, copy_demo
from tests.unit.widgets.page.test_explorer_view import Page
from widgets.state import VIEWS, PageState, parse_address
from widgets.ui.live_html import LiveHtml
from widgets.ui.place_links import PlaceLinks
from widgets.ui.table import Cell, Row

ROW = re.compile(
    r'<tr tabindex="0" data-do="(\w+)" data-value="([^"]*)"([^>]*)>(.*?)</tr>', re.DOTALL
)
LINK = re.compile(r'<a href="([^"]*)" class="dx-cell-link" tabindex="-1"')

HERE = {"by", "line", "open", "receipt", "row"}
"""What rows do that stays on the page: no address says it."""

ASKED = {
    "reach": (("folder", ""),),
    "rows": (("search", ""), ("row", "0"), ("blame", "")),
    "schema": (("footers", ""),),
}
"""What has to be asked for, by view, before all rows are there."""

LEAD_ON = {
    "timeline": {"select"}, "feed": {"one"}, "rows": {"version", "commit"}, "files": {"file"},
    "statistics": {"column"}, "vectors": {"file"}, "layout": {"version", "partition"},
    "reach": {"version", "file"}, "schema": {"commit", "file"},
    "engines": {"engine"}, "conflicts": {"version"},
}  # fmt: skip
"""What the rows of the demo table lead on by."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_demo(tmp_path_factory.mktemp("demo") / "shop", AUTUMN)


def opened(shop: Path, view: str, *, has_address: bool) -> Page:
    page = Page(has_address=has_address)
    where = "order_id = 1000100" if view == "rows" else ""
    page.open(shop, view=view, version=66, older=60, where=where)
    for action, value in ASKED.get(view, ()):
        page.do(action, value)
    return page


@pytest.mark.parametrize("view", VIEWS)
def test_a_row_is_a_link_to_where_a_click_on_it_leads(shop: Path, view: str) -> None:
    page = opened(shop, view, has_address=True)
    found: dict[str, list[tuple[str, str]]] = {}
    for action, value, marks, cells in ROW.findall(page.html):
        links = LINK.findall(cells)
        assert len(links) == (action not in HERE), (action, cells)
        if links and "aria-current" not in marks:
            found.setdefault(action, []).append((unescape(value), unescape(links[0])))
    assert found.keys() == LEAD_ON.get(view, set())
    for action, rows in found.items():
        value, link = rows[-1]
        page = opened(shop, view, has_address=True)
        page.do(action, value)
        assert parse_address(link) == (page.state.address, [])


@pytest.mark.parametrize("view", ["timeline", "files", "commit"])
def test_without_an_address_nothing_is_a_link(shop: Path, view: str) -> None:
    page = opened(shop, view, has_address=False)
    assert "<a href" not in "".join(part.html for part in page.explorer.panel.select(LiveHtml))
    if view == "commit":
        page.do("place", "timeline")
        assert page.state.view == "timeline"
    else:
        assert ROW.search(page.html)


def test_the_links_of_the_commits_follow_what_else_is_chosen(shop: Path) -> None:
    page = opened(shop, "timeline", has_address=True)
    page.state.timeline = "measure=rows"
    page.state.view = "files"
    page.state.files = "text=emea"
    page.state.view = "timeline"
    _, _, _, cells = next(row for row in ROW.findall(page.html) if row[0] == "select")
    address, _ = parse_address(unescape(LINK.findall(cells)[0]))
    assert (address.timeline, address.files) == ("measure=rows", "text=emea")


def test_half_a_character_ends_no_list_of_links() -> None:
    links = PlaceLinks(PageState(table="/lake/t", latest=1, version=1), has_address=True)
    (row,) = links.tables([Row(cells=(Cell(text="t"),), action="open", value="/lake/\ud800")])
    assert row.link == "?table=%2Flake%2F%3F&view=overview"
