"""Times by the clock of whoever reads, on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import WIDE, Server

INDIA = timedelta(hours=5, minutes=30)


@pytest.fixture
def far(browser: Browser) -> Iterator[Page]:
    """A page of somebody whose clock is five and a half hours ahead."""
    context = browser.new_context(viewport=WIDE, timezone_id="Asia/Kolkata")  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


def test_all_that_is_said_has_local_time_on_demand(far: Page, server: Server, shop: Path) -> None:
    place: dict[str, object] = {"table": str(shop), "version": 63, "view": "commit"}
    far.goto(server.address(**place))
    said = far.get_by_role("paragraph").filter(has_text=re.compile(r"^2026-[0-9-]{5} [0-9:]{8} "))
    expect(said).to_contain_text(" UTC \N{MIDDLE DOT} ")
    utc = said.inner_text()
    far.get_by_role("button", name="UTC", exact=True).click()
    there = datetime.strptime(utc[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) + INDIA
    expect(said).to_contain_text(f"{there:%Y-%m-%d %H:%M:%S} UTC+05:30 \N{MIDDLE DOT} ")
    # so is what is drawn afterwards
    far.goto(server.address(**place))
    expect(said).to_contain_text("UTC+05:30")
    far.get_by_role("button", name="Local time").click()
    expect(said).to_have_text(utc)


@pytest.mark.parametrize(
    ("place", "rows"),
    [
        ({"view": "rows", "version": 63}, ".dx-grid"),
        ({"view": "compare", "version": 63, "older": 62}, ".dx-grid"),
        ({"view": "feed", "version": 63, "older": 63}, ".dx-grid"),
        ({"view": "commit", "version": 63}, ".dx-rows"),
    ],
    ids=lambda given: given["view"] if isinstance(given, dict) else "",
)
def test_instants_of_rows_follow_with_their_titles(
    far: Page, server: Server, shop: Path, place: dict[str, object], rows: str
) -> None:
    far.goto(server.address(table=str(shop), **place))
    value = far.locator(f"{rows} td.dx-instant").filter(has_text=" UTC").first
    expect(value).to_be_visible()
    utc, title = value.inner_text(), value.get_attribute("title")
    far.get_by_role("button", name="UTC", exact=True).click()
    there = datetime.strptime(utc[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) + INDIA
    clock = f"{there:%Y-%m-%d %H:%M:%S}"
    expect(value).to_have_text(re.compile(rf"{clock}(\.\d+)? UTC\+05:30"))
    if title:
        expect(value).to_have_attribute("title", re.compile(rf"^{clock}.* UTC\+05:30$"))
    expect(far.locator(rows).first).not_to_contain_text(re.compile(r"UTC(?!\+)"))
    far.get_by_role("button", name="Local time").click()
    expect(value).to_have_text(utc)
    assert value.get_attribute("title") == title


def test_what_only_looks_like_an_instant_stays_as_it_is_written(
    far: Page, server: Server, shop: Path
) -> None:
    place: dict[str, object] = {"table": str(shop), "version": 63}
    far.goto(server.address(view="rows", **place))
    value = far.locator(".dx-grid td.dx-instant").first
    expect(value).to_contain_text(" UTC")
    far.get_by_role("button", name="UTC", exact=True).click()
    expect(value).to_contain_text("UTC+05:30")
    # a text of the table, drawn among the rows afterwards
    far.evaluate(
        """() => {
          const parts = (node) => [...node.querySelectorAll("*")].flatMap(
            (one) => one.shadowRoot ? [one.shadowRoot, ...parts(one.shadowRoot)] : [])
          const cells = parts(document).flatMap((root) => [...root.querySelectorAll(".dx-grid td")])
          const cell = cells.find((one) => !one.classList.contains("dx-instant"))
          cell.className = "dx-left dx-written"
          cell.textContent = "2026-10-19 09:56 UTC"
          dispatchEvent(new Event("dx-zone-changed"))
        }"""
    )
    expect(far.locator(".dx-written")).to_have_text("2026-10-19 09:56 UTC")


AXES = """() => [...Bokeh.documents.at(-1)._all_models.values()]
  .filter((plot) => plot.type === "Figure" && plot.below[0]?.formatter?.args?.titled)
  .map(({x_range, below: [axis]}) => {
    const {major} = axis.ticker.get_ticks(x_range.start, x_range.end, x_range, NaN)
    return {title: axis.axis_label, at: major, said: axis.formatter.doFormat(major, {loc: 0})}
  })"""
"""What each axis of time says, and of which moments."""


def read_axes(page: Page, ahead: timedelta) -> list[str | None]:
    """The titles of the axes of time; each tick is a midnight of a clock that is so far ahead."""
    found = page.evaluate(AXES)
    for axis in found:
        clock = [datetime.fromtimestamp(at / 1000, UTC) + ahead for at in axis["at"]]
        assert axis["said"] == [f"{day:%Y-%m-%d}" for day in clock]
        assert len(clock) > 1
        assert {(day.hour, day.minute) for day in clock} == {(0, 0)}
    return sorted((axis["title"] for axis in found), key=str)


def test_tooltips_and_axes_of_plots_follow(far: Page, server: Server, shop: Path) -> None:
    far.goto(server.address(table=str(shop), view="timeline"))
    plot = far.get_by_role("img", name="Commits over the whole log")
    expect(plot.locator("canvas").first).to_be_visible()
    box = plot.bounding_box()
    assert box is not None
    told = far.locator(".bk-Tooltip")

    def point() -> str:
        """What is told of a bar, as soon as one is met."""
        for share in range(30, 70, 4):
            for beside in (0, 1):
                across = box["x"] + box["width"] * share / 100 + beside
                far.mouse.move(across, box["y"] + box["height"] * 0.55)
            far.wait_for_timeout(150)
            if told.count():
                said: str = told.first.evaluate("(box) => (box.shadowRoot ?? box).textContent")
                if "Commits" in said:
                    return said
        return ""

    assert " UTC to " in point()
    assert read_axes(far, timedelta(0)) == ["Committed (UTC)", None]
    far.get_by_role("button", name="UTC", exact=True).click()
    assert " UTC+05:30 to " in point()
    assert read_axes(far, INDIA) == ["Committed (local time)", None]
    # so are those that are drawn afterwards
    far.reload()
    expect(plot.locator("canvas").first).to_be_visible()
    far.wait_for_function(f"({AXES})().some(({{title}}) => title === 'Committed (local time)')")
    assert read_axes(far, INDIA) == ["Committed (local time)", None]
    far.get_by_role("button", name="Local time").click()
    assert read_axes(far, timedelta(0)) == ["Committed (UTC)", None]
