"""What holds in every view: accessibility, widths, pictures, the palette, back and forward."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import NARROW, Guard, Server
from tests.browser.places import lead
from tests.browser.test_list import cut_numbers
from tests.browser.test_page import open_shop, query
from widgets.state import VIEWS

# what the palette, the plot and the address ask and answer, unit tests hold too
pytestmark = pytest.mark.turns(one_in=5)

WIDTHS = (1440, 1024, 820, 390)
AT = 66
"""A version of the demo table with something to show in each view."""

SERIOUS = {"serious", "critical"}


def settled(page: Page, server: Server, shop: Path, view: str) -> None:
    """A view with all that it shows by itself."""
    page.goto(server.address(table=shop, view=view, version=AT, older=40))
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible()
    expect(page.locator(".dx-waiting")).to_have_count(0, timeout=60_000)


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(
    request: pytest.FixtureRequest, browser: Browser, server: Server, shop: Path
) -> Iterator[Page]:
    """A page in one theme, for all views."""
    context = browser.new_context(
        viewport={"width": WIDTHS[0], "height": 980}, color_scheme=request.param
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    guard = Guard(server.origin)
    guard.watch(page)
    settled(page, server, shop, VIEWS[0])
    yield page
    context.close()
    assert guard.foreign == []
    assert guard.errors == []


def find_faults(page: Page) -> list[tuple[str, str, list[str]]]:
    """The serious faults that axe-core finds, with elements that have them."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response
    return [
        (fault["id"], fault["impact"], [node["html"][:200] for node in fault["nodes"][:4]])
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
    ]


@pytest.mark.daily
@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_fault_in_either_theme_and_none_is_too_wide(
    themed: Page, shop: Path, view: str
) -> None:
    lead(themed, table=shop, view=view, version=AT, older=40)
    for width in WIDTHS:
        themed.set_viewport_size({"width": width, "height": 980})
        themed.wait_for_timeout(150)
        wide = themed.evaluate("document.documentElement.scrollWidth")
        inner = themed.locator("main").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert wide <= width, (view, width)
        assert inner[0] <= inner[1], (view, width)
        for _ in range(4):
            faults = find_faults(themed)
            if not faults:
                break
            themed.wait_for_timeout(1500)  # colours that still turn from one theme to the other
        assert faults == [], json.dumps([width, faults], indent=1)
    themed.set_viewport_size({"width": WIDTHS[0], "height": 980})


def test_the_palette_goes_to_a_view_a_version_a_column_and_a_file_by_keyboard_alone(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    palette = page.get_by_role("dialog", name="Command palette")
    field = palette.get_by_role("combobox")

    def choose(text: str, kind: str) -> None:
        page.keyboard.press("Control+k")
        expect(field).to_be_focused()
        page.keyboard.type(text)
        expect(palette.locator("li[aria-selected=true]")).to_contain_text(kind)
        page.keyboard.press("Enter")
        expect(palette).to_be_hidden()

    choose("featu", "View")
    expect(page).to_have_url(re.compile("view=protocol"))
    choose("66", "Version 66")
    expect(page).to_have_url(re.compile("version=66"))
    choose("customer_i", "Column")
    expect(page).to_have_url(re.compile("view=statistics&column=customer_id"))
    choose("country=DE", "File")
    expect(page).to_have_url(re.compile("view=files"))
    expect(page.get_by_text("Rows that are live")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Rows that are live")).to_be_visible()


def test_the_palette_keeps_the_focus_and_escape_gives_it_back(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    palette = page.get_by_role("dialog", name="Command palette")
    page.get_by_role("searchbox", name="Filter commits").focus()
    page.keyboard.press("Control+k")
    expect(palette.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Tab")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("nothing is called this")
    expect(palette.get_by_text("No matches.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(page.get_by_role("searchbox", name="Filter commits")).to_be_focused()


def test_the_palette_turns_the_theme_and_copies_the_view_as_python(
    browser: Browser, server: Server, shop: Path
) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    open_shop(page, server, shop, view="log")
    palette = page.get_by_role("dialog", name="Command palette")
    page.locator("button.dx-find").click()
    palette.get_by_role("option", name=re.compile("Light or dark")).click()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    page.keyboard.press("Control+k")
    palette.get_by_role("option", name=re.compile("Copy as Python")).click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    context.close()
    names: dict[str, Any] = {}
    *lines, call = copied.splitlines()
    exec("\n".join([*lines, f"found = {call}"]), names)
    assert "_last_checkpoint" in names["found"]["name"].to_pylist()


def test_a_picture_of_the_view_is_saved(
    page: Page, server: Server, shop: Path, tmp_path: Path
) -> None:
    settled(page, server, shop, "timeline")
    lanes = page.get_by_role("img", name=re.compile("Commits by operation"))
    expect(lanes).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    assert download.value.suggested_filename == f"timeline-{AT}.png"
    data = download.value.path().read_bytes()
    assert data.startswith(b"\x89PNG")
    colours = page.evaluate(
        """async (data) => {
          const image = new Image()
          image.src = data
          await image.decode()
          const canvas = new OffscreenCanvas(image.width, image.height)
          const context = canvas.getContext("2d")
          context.drawImage(image, 0, 0)
          const found = new Set()
          const pixels = context.getImageData(0, 0, image.width, image.height).data
          for (let i = 0; i < pixels.length; i += 44) { found.add(`${pixels[i]},${pixels[i+1]},${pixels[i+2]}`) }
          return {count: found.size, width: image.width, height: image.height}
        }""",  # noqa: E501 - one line of script
        "data:image/png;base64," + base64.b64encode(data).decode(),
    )
    assert colours["count"] > 50  # text, marks and lines, not an empty sheet
    assert colours["height"] > 900


def test_a_picture_has_no_cuts(page: Page, server: Server, shop: Path) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    settled(page, server, shop, "reach")
    within = page.locator(".dx-page").bounding_box()
    assert within is not None
    hidden = page.locator(".dx-scroll").evaluate_all(
        "tables => Math.max(...tables.map(e => e.scrollWidth - e.clientWidth))"
    )
    assert hidden > 8  # more than a table's own margin
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    width, height = struct.unpack(">II", download.value.path().read_bytes()[16:24])
    assert width >= 2 * (within["width"] + hidden - 8)
    assert height > 2 * NARROW["height"]
    expect(page.locator(".dx-whole")).to_have_count(0)
    again = page.locator(".dx-page").bounding_box()
    assert again is not None
    assert again["width"] == within["width"]


def test_the_line_above_is_one_line_and_the_drawer_of_a_phone_begins_closed(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="files")
    for width, is_open in ((1440, True), (820, True), (390, False)):
        page.set_viewport_size({"width": width, "height": 900})
        bar = page.locator("header.bar").bounding_box()
        assert bar is not None
        assert bar["height"] < 90
        expect(page.locator(".drawer")).to_be_visible(visible=is_open)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Navigation").click()
    page.locator("nav").get_by_text("Log", exact=True).click()
    expect(page).to_have_url(re.compile("view=log"))
    expect(page.locator(".drawer")).to_be_hidden()


def test_what_lists_the_files_outlasts_a_reload_and_back_undoes_it(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="files")
    field, size = page.get_by_label("Filter files"), page.get_by_role("columnheader", name="Size")
    size.get_by_role("button").click()
    expect(page).to_have_url(re.compile("by%3Dsize"))
    field.press_sequentially("country")
    expect(page).to_have_url(re.compile("text%3Dcountry"))
    # whoever types on after a pause takes no step of their own
    field.press_sequentially("=DE")
    expect(page).to_have_url(re.compile("text%3Dcountry%253DDE"))
    pager = page.get_by_role("navigation", name="Pages")
    expect(pager).to_contain_text(" files")
    some = pager.inner_text()
    page.reload()
    expect(field).to_have_value("country=DE")
    expect(pager).to_have_text(some)
    expect(size).to_have_attribute("aria-sort", "descending")
    page.go_back()
    expect(field).to_have_value("")
    expect(pager).not_to_have_text(some)
    expect(size).to_have_attribute("aria-sort", "descending")


def test_a_view_opens_in_a_tab_and_any_version_is_picked_above_it(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="files")
    page.locator("summary", has_text="Version 74").click()
    field = page.get_by_label("Go to version")
    field.fill("12")
    field.press("Enter")
    expect(page.get_by_role("heading", name="Files of version 12")).to_be_visible()
    expect(field).to_be_hidden()
    with page.context.expect_page() as opened:
        page.locator("nav").get_by_text("Schema", exact=True).click(modifiers=["ControlOrMeta"])
    tab = opened.value
    expect(tab).to_have_url(re.compile("version=12&view=schema"))
    expect(tab.locator("nav [aria-current=page]")).to_have_text("Schema")
    tab.close()
    expect(page).to_have_url(re.compile("version=12&view=files"))


@pytest.mark.parametrize("how", [{"button": "middle"}, {"modifiers": ["ControlOrMeta"]}])
@pytest.mark.parametrize("cell", ["version", "operation"])
def test_a_commit_of_the_list_opens_in_a_tab(
    page: Page, server: Server, shop: Path, how: dict[str, Any], cell: str
) -> None:
    open_shop(page, server, shop, version=70)
    row = page.locator("tr[data-do=select]").nth(1)
    place = row.get_by_role("link") if cell == "version" else row.locator("td").nth(2)
    expect(row.get_by_role("link")).to_have_text("73")
    with page.context.expect_page() as opened:
        place.click(**how)
    tab = opened.value
    expect(tab.get_by_role("heading", name="Version 73")).to_be_visible()
    assert query(tab) == {"table": str(shop), "version": "73", "view": "timeline"}
    assert len(page.context.pages) == 2
    assert query(page)["version"] == "70"
    with page.context.expect_page() as alone:
        page.get_by_role("link", name="Open alone").click(**how)
    expect(alone.value.get_by_role("link", name="Beside the timeline")).to_be_visible()
    assert query(alone.value) == {"table": str(shop), "version": "70", "view": "commit"}
    assert query(page)["view"] == "timeline"
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Version 73")).to_be_visible()
    expect(row).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("tr[data-do=select]").nth(2)).to_be_focused()


@pytest.mark.parametrize("width", [1440, 1280, 820])
def test_no_column_of_the_commits_is_cut_off(
    page: Page, server: Server, shop: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 980})
    open_shop(page, server, shop, version=66)
    expect(page.locator("tr[data-do=select]")).to_have_count(25)
    listed = page.locator(".dx-commits .dx-scroll")
    assert listed.evaluate("e => e.scrollWidth - e.clientWidth") <= 2
    assert cut_numbers(page, ".dx-commits") == []


def test_back_and_forward_go_through_views_and_selections(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    expect(page).to_have_url(re.compile("version=74"))
    places = [query(page)]
    for step, sign in (
        (lambda: page.locator("tr[data-do=select]").nth(5).click(), "version=69"),
        (lambda: page.get_by_label("Show operations").select_option("=MERGE"), "only=operation"),
        (lambda: page.locator("nav").get_by_text("Files", exact=True).click(), "view=files"),
        (lambda: page.locator("tr[data-do=file]").nth(2).click(), "file="),
        (lambda: page.locator("nav").get_by_text("Log", exact=True).click(), "view=log"),
    ):
        step()
        expect(page).to_have_url(re.compile(re.escape(sign)))
        places.append(query(page))
    for place in reversed(places[:-1]):
        page.go_back()
        page.wait_for_function(
            "wanted => Object.entries(wanted).every(([k, v]) => "
            "new URLSearchParams(location.search).get(k) === v)",
            arg=place,
        )
        assert query(page) == place
    expect(page.get_by_text("Commit timeline")).to_be_visible()
    page.go_forward()
    page.go_forward()
    expect(page.get_by_label("Show operations")).to_have_value("=MERGE")
    assert query(page) == places[2]


def test_what_a_brush_selects_is_summed_up_compared_and_in_the_address(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    lanes = page.get_by_role("img", name=re.compile("Commits by operation"))
    box = lanes.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 90, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 90, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile("older="))
    sums = page.locator(".dx-lead", has_text="Together")
    expect(sums).to_contain_text("commits")
    chosen = query(page)
    page.locator(".dx-range button[data-do=compare]").click()
    expect(page).to_have_url(re.compile("view=compare"))
    assert {**query(page), "view": "timeline"} == chosen


def test_two_typed_versions_are_a_range_and_what_is_counted_can_be_changed(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    field = page.get_by_label("After version")
    field.fill("70")
    field.press("Enter")
    expect(page.get_by_text(re.compile(r"^4 commits: .*Together: bytes \+"))).to_be_visible()
    page.locator("button[data-do=measure][data-value=rows]").click()
    expect(page.get_by_role("img", name="Rows over time")).to_be_visible()
    page.get_by_role("button", name="24 h").click()
    expect(page).to_have_url(re.compile("timeline=measure%3Drows%26window%3D24h"))
    page.go_back()
    expect(page.get_by_role("button", name="All", exact=True).first).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.get_by_role("button", name="Zoom out")).to_be_disabled()
    expect(page.get_by_role("img", name="Rows added and removed over time")).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.locator(".dx-lead", has_text="Together: ")).to_have_count(0)
