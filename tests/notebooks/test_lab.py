"""The explorer in JupyterLab, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.demo_story import AUTUMN, copy_demo
from tests.browser.chromium import WAIT_MS
from tests.notebooks.lab import Lab, running
from tests.notebooks.test_notebooks import export, look

# a kernel and a page of JupyterLab for each: one of them shows that it works there
pytestmark = pytest.mark.turns(one_in=2)

SHOW = "from widgets import TableExplorer\nTableExplorer('orders')"
GONE = "The kernel has not answered for some seconds."
PICTURE = "No kernel answers here"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    copy_demo(folder / "orders", AUTUMN)
    with running(folder, tmp_path_factory.mktemp("home")) as started:
        yield started


def outputs(page: Page) -> Locator:
    """What each cell shows; its code is not among it."""
    return page.locator(".jp-OutputArea-output:has(.dx-page)")


def test_the_first_and_only_cell_shows_a_live_explorer_until_its_kernel_is_gone(
    browser: Browser, lab: Lab, tmp_path: Path
) -> None:
    lab.write("one.ipynb", SHOW)
    page, guard = lab.run(browser, "one.ipynb")
    shown = outputs(page)
    expect(shown.locator("h1", has_text="shop_orders")).to_be_visible(timeout=2 * WAIT_MS)
    shown.locator("nav button", has_text="Timeline").click()
    expect(shown.get_by_text("The log has 75 commits.")).to_be_visible()
    expect(shown.get_by_role("img", name=re.compile("Commits by operation"))).to_be_visible()

    # sized to the cell: nothing sticks out to the side
    assert shown.evaluate("area => area.scrollWidth <= area.clientWidth")
    assert shown.evaluate("area => area.clientWidth") > 1000

    # a kernel answers, so there is no note, also when the waits for it are over
    shown.locator("nav button", has_text="Files").click()
    expect(shown.get_by_text("Files of version 74")).to_be_visible()
    page.wait_for_timeout(6000)
    expect(shown.get_by_text(PICTURE)).to_have_count(0)
    expect(shown.locator("button.dx-find")).to_be_enabled()
    expect(shown.get_by_text(GONE)).to_have_count(0)

    # saved, it is a page of its own, as the cell left it
    saved = lab.save(page, "one.ipynb")
    picture, watched = look(browser, export(saved, tmp_path / "page.html"))
    expect(picture.get_by_text(PICTURE)).to_be_visible()
    expect(picture.get_by_text(f"delta-explorer serve {lab.folder}/orders")).to_be_visible()
    expect(picture.locator(".dx-figure").nth(2)).to_contain_text("138")
    expect(picture.locator("button.dx-find")).to_be_disabled()
    assert watched.foreign == []
    assert watched.errors == []
    picture.close()

    lab.end_kernels()
    shown.locator("nav button", has_text="Health").click()
    expect(shown.get_by_text(GONE)).to_be_visible()
    expect(shown.get_by_text(f"delta-explorer serve {lab.folder}/orders")).to_be_visible()
    assert guard.foreign == []
    assert guard.errors == []
    page.close()


def test_several_explorers_of_one_notebook_stay_apart_and_take_the_theme_of_the_lab(
    browser: Browser, lab: Lab
) -> None:
    lab.use_theme("JupyterLab Dark")
    lab.write("several.ipynb", SHOW, "TableExplorer('orders', version=12)")
    page, guard = lab.run(browser, "several.ipynb")
    first, second = outputs(page).nth(0), outputs(page).nth(1)
    expect(first.locator(".dx-versions summary")).to_contain_text("74 latest")
    expect(second.locator(".dx-versions summary")).to_contain_text("12")
    expect(first.locator(".dx-dark.dx-framed")).to_be_visible()
    expect(second.locator(".dx-dark.dx-framed")).to_be_visible()

    second.locator("nav button", has_text="Features").click()
    expect(second.get_by_text("Table features").first).to_be_visible()
    first.get_by_role("button", name="Older version").click()
    expect(first.locator(".dx-versions summary")).to_contain_text("73")
    second.locator("nav button", has_text="Timeline").click()
    expect(second.get_by_role("heading", name="Version 12")).to_be_visible()
    assert guard.foreign == []
    assert guard.errors == []
    page.close()
