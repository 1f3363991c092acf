"""The list of tables, and the ways to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Guard, Server, serving
from tests.browser.test_page import query
from tests.tables import PROTOCOL, LogFolder, add, metadata


def test_a_server_of_one_table_has_a_list_too(page: Page, server: Server) -> None:
    page.goto(server.address())
    expect(page.get_by_role("heading", name="What to do first")).to_be_visible()
    page.goto(f"{server.origin}/no-such")
    page.get_by_role("link", name="To the tables").click()
    for _ in range(2):
        expect(page.get_by_role("heading", name="Open a Delta table")).to_be_visible()
        page.reload()


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_each_table_of_the_list_takes_one_line(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    for name, missing in (("whole", ()), ("broken", (3, 4)), ("a_name_" * 12, ())):
        log = LogFolder(tmp_path / "lake" / name)
        log.commit(0, [PROTOCOL, metadata(), *(add(f"{at}.parquet", size=9) for at in range(20))])
        for version in range(1, 8):
            if version not in missing:
                log.commit(version, [add(f"more{version}.parquet", size=9)])
    tables = sorted(map(str, (tmp_path / "lake").iterdir()))
    with serving(tables, tmp_path / "state") as server:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(server.address())
        rows = page.get_by_role("row").filter(has=page.get_by_role("cell"))
        expect(rows).to_have_count(3)
        finding = re.compile("^error: .*gap in the commits")
        expect(page.get_by_role("cell", name=finding)).to_be_visible()
        boxes = [row.bounding_box() or {} for row in rows.all()]
        assert {round(box["height"]) for box in boxes} <= set(range(24, 40)), boxes
        column = page.get_by_role("columnheader", name="Finding").bounding_box() or {}
        assert column["x"] + column["width"] <= width
        page.close()


@pytest.mark.parametrize("width", [1440, 1360])
def test_places_are_in_sight_beside_long_findings(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    places = []
    for end in ("orders", "visits"):
        # of tables in one folder it would be told once, above the list
        log = LogFolder(tmp_path / "lake" / end / f"events_of_the_shop_by_day_and_{end}")
        actions = [PROTOCOL, metadata(), *(add(f"{at}.parquet", size=9) for at in range(20))]
        log.commit(0, actions)
        log.checkpoint(2, actions)
        log.commit(3, [add("more.parquet", size=9)])
        places.append(str(log.root))
    with serving(places, tmp_path / "state") as server:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(server.address())
        row = page.get_by_role("row").filter(has=page.get_by_role("cell")).first
        finding = row.get_by_role("cell", name="gap in the commits, no hint, small files")
        expect(finding).to_be_visible()
        place = row.get_by_role("cell", name="orders/events_of_the_shop")
        box, within = (
            place.bounding_box() or {},
            page.locator(".dx-scroll").first.bounding_box() or {},
        )
        assert box["width"] >= 80
        assert box["x"] + box["width"] <= within["x"] + within["width"]
        page.close()


@pytest.mark.parametrize("how", [{"button": "middle"}, {"modifiers": ["ControlOrMeta"]}])
@pytest.mark.parametrize("cell", ["Table", "Finding"])
def test_a_table_of_the_list_opens_in_a_tab(
    page: Page, lake: Server, how: dict[str, Any], cell: str
) -> None:
    page.goto(lake.address())
    row = page.get_by_role("row", name="<b>bold & hostile")
    link = row.locator("a")
    place = link if cell == "Table" else row.get_by_role("cell").nth(1)
    with page.context.expect_page() as opened:
        place.click(**how)
    expect(opened.value.locator("h1")).to_be_visible()
    expect(opened.value).to_have_url(re.compile("view=overview"))
    assert query(opened.value)["table"].endswith("/<b>bold & hostile")
    assert len(page.context.pages) == 2
    expect(page.get_by_role("heading", name="Tables", exact=True)).to_be_visible()
    link.click()
    expect(page).to_have_url(re.compile("view=overview"))


@pytest.fixture
def lake(tmp_path: Path, guard: Guard) -> Iterator[Server]:
    """A list of three tables, one of them with a long name and one with markup for a name."""
    for name in ("orders", "a_name_" * 12, "<b>bold & hostile"):
        log = LogFolder(tmp_path / "lake" / name)
        actions = [PROTOCOL, metadata(), *(add(f"{at}.parquet", size=9) for at in range(20))]
        log.commit(0, actions)
        log.checkpoint(2, actions)
        log.commit(3, [add("more.parquet", size=9)])
    tables = sorted(map(str, (tmp_path / "lake").iterdir()))
    with serving(tables, tmp_path / "state") as server:
        guard.origin = server.origin
        yield server


@pytest.mark.parametrize("width", [1440, 1280, 820])
def test_no_column_of_the_list_is_cut_off(browser: Browser, lake: Server, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(lake.address())
    expect(page.get_by_text("nothing is wrong").or_(page.get_by_text("gap")).first).to_be_visible()
    expect(page.locator(".dx-waiting")).to_have_count(0)
    listed = page.locator(".dx-catalog .dx-scroll")
    assert listed.evaluate("e => e.scrollWidth - e.clientWidth") <= 2
    assert cut_numbers(page, ".dx-catalog") == []
    page.close()


def cut_numbers(page: Page, within: str) -> list[str]:
    """The texts of cells with numbers that are wider than their cells."""
    found: list[str] = page.locator(f"{within} td.dx-right").evaluate_all(
        "cells => cells.filter((one) => one.scrollWidth > one.clientWidth)"
        ".map((one) => one.textContent)"
    )
    return found
