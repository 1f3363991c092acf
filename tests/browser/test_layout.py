"""The layout of a table in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server


def test_sizes_partitions_and_each_optimize_are_shown(
    page: Page, server: Server, shop: Path
) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=shop, version=74, view="layout"))
    expect(page.get_by_text("138 of 138 files are below the target", exact=False)).to_be_visible()
    sizes = page.locator("figure", has=page.get_by_role("img", name="Files by size", exact=False))
    for label in ("size of a file", "files"):
        expect(sizes.get_by_text(label, exact=True)).to_be_visible()
    expect(sizes).to_contain_text(re.compile(r"\d KiB"))
    map_of_bytes = page.get_by_role("img", name="Bytes by partition")
    expect(map_of_bytes).to_contain_text("country=DE")
    row = page.locator("tr[data-do=version]", has_text="119 → 6")
    row.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=compare"))
    expect(page.get_by_text("From version 48 to 49:", exact=False)).to_be_visible()
