"""The list of tables, and the ways to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, serving
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
