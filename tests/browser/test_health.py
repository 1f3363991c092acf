"""The health of a log in a real browser."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, Server


def test_what_is_wrong_stands_with_its_evidence_and_its_repair(
    page: Page, server: Server, shop: Path, tmp_path: Path
) -> None:
    sick = tmp_path / "sick"
    shutil.copytree(shop, sick)
    (sick / "_delta_log" / "_last_checkpoint").write_text("{")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto(server.address(table=sick, view="health"))
    expect(page.get_by_text("repair hint", exact=True)).to_be_visible()
    page.get_by_role("button", name="Look at the files too").click()
    expect(page.get_by_role("button", name="Look at the files too")).to_have_count(0)
    expect(page.get_by_role("table", name="Log files by kind")).to_be_visible()
    page.get_by_role("button", name="Plan repair hint").click()
    expect(page).to_have_url(re.compile("view=maintenance"))
