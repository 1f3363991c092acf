"""Windows in which a list and what is selected in it have no room beside each other."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import WIDE, Server
from widgets.state import HEALTH_WORDS

# how far each is scrolled, no unit test can hold; three widths are one rule
pytestmark = pytest.mark.turns(one_in=3)

PHONE, TABLET, LAPTOP = (
    {"width": 390, "height": 844},
    {"width": 820, "height": 1180},
    {"width": 1024, "height": 768},
)
DETAIL = "[data-detail]"


@pytest.mark.parametrize(
    ("view", "size"), [("timeline", LAPTOP), ("files", TABLET), ("vectors", PHONE)]
)
def test_what_was_chosen_comes_into_sight_and_leads_back(
    page: Page, server: Server, shop: Path, view: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.emulate_media(reduced_motion="reduce")
    page.goto(server.address(table=shop, version=74, view=view))
    rows = page.locator("main tr[data-do=select], main tr[data-do=file]")
    row = rows.nth(11)
    row.click()
    head = page.locator(DETAIL)
    expect(head).to_be_in_viewport()
    page.wait_for_timeout(500)  # what is drawn late moves nothing away
    box = head.bounding_box()
    assert box is not None
    assert 52 <= box["y"] <= 0.6 * size["height"]
    page.get_by_role("button", name="Back to the list").click()
    expect(row).to_be_focused()
    expect(row).to_be_in_viewport()
    # to go through the list chooses nothing, and the list stays in sight
    for _ in range(8):
        page.keyboard.press("j")
    expect(rows.nth(19)).to_be_focused()
    expect(rows.nth(19)).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(head).to_be_in_viewport()


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_list_of_commits_stands_before_the_selected_one(
    page: Page, server: Server, shop: Path, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="timeline"))
    row, head = page.locator("main tr[data-do=select]").last, page.locator(DETAIL)
    expect(head).to_be_attached()
    lines = row.bounding_box(), head.bounding_box()
    assert lines[0] is not None
    assert lines[1] is not None
    assert lines[0]["y"] < lines[1]["y"]


MARKS = """() => {
  const models = [...Bokeh.documents.at(-1)._all_models.values()]
  const is_marks = ({data_source}) => data_source?.data.newest !== undefined
  const plot = models.find((one) => one.type === "Figure" && one.renderers.some(is_marks))
  if (plot === undefined) { return [] }
  const {x, width, y, count} = plot.renderers.find(is_marks).data_source.data
  const {start, end} = plot.x_range
  const scale = plot.inner_width / (end - start)
  const left = plot.outer_width - plot.inner_width - plot.min_border_right
  return [...x].map((place, i) => (
    {lane: y[i], count: count[i], at: left + (place - start) * scale, wide: width[i] * scale}))
}"""
"""The commits' marks with their places and widths in pixels."""


def test_no_mark_of_the_timeline_lies_over_another(page: Page, server: Server, shop: Path) -> None:
    def are_apart() -> int:
        """The most commits that one mark stands for."""
        marks = page.evaluate(MARKS)
        for one, other in pairwise(marks):
            if one["lane"] == other["lane"]:
                room = other["at"] - one["at"] - (one["wide"] + other["wide"]) / 2
                assert room >= 2 - 0.1  # an outline, and what shows between
        assert min(mark["wide"] for mark in marks) >= 2 - 0.1
        assert sum(mark["count"] for mark in marks) == 75
        return int(max(mark["count"] for mark in marks))

    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="timeline"))
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    page.wait_for_timeout(500)  # the browser says how wide it is
    assert are_apart() > 1
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    page.wait_for_function(f"({MARKS})().length > 70")
    alone = len(page.evaluate(MARKS))
    page.wait_for_timeout(500)
    are_apart()
    # where there is no room, a click leads nearer
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.wait_for_function(f"({MARKS})().length < {alone}")
    page.wait_for_timeout(500)
    group = max(page.evaluate(MARKS), key=lambda mark: mark["count"])
    assert group["lane"] == "WRITE"  # the first
    plot = page.get_by_role("img", name="Commits by operation")
    plot.click(position={"x": group["at"], "y": 17})
    page.wait_for_function(f"({MARKS})().every(({{count}}) => count === 1)")


def test_rows_stay_in_the_list_of_commits(page: Page, server: Server, shop: Path) -> None:
    page.set_viewport_size(LAPTOP)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, view="timeline"))
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    page.get_by_role("button", name="Rows", exact=True).last.click()
    rows = page.locator("tr[data-do=select]")
    expect(rows.first.locator("td").nth(4)).to_have_text(re.compile(r"^\+[\d,]+ \u2212[\d,]+$"))
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Rows")


@pytest.mark.parametrize(
    ("view", "size"),
    [("files", WIDE), ("vectors", WIDE), ("files", TABLET), ("timeline", PHONE)],
)
def test_no_number_is_cut_through_without_a_sign(
    page: Page, server: Server, shop: Path, view: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view=view))
    page.locator("main tr[data-do=select], main tr[data-do=file]").nth(3).click()
    expect(page.locator(DETAIL)).to_be_visible()
    lists = page.locator(".dx-scroll")
    expect(lists.first).to_be_visible()
    page.wait_for_timeout(500)
    hidden = "e => [e.scrollWidth - e.clientWidth, getComputedStyle(e).maskImage !== 'none']"
    found = [one.evaluate(hidden) for one in lists.all() if one.is_visible()]
    assert [fades for cut, fades in found] == [cut > 2 for cut, fades in found]
    if size == WIDE:
        assert found[0][0] <= 2  # beside its detail a list has what fits


def test_a_page_that_is_opened_at_an_address_begins_at_its_top(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="files"))
    row = page.locator("tr[data-do=file]").first
    path = row.get_attribute("data-value")
    page.goto(server.address(table=shop, version=74, view="files", file=path))
    expect(page.locator(DETAIL)).to_be_visible()
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") == 0


def test_the_line_of_a_phone_says_health_in_a_word_the_latest_and_the_place(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, view="schema"))
    bar = page.locator("header.bar")
    for told in ("latest", "shop_orders"):
        expect(bar.get_by_text(told, exact=True).first).to_be_in_viewport(ratio=1)
    health = bar.locator(".dx-health")
    expect(health).to_have_text(re.compile("|".join(filter(None, HEALTH_WORDS.values()))))
    expect(health).to_be_in_viewport(ratio=1)
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] < 90
    page.locator(".dx-versions summary").click()
    menu = page.locator(".dx-versions .dx-menu-box")
    expect(menu).to_be_in_viewport(ratio=1)
    expect(menu.get_by_text(str(shop))).to_be_visible()


@pytest.mark.parametrize("size", [PHONE, TABLET], ids=["phone", "tablet"])
def test_the_line_of_an_older_version_says_so_and_leads_back(
    page: Page, server: Server, shop: Path, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, view="schema", version=40))
    bar = page.locator("header.bar")
    expect(bar.locator(".dx-old")).to_be_in_viewport(ratio=1)
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] < 90
    if size is PHONE:  # no room for the link: its number is, and the list leads back
        expect(bar.get_by_text("of 74")).to_be_in_viewport(ratio=1)
        page.locator(".dx-versions summary").click()
        bar.get_by_role("link", name="74 latest").click()
    else:
        bar.get_by_role("link", name="Latest (74)").click()
    expect(page).to_have_url(re.compile("version=74"))
    expect(bar.locator(".dx-old")).to_have_count(0)
