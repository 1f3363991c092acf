"""Clicks from a question to its answer, counted; and the main way by the keyboard alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import NARROW, Guard, Server, serving
from tests.browser.keeper import NAME, Keeper, keeping, unlock, unlocked_page
from tests.tables import PROTOCOL, LogFolder, add, metadata

# what stands on the screens, unit tests hold
pytestmark = pytest.mark.turns(one_in=3)


class Hand:
    """Clicks, and counts them."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, part: Locator) -> None:
        part.click()
        self.clicks += 1


def test_who_deleted_my_rows_takes_two_clicks(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, view="timeline"))
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    hand = Hand()
    hand.click(page.get_by_role("searchbox", name="Filter commits"))
    page.keyboard.type("customer_id")
    expect(page.locator("tr[data-do=select]")).to_have_count(4)
    hand.click(page.locator("tr[data-do=select]").first)
    expect(page.locator(".dx-sentence-of-commit")).to_have_text(
        re.compile(r"^ben\.osei deleted \d+ rows where customer_id is between \d+ and \d+\.$")
    )
    expect(page.locator(".dx-rows tbody tr").first).to_contain_text("deleted")
    assert hand.clicks == 2


def test_which_commit_hid_a_row_takes_two_clicks(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, version=74, view="vectors"))
    hand = Hand()
    hand.click(page.locator("tr[data-do=file]").first)
    commits = page.get_by_role("table", name="Commits that hid rows of the file")
    hand.click(commits.locator("tr[data-do=by]").first)
    expect(commits.locator("tr[aria-current=true]")).to_have_count(1)
    assert hand.clicks == 2


def test_the_main_way_is_gone_by_the_keyboard_alone(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, view="timeline"))
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    page.get_by_role("searchbox", name="Filter commits").focus()
    page.keyboard.type("customer_id")
    expect(page.locator("tr[data-do=select]")).to_have_count(4)
    page.locator("tr[data-do=select]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".dx-sentence-of-commit")).to_contain_text("ben.osei deleted 21 rows")
    # what was selected is the next stop after its list; of several pages, see below
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Open alone")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=commit"))
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".dx-version")).not_to_contain_text("Version 58")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    expect(page.locator(".dx-sentence-of-commit")).to_be_visible()
    expect(page.get_by_text("Commit timeline")).to_be_hidden()  # it is alone here, too


@pytest.mark.parametrize(
    "view", ["timeline", "files", "vectors", "layout", "engines", "statistics", "rows"]
)
def test_what_was_selected_is_the_next_stop_after_its_list(
    page: Page, server: Server, shop: Path, view: str
) -> None:
    """Also after a list of several pages."""
    page.goto(server.address(table=shop, version=74, view=view))
    following = page.get_by_role("button", name="Next page")
    if view != "statistics":  # one of columns that are all on one page
        expect(following).to_be_visible()
        assert view in {"layout", "engines"} or following.is_enabled()
    page.locator("main tr[data-do]").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator("main tr[aria-current]").first).to_be_focused()
    expect(page.locator("[data-detail]")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("[data-detail] :is(a, button):visible").first).to_be_focused()


def test_a_list_that_is_read_again_keeps_the_focus_where_it_was(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop, version=74, older=65, view="feed"))
    rows = page.locator("main tr[data-do=one]")
    expect(rows.nth(1)).to_be_visible()
    chosen = rows.nth(1).get_attribute("data-value")
    rows.nth(1).focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(page.locator(f"main tr[data-value='{chosen}']")).to_be_focused()


def test_no_plot_is_a_stop_without_a_name(page: Page, server: Server, shop: Path) -> None:
    page.goto(server.address(table=shop, view="timeline"))
    expect(page.locator("canvas").first).to_be_visible()
    page.get_by_role("button", name="All", exact=True).focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="All", exact=True)).not_to_be_focused()
    assert page.locator(".bk-events:focus").count() == 0
    expect(page.locator(".bk-events[tabindex='0']")).to_have_count(0)


def tab_to(page: Page, part: Locator) -> None:
    """Press Tab until a part has the focus."""
    expect(part).to_be_visible()
    for _ in range(80):
        if part.evaluate("e => e.getRootNode().activeElement === e"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("the Tab key does not lead there")


def test_an_engineer_comes_from_a_slow_table_to_its_plan_by_the_keyboard_alone(
    page: Page, server: Server, shop: Path
) -> None:
    page.goto(server.address(table=shop))
    tab_to(page, page.get_by_role("button", name="Plan Optimize (compaction)"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("view=maintenance"))
    expect(page.locator(".dx-consequence")).to_contain_text("files")


def test_an_owner_finds_the_table_that_needs_care_by_the_keyboard_alone(
    page: Page, guard: Guard, shop: Path, tmp_path: Path
) -> None:
    for number in range(30):
        log = LogFolder(tmp_path / "lake" / f"table_{number:02}")
        log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    shutil.copytree(shop, tmp_path / "lake" / "shop_orders")
    with serving(sorted(map(str, (tmp_path / "lake").iterdir())), tmp_path) as running:
        guard.origin = running.origin
        page.goto(running.address())
        tab_to(page, page.get_by_role("button", name=re.compile("small files")))
        page.keyboard.press("Enter")
        rows = page.locator("main tbody tr[data-do]")
        expect(rows).to_have_count(1)
        tab_to(page, rows.first)
        page.keyboard.press("Enter")
        expect(page.locator("h1", has_text="shop_orders")).to_be_visible()
        expect(page.get_by_role("button", name="Plan Optimize (compaction)")).to_be_visible()


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeper]:
    with keeping(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def keepers_page(browser: Browser, keeper: Keeper) -> Iterator[Page]:
    cookies: Any = unlock(browser, keeper)
    with unlocked_page(browser, keeper, cookies) as opened:
        yield opened


def test_a_wrong_version_is_taken_back_by_three_clicks_and_the_name(
    keepers_page: Page, keeper: Keeper, shop: Path, tmp_path: Path
) -> None:
    page, table = keepers_page, tmp_path / "shop_orders"
    shutil.copytree(shop, table)
    page.goto(keeper.address(table, view="timeline"))
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    hand = Hand()
    hand.click(page.locator("tr[data-do=select]").nth(4))
    hand.click(page.get_by_role("button", name="Restore to before this commit"))
    expect(page.locator(".dx-consequence")).to_contain_text(re.compile(r"rows"))
    expect(page.locator("[data-do=approve]")).to_be_disabled()
    expect(page.locator(".dx-consequence")).to_be_focused()
    page.keyboard.type("shop_orders")
    expect(page.get_by_label(NAME)).to_have_value("shop_orders")
    expect(page.get_by_label("Reason (optional)")).to_have_value("")
    hand.click(page.locator("[data-do=approve]"))
    expect(page.locator(".dx-outcome")).to_contain_text("Everything was done as planned.")
    assert hand.clicks == 3
