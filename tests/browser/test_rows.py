"""Rows and their history in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server
from tests.tables import PROTOCOL, LogFolder, add, metadata


def test_a_row_is_looked_for_and_its_history_searched(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="rows"))
    expect(page.get_by_text("The first 500 rows of version 74.")).to_be_visible()
    typed = page.get_by_role("combobox", name="Condition on rows")
    typed.fill("order_id = 1000100")
    typed.press("Enter")
    expect(page.get_by_text("1 row of version 74 matches.")).to_be_visible()
    expect(page).to_have_url(re.compile("where=order_id"))
    page.get_by_role("button", name="Search all versions").click()
    row = page.locator("tr[data-do=version]")
    expect(row).to_have_count(1)
    row.click()
    expect(page).to_have_url(re.compile("version=1&"))
    expect(page).to_have_url(re.compile("view=timeline"))
    expect(page.get_by_role("heading", name="Version 1", exact=False)).to_be_visible()


WIDE = [f"metric_{at:03}_of_sensor" for at in range(300)]


def wide_table(root: Path, num_rows: int = 2) -> LogFolder:
    """A table of 300 columns."""
    log, names = LogFolder(root), WIDE
    rows = [1.5 + at for at in range(num_rows)]
    pq.write_table(pa.table(dict.fromkeys(names, rows)), log.root / "a.parquet")
    fields = [{"name": n, "type": "double", "nullable": True, "metadata": {}} for n in names]
    table = metadata()
    table["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    size = (log.root / "a.parquet").stat().st_size
    log.commit(0, [PROTOCOL, table, add("a.parquet", size=size)])
    return log


@pytest.mark.parametrize(
    ("where", "height"), [("", 768), (f"{WIDE[0]} > 1", 768), (f"{WIDE[0]} > 1", 980)]
)
def test_the_scroll_bars_of_300_columns_are_in_sight(
    page: Page, server: Server, tmp_path: Path, where: str, height: int
) -> None:
    log = wide_table(tmp_path / "wide", num_rows=120)
    page.set_viewport_size({"width": 1440, "height": height})
    page.goto(server.address(table=log.root, view="rows", where=where))
    grid = page.locator(".dx-grid")
    expect(grid.locator("tbody tr").nth(20)).to_be_attached()
    box = grid.bounding_box() or {}
    assert box["height"] >= 240
    assert box["y"] + box["height"] <= height


def test_the_button_of_a_pinned_column_has_its_own_room(
    page: Page, server: Server, tmp_path: Path
) -> None:
    names, log = WIDE, wide_table(tmp_path / "wide")
    chosen = urlencode({"by": names[3], "pinned": names[3]})
    page.goto(server.address(table=log.root, view="rows", rows=chosen))
    head = page.locator("th.dx-pinned")
    expect(head).to_have_attribute("title", names[3])
    name = head.locator(".dx-sort").bounding_box() or {}
    pin = head.locator(".dx-pin").bounding_box() or {}
    edge = head.bounding_box() or {}
    assert name["x"] + name["width"] + 10 <= pin["x"]  # the arrow stands between them
    assert pin["x"] + pin["width"] <= edge["x"] + edge["width"]
    expect(page.get_by_role("button", name="Show all columns")).to_have_count(0)
