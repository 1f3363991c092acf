"""Times by the clock of whoever reads, on demand."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.conftest import WIDE, Server
from tests.browser.places import lead


def test_all_that_is_said_has_local_time_on_demand(
    browser: Browser, server: Server, shop: Path
) -> None:
    context = browser.new_context(viewport=WIDE, timezone_id="Asia/Kolkata")  # type: ignore[arg-type]
    page = context.new_page()
    place: dict[str, object] = {"table": str(shop), "version": 63}
    page.goto(server.address(view="commit", **place))
    said = page.get_by_role("paragraph").filter(has_text=re.compile(r"^2026-[0-9-]{5} [0-9:]{8} "))
    expect(said).to_contain_text(" UTC \N{MIDDLE DOT} ")
    utc = said.inner_text()
    page.get_by_role("button", name="UTC", exact=True).click()
    moment = datetime.strptime(utc[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    there = moment + timedelta(hours=5, minutes=30)
    expect(said).to_contain_text(f"{there:%Y-%m-%d %H:%M:%S} UTC+05:30 \N{MIDDLE DOT} ")
    # so is what is drawn afterwards; what rows hold stays as it is
    lead(page, view="rows", **place)
    expect(page.locator(".dx-grid").first).to_contain_text(re.compile(r"[0-9]{2}:[0-9]{2}.* UTC"))
    expect(page.locator(".dx-grid").first).not_to_contain_text("UTC+05:30")
    page.goto(server.address(view="commit", **place))
    expect(said).to_contain_text("UTC+05:30")
    page.get_by_role("button", name="Local time").click()
    expect(said).to_have_text(utc)
    context.close()
