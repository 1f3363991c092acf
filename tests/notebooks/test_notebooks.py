"""Notebooks run from a clean kernel, and their pages are looked at in a browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Page, expect
from traitlets.config import Config

from tests.interop.spark_session import QUICK_JVM
from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import Guard
from tests.tables import PROTOCOL, LogFolder, add, metadata

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
KERNEL_SECONDS = 180

COMMITS = {"maintain_a_table": 78}
"""How many commits the explorer of a notebook ends with, where it is not the demo's number."""

TOLD = {
    "a_table_got_slow": [
        "'files': 138, 'read': 9",
        "Version 74 opens from the checkpoint of version 70 and 4 commits",
        "138 of 138 files are below the target",
        "as about 6 files",
    ],
    "maintain_a_table": [
        "Writes a classic checkpoint of version 74",
        "Permanently deletes 285 files",
        "Restores version 60",
        "63 files of version 12 are gone",
        "('completed', True)",
        "(77, True)",
        "('vacuum', 'completed'),",
    ],
}
"""What the prose of a notebook says of its table, in the words of the outputs."""


def run(notebook: nbformat.NotebookNode, folder: Path, **environment: str) -> nbformat.NotebookNode:
    """The notebook with its outputs, from a kernel that nobody has used."""
    client = NotebookClient(
        notebook,
        timeout=KERNEL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "IPYTHONDIR": str(folder),
            "JDK_JAVA_OPTIONS": QUICK_JVM,
            **environment,
        }
    )
    return notebook


def printed(notebook: nbformat.NotebookNode) -> str:
    """All that the cells of a notebook printed or returned, as plain text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs)


def export(notebook: nbformat.NotebookNode, target: Path) -> Path:
    """The page of a notebook, without what the exporter itself would fetch."""
    exporter = HTMLExporter(
        config=Config(
            {"HTMLExporter": {"require_js_url": "", "mathjax_url": "", "mermaid_js_url": ""}}
        )
    )
    html, _ = exporter.from_notebook_node(notebook)
    target.write_text(html, encoding="utf-8")
    return target


def look(browser: Browser, file: Path) -> tuple[Page, Guard]:
    guard = Guard(file.as_uri())
    page = browser.new_page(viewport={"width": 1300, "height": 1400})
    page.set_default_timeout(WAIT_MS)
    guard.watch(page)
    page.goto(file.as_uri())
    return page, guard


def single(code: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_explorer(
    browser: Browser,
    path: Path,
    tmp_path: Path,
) -> None:
    done = run(nbformat.read(path, as_version=4), tmp_path)
    outputs = printed(done)
    assert [text for text in TOLD.get(path.stem, []) if text not in outputs] == []
    page, guard = look(browser, export(done, tmp_path / "page.html"))
    expect(page.locator("h1", has_text="shop_orders")).to_be_visible()
    expect(page.locator(".dx-figure").nth(4)).to_contain_text("commit")
    latest = COMMITS.get(path.stem, 75) - 1
    expect(page.locator(".dx-versions summary")).to_contain_text(f"{latest} latest")
    expect(page.get_by_text("No kernel answers here")).to_be_visible()
    assert guard.foreign == []
    assert guard.errors == []
    page.close()


@pytest.mark.daily
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """Outputs would be megabytes in every change; the test makes them anew."""
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.turns(one_in=3)
def test_the_explorer_is_a_first_and_only_cell(browser: Browser, tmp_path: Path) -> None:
    evil = "<img src=/evil onerror=window.ran=1>"
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [{"commitInfo": {"operation": evil}}, PROTOCOL, metadata(name=evil), add("a")])
    done = run(single("from widgets import TableExplorer\nTableExplorer('orders')"), tmp_path)
    page, guard = look(browser, export(done, tmp_path / "page.html"))
    expect(page.locator("h1", has_text="onerror")).to_be_visible()
    expect(page.locator(".dx-figure").nth(2)).to_contain_text("1")
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    assert guard.foreign == []
    assert guard.errors == []
    page.close()


@pytest.mark.turns(one_in=3)
def test_a_cell_on_a_place_without_a_table_says_so(browser: Browser, tmp_path: Path) -> None:
    done = run(single("from widgets import TableExplorer\nTableExplorer('nowhere')"), tmp_path)
    page, guard = look(browser, export(done, tmp_path / "page.html"))
    expect(page.get_by_role("alert")).to_contain_text("There is no table at")
    assert guard.errors == []
    page.close()


@pytest.mark.turns(one_in=3)
def test_an_open_table_can_be_explored_and_answers_clicks(tmp_path: Path) -> None:
    """Without a browser: what a click sends reaches the explorer in the kernel."""
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(), add("a")])
    log.commit(1, [add("b")])
    code = (
        "import json, explorer\n"
        "from widgets import TableExplorer\n"
        "page = TableExplorer(explorer.open_table('orders'))\n"
        "page._navigation.panel._handle_msg({'action': 'view', 'value': 'files'})\n"
        "page._note._handle_msg({'ask': 1, 'theme': 'dark'})\n"
        "page._note._handle_msg({'ask': 2, 'theme': 'light'})\n"
        "print(json.dumps([page._state.view, page._state.dark]))\n"
    )
    done = run(single(code), tmp_path)
    said = "".join(o.text for o in done.cells[0].outputs if o.output_type == "stream")
    assert json.loads(said.strip().splitlines()[-1]) == ["files", True]


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(
    ("arguments", "environment", "reason"),
    [
        ("'orders'", {"DATABRICKS_RUNTIME_VERSION": "16.4"}, "A Databricks notebook passes no"),
        ("'orders', live=False", {}, "It was asked for: live=False."),
    ],
    ids=["databricks", "asked for"],
)
def test_where_no_message_passes_a_cell_shows_a_picture_with_the_reason(
    browser: Browser, tmp_path: Path, arguments: str, environment: dict[str, str], reason: str
) -> None:
    """Such hosts put each output into a frame of its own: nothing but this one is there."""
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(name="<i>orders</i>"), add("a")])
    code = f"from widgets import TableExplorer\nTableExplorer({arguments})"
    done = run(single(code), tmp_path, **environment)
    (output,) = done.cells[0].outputs
    alone = tmp_path / "output.html"
    alone.write_text("<!doctype html>" + output.data["text/html"], encoding="utf-8")
    page, guard = look(browser, alone)
    frame = page.frame_locator("iframe")
    expect(frame.locator("h1", has_text="<i>orders</i>")).to_be_visible()
    expect(frame.locator(".dx-figure").nth(2)).to_contain_text("1")
    expect(frame.locator(".dx-notice")).to_contain_text(reason)
    # what would ask the kernel is off, and says why; what the browser does itself is on
    for asking in ("Health: ", "Find"):
        button = frame.get_by_role("button", name=re.compile(f"^{asking}"))
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", "No kernel answers here")
    expect(frame.get_by_role("button", name="PNG")).to_be_enabled()
    expect(frame.get_by_text(f"delta-explorer serve {tmp_path}/orders")).to_be_visible()
    assert guard.foreign == []
    assert guard.errors == []
    page.close()


def test_importing_the_notebook_view_starts_no_server() -> None:
    code = "import widgets.notebook, panel; assert not panel.state._servers"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
