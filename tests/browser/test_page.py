"""The page in a real browser, from opening a table to its last view."""

from __future__ import annotations

import csv
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, Guard, Server, serving
from tests.tables import PROTOCOL, LogFolder, add, metadata

# each loads a page of its own; what it shows, the unit tests of its screen hold too
pytestmark = pytest.mark.turns(one_in=5)

SELECTED = "tr[aria-current=true]"


def query(page: Page) -> dict[str, str]:
    """What the page's address says."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def open_shop(page: Page, server: Server, shop: Path, **where: object) -> None:
    page.goto(server.address(table=shop, **{"view": "timeline", **where}))
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible()


def go_to(page: Page, view: str) -> None:
    page.locator("nav").get_by_text(view, exact=True).click()


def test_a_table_of_the_corpus_opens_with_its_figures(
    page: Page, server: Server, corpus: Path
) -> None:
    page.goto(server.address(table=corpus / "tables" / "spark44-cdf-all-operations"))
    figures = page.locator(".dx-figure")
    expect(figures).to_have_count(5)
    expect(figures.nth(0)).to_contain_text("8")
    expect(page).to_have_url(re.compile("view=overview"))
    expect(figures.nth(2)).to_contain_text("7")
    expect(figures.nth(3)).to_contain_text("36")
    expect(figures.nth(3)).to_contain_text("9 soft-deleted")
    expect(page.get_by_text("reader 3 · writer 7")).to_be_visible()


@pytest.mark.daily
def test_the_address_holds_table_version_and_view(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop)
    expect(page).to_have_url(re.compile("version=74"))
    page.locator("tr[data-do=select]").nth(5).click()
    expect(page).to_have_url(re.compile("version=69"))
    go_to(page, "Files")
    expect(page).to_have_url(re.compile("view=files"))
    assert query(page) == {"table": str(shop), "version": "69", "view": "files"}
    page.reload()
    expect(page.get_by_role("heading", name="Files of version 69")).to_be_visible()
    expect(page).to_have_url(re.compile("view=files"))
    assert query(page) == {"table": str(shop), "version": "69", "view": "files"}


def test_the_back_button_goes_back(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop, version=70)
    expect(page.get_by_text("Version 70", exact=False).first).to_be_visible()
    go_to(page, "Log")
    expect(page.get_by_text("_last_checkpoint", exact=True)).to_be_visible()
    expect(page).to_have_title(f"Log · shop_orders ({shop.name}) · Delta Explorer")
    page.get_by_label("Filter log files").fill("checkpoint")
    expect(page).to_have_url(re.compile("log=text%3Dcheckpoint"))
    page.reload()
    expect(page.get_by_label("Filter log files")).to_have_value("checkpoint")
    page.go_back()
    expect(page.get_by_label("Filter log files")).to_have_value("")
    page.go_back()
    expect(page).to_have_url(re.compile("view=timeline"))
    expect(page.get_by_text("Commit timeline")).to_be_visible()
    expect(page).to_have_title(f"Timeline · shop_orders ({shop.name}) · Delta Explorer")


@pytest.fixture
def two(corpus: Path, tmp_path: Path, guard: Guard) -> Iterator[Server]:
    """A server of two tables, so that there is a list to choose from."""
    names = ["spark44-clustering", "spark44-cdf-all-operations"]
    with serving([str(corpus / "tables" / name) for name in names], tmp_path) as server:
        guard.origin = server.origin
        yield server


def choose(page: Page, table: str) -> Locator:
    """Open a table of the list; its title."""
    page.locator("tr", has_text=table).first.click()
    title = page.locator("h1", has_text=table)
    expect(title).to_be_visible()
    return title


def expect_list(page: Page, server: Server) -> None:
    expect(page.get_by_role("textbox", name="Path or URL of a table")).to_be_visible()
    expect(page.locator("tr", has_text="spark44-clustering").first).to_be_visible()
    expect(page).to_have_url(server.address())
    expect(page).to_have_title("Tables · Delta Explorer")


def test_back_from_a_table_leads_to_the_list_that_it_was_opened_from(
    page: Page, two: Server
) -> None:
    page.goto(two.address())
    found = page.get_by_label("Filter the tables")
    found.fill("operations")
    expect(page).to_have_url(re.compile("tables=text%3Doperations"))
    title = choose(page, "spark44-cdf-all-operations")
    go_to(page, "Files")
    expect(page).to_have_url(re.compile("view=files"))
    page.go_back()
    expect(page).to_have_url(re.compile("view=overview"))
    page.go_back()
    expect(found).to_have_value("operations")
    expect(page.locator("tr", has_text="spark44-clustering")).to_have_count(0)
    page.go_back()
    expect_list(page, two)
    page.go_forward()
    expect(found).to_have_value("operations")
    expect(title).to_have_count(0)
    page.go_forward()
    expect(title).to_be_visible()
    go_to(page, "Timeline")
    expect(page.get_by_text("The log has 9 commits.")).to_be_visible()
    expect(page.locator(".bk-Figure").first).to_be_visible()
    assert query(page)["table"].endswith("spark44-cdf-all-operations")


def test_back_and_forward_between_a_list_and_its_tables_may_be_faster_than_the_page(
    page: Page, two: Server
) -> None:
    page.goto(two.address())
    choose(page, "spark44-cdf-all-operations")
    page.go_back()
    page.go_forward()
    page.go_back()
    expect_list(page, two)
    choose(page, "spark44-clustering")
    expect(page).to_have_url(re.compile("spark44-clustering.*view=overview"))
    page.go_back()
    page.go_forward()
    expect(page.locator("h1", has_text="spark44-clustering")).to_be_visible()
    expect(page).to_have_url(re.compile("spark44-clustering.*view=overview"))
    page.go_back()
    expect_list(page, two)


def test_the_list_shows_what_is_wrong_on_a_narrow_page(
    page: Page, guard: Guard, tmp_path: Path
) -> None:
    sound, odd = (LogFolder(tmp_path / name) for name in ("sound", "odd_numbers"))
    for log in (sound, odd):
        log.commit(0, [PROTOCOL, metadata(), add("a.parquet")])
    odd.write("12.json", "{}")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    with serving([str(sound.root), str(odd.root)], tmp_path) as server:
        guard.origin = server.origin
        page.goto(server.address())
        row = page.locator("tr", has_text="odd_numbers").first
        expect(row.get_by_text(re.compile("warning:|error:"))).to_be_visible()
        place = page.locator(".dx-scroll").first
        # once the fonts of the page are there
        fits = "one => one.scrollWidth <= one.clientWidth && one.dataset.more === undefined"
        page.wait_for_function(fits, arg=place.element_handle())


def test_a_page_that_is_loaded_again_is_one_entry_and_its_first_step_another(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    expect(page).to_have_url(re.compile("version=74&view=timeline"))
    entries = page.evaluate("history.length")
    page.reload()
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible()
    expect(page).to_have_url(re.compile("version=74&view=timeline"))
    assert page.evaluate("history.length") == entries
    go_to(page, "Log")
    expect(page).to_have_url(re.compile("view=log"))
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    expect(page).to_have_url(re.compile("view=timeline"))
    expect(page.get_by_text("Commit timeline")).to_be_visible()


def test_a_commit_is_selected_by_mouse_and_stepped_by_keyboard(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    page.locator("tr[data-do=select]").nth(8).click()
    expect(page.locator(SELECTED).locator("td").first).to_have_text("66")
    expect(page.locator(".dx-version")).to_contain_text("Version 66")
    expect(page.locator(".dx-badge")).to_have_text("MERGE")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".dx-version")).to_contain_text("Version 65")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Newer commit").click()
    expect(page.locator(".dx-version")).to_contain_text("Version 67")


def test_links_of_a_list_are_gone_through_by_the_keyboard(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="log")
    links = page.get_by_role("table", name="Files of the log").locator("tbody a")
    expect(links.nth(2)).to_be_visible()
    links.nth(0).focus()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(1)).to_be_focused()
    # within a field they are letters
    field = page.get_by_role("searchbox", name=re.compile("ilter"))
    field.press_sequentially("jk")
    expect(field).to_have_value("jk")


def test_what_the_overview_lists_is_gone_through_by_the_keyboard(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="overview")
    commits = page.locator(".dx-told a")
    expect(commits.nth(2)).to_be_visible()
    commits.nth(0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(commits.nth(2)).to_be_focused()
    steps = page.locator(".dx-steps-first > li")
    expect(steps.nth(1)).to_be_visible()
    steps.nth(0).get_by_role("button").first.focus()
    page.keyboard.press("j")
    expect(steps.nth(1).get_by_role("button").first).to_be_focused()


def test_a_row_is_reached_and_chosen_with_the_keyboard_alone(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_label("Show users")).to_be_visible()
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    page.get_by_role("searchbox", name="Filter commits").focus()
    for _ in range(20):  # operations, engines, users, and the heads that sort
        page.keyboard.press("Tab")
        if page.locator("tr[data-do=select]:focus").count():
            break
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator(SELECTED).locator("td").first).to_have_text("73")


def test_typing_in_a_filter_does_not_step_through_commits(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    page.get_by_role("searchbox", name="Filter commits").fill("merge")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("tr[data-do=select]")).to_have_count(4)
    assert query(page)["version"] == "74"


def test_actions_stand_with_the_log_file_and_line(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop, version=66)
    page.get_by_role("button", name="Show actions").click()
    page.locator("tr[data-do=line]").nth(1).click()
    expect(page.get_by_text("00000000000000000066.json, line 2")).to_be_visible()
    page.get_by_role("button", name="Raw JSON").first.click()
    expect(page.get_by_label("Raw lines of the log file")).to_contain_text('{"commitInfo"')


def test_files_are_turned_sorted_filtered_opened_and_exported(
    page: Page, server: Server, shop: Path, tmp_path: Path
) -> None:
    open_shop(page, server, shop, view="files")
    pager = page.locator(".dx-pager > span")
    expect(pager).to_have_text(re.compile("^1–25 of 138"))
    page.get_by_role("button", name="Next page").click()
    expect(pager).to_have_text(re.compile("^26–50 of 138"))
    page.get_by_role("button", name="Size", exact=True).click()
    expect(pager).to_have_text(re.compile("^1–25 of 138"))
    expect(page.locator("th[aria-sort=descending]")).to_have_text("Size")
    page.get_by_role("searchbox", name="Filter files").fill("country=SE")
    expect(pager).not_to_have_text(re.compile("of 138"))
    page.locator("tr[data-do=file]").first.click()
    expect(page.get_by_text("Rows that are live")).to_be_visible()
    expect(page.get_by_role("cell", name="order_id")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    target = tmp_path / "files.csv"
    download.value.save_as(target)
    rows = list(csv.DictReader(target.open(encoding="utf-8", newline="")))
    assert rows
    assert all("country=SE" in row["partition"] for row in rows)


def test_the_protocol_view_tells_since_when_and_by_which_commit(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="protocol")
    feature = page.locator("tr", has=page.get_by_text("columnMapping", exact=True))
    expect(feature).to_contain_text("active")
    expect(feature).to_contain_text(re.compile(r"version \d+"))
    expect(page.get_by_text("delta.enableDeletionVectors")).to_be_visible()


def test_the_schema_view_tells_columns_and_which_files_hold_them(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, view="schema")
    expect(page.get_by_role("cell", name="order_id").first).to_be_visible()
    page.get_by_role("button", name="Read the footers of the files").click()
    expect(page.get_by_text(re.compile("files that were read"))).to_be_visible()


def test_the_log_view_names_the_kinds_of_files(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop, view="log")
    expect(page.get_by_text("commit 75")).to_be_visible()
    page.get_by_role("searchbox", name="Filter log files").fill("_last_checkpoint")
    expect(page.get_by_text("points to version 70")).to_be_visible()


def test_a_range_is_chosen_and_the_plot_keeps_up(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    page.get_by_role("button", name="7 d", exact=True).click()
    pressed = page.locator("button[data-do=range][aria-pressed=true]")
    expect(pressed).to_have_text("7 d")
    page.get_by_role("button", name="Zoom in").click()
    expect(pressed).to_have_count(0)
    expect(page.get_by_role("img", name=re.compile("Commits by operation"))).to_be_visible()


GROW_HTML = """async () => {
  const plots = Bokeh.Models.get("Figure").prototype.default_view.prototype
  const measure = plots._measure_layout
  let num_layouts = 0, num_grown = 0
  plots._measure_layout = function () { num_layouts += 1; measure.call(this) }
  const found = []
  const walk = (view) => {
    if (view.model.type === "Figure") { found.push(view) }
    if (view.model.class_name === "LiveHtml" && view.el.clientHeight > 0) {
      view.container.style.minHeight = `${view.el.clientHeight + 40}px`
      num_grown += 1
    }
    for (const child of view.child_views ?? []) { walk(child) }
  }
  for (const view of Bokeh.index.roots) { walk(view) }
  await new Promise((resolve) => setTimeout(resolve, 500))
  const fits = found.map((view) => [view.el.clientHeight, view.canvas.el.clientHeight])
  return [num_grown, num_layouts / found.length, fits]
}"""


def test_html_that_grows_does_not_lay_the_plots_out_anew(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()
    expect(page.get_by_role("button", name="Show actions")).to_be_visible()
    num_grown, num_layouts, fits = page.evaluate(GROW_HTML)
    assert num_grown > 8
    assert num_layouts <= 3  # of the columns that hold them
    assert len(fits) == 4
    assert all(place == canvas > 0 for place, canvas in fits)


def test_a_tap_on_a_mark_selects_its_commit(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    lanes = page.get_by_role("img", name=re.compile("Commits by operation"))
    expect(lanes).to_be_visible()
    box = lanes.bounding_box()
    assert box is not None
    before = page.url
    # Two runs of OPTIMIZE stand in the fifth lane, large, for they touch many files.
    for step in range(60):
        page.mouse.click(box["x"] + 95 + step * (box["width"] - 110) / 60, box["y"] + 115)
        page.wait_for_timeout(40)
        if page.url != before:
            break
    expect(page.locator(".dx-badge")).to_contain_text("OPTIMIZE")


def test_a_wrong_version_and_view_become_a_notice_and_are_rewritten(
    page: Page, server: Server, shop: Path
) -> None:
    open_shop(page, server, shop, version=9999, view="nonsense")
    notice = page.locator(".dx-notice")
    expect(notice).to_contain_text("9,999")
    expect(notice).to_contain_text("nonsense")
    expect(page).to_have_url(re.compile("version=74&view=overview"))
    notice.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)


def test_a_wrong_table_becomes_a_notice_and_the_start_page(page: Page, server: Server) -> None:
    page.goto(server.address(table="/nowhere/at/all?x=1?y"))
    expect(page.get_by_role("alert")).to_contain_text("There is no table at /nowhere/at/all")
    expect(page.locator(".dx-waiting")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Path or URL of a table")).to_be_visible()
    assert "table" not in query(page)


def test_a_pasted_table_opens_and_is_kept_among_the_recent_ones(
    page: Page, server: Server, shop: Path, corpus: Path
) -> None:
    open_shop(page, server, shop)
    other = corpus / "tables" / "spark44-clustering"
    field = page.get_by_label("Open another table")
    field.fill(str(other))
    field.press("Enter")
    expect(page.locator("h1")).to_have_text("spark44-clustering")
    expect(page).to_have_url(re.compile("spark44-clustering"))
    assert query(page)["table"] == str(other)
    page.get_by_role("combobox", name="Table").select_option("shop")
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible()


def test_a_refused_table_shows_its_protocol_and_history(
    page: Page, server: Server, corpus: Path
) -> None:
    page.goto(server.address(table=corpus / "tables" / "golden-deltalog-invalid-protocol-version"))
    expect(page.locator(".dx-notice")).to_contain_text("its files are not")
    expect(page.locator(".dx-figure").nth(2)).to_contain_text("unknown")
    go_to(page, "Timeline")
    expect(page.locator("tr[data-do=select]").first).to_be_visible()
    go_to(page, "Features")
    expect(page.get_by_text("Readers need version 99")).to_be_visible()


def test_the_theme_is_toggled_and_the_plot_follows(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop)
    root = page.locator(".dx-page")
    light = root.evaluate("element => getComputedStyle(element).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator(".dx-page.dx-dark")).to_be_visible()
    dark = root.evaluate("element => getComputedStyle(element).backgroundColor")
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(15, 18, 23)")
    expect(page.get_by_role("img", name=re.compile("Commits by operation"))).to_be_visible()


def test_a_narrow_page_does_not_scroll_sideways(page: Page, server: Server, shop: Path) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    open_shop(page, server, shop)
    for view, sign in (
        ("Timeline", "Commit timeline"),
        ("Files", "Files of version 74"),
        ("Features", "Table features"),
        ("Log", "Log files"),
    ):
        go_to(page, view)
        expect(page.get_by_text(sign).first).to_be_visible()
        width = page.evaluate("document.documentElement.scrollWidth")
        inner = page.locator("main").evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert width <= NARROW["width"], view
        assert inner[0] <= inner[1], view


def test_the_page_asks_nobody_but_its_own_server(
    page: Page, server: Server, shop: Path, guard: Guard
) -> None:
    open_shop(page, server, shop)
    expect(page.get_by_text("The log has 75 commits.")).to_be_visible()
    assert guard.foreign == []
    assert len(guard.requests) > 5  # the page, its scripts, its fonts


def test_landmarks_and_headings_are_there(page: Page, server: Server, shop: Path) -> None:
    open_shop(page, server, shop)
    for role in ("banner", "navigation", "main"):
        expect(page.get_by_role(role).first).to_be_visible()
    expect(page.get_by_role("heading", name="shop_orders")).to_be_visible()
    # the first stop of the keyboard leads past all of it
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the view")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page).to_have_title(f"Timeline · shop_orders ({shop.name}) · Delta Explorer")


@pytest.mark.daily
def test_other_pages_may_not_frame_this_one(server: Server) -> None:
    with urllib.request.urlopen(server.address()) as answer:
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
