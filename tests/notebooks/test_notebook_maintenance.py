"""Maintenance from a notebook: plans always, changes where the cell asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.notebooks.test_notebooks import export, look, run, single
from tests.unit.widgets.orders import Orders

# a kernel for each
pytestmark = pytest.mark.turns(one_in=2)

DRIVE = """
import json, re
from widgets import TableExplorer
from widgets.ui.live_html import LiveHtml

page = TableExplorer({arguments})
page._state.view = "maintenance"

def html():
    return "".join(part.html for part in page._page.select(LiveHtml))

def do(action, value=""):
    for part in page._page.select(LiveHtml):
        if f'data-do="{{action}}"' in part.html:
            part._handle_msg({{"action": action, "value": value}})
            return True
    return False

do("choose", "vacuum")
do("plan", "{{}}")
digest = re.search(r'name="digest" value="([0-9a-f]+)"', html())
asked = do("approve", json.dumps({{"digest": digest and digest[1], "table_name": "orders"}}))
print(json.dumps([asked, "Everything was done" in html(), page._state.latest]))
"""


def said(notebook: Any) -> Any:
    text = "".join(o.text for o in notebook.cells[0].outputs if o.output_type == "stream")
    return json.loads(text.strip().splitlines()[-1])


def test_a_plan_is_carried_out_in_the_kernel(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    code = DRIVE.format(arguments="'orders', maintenance=True")
    done = run(single(code), tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert said(done) == [True, True, 3]
    assert orders.left == 0
    assert len(list((tmp_path / "state/delta-explorer/receipts").iterdir())) == 1


def test_without_being_asked_a_notebook_changes_nothing(browser: Browser, tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    code = DRIVE.format(arguments="'orders'") + "page"
    done = run(single(code), tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    assert said(done)[:2] == [False, False]
    assert orders.left == 30
    page, guard = look(browser, export(done, tmp_path / "page.html"))
    expect(page.locator(".dx-consequence")).to_contain_text("Permanently deletes 30 files")
    expect(page.get_by_text("This page is read-only.")).to_be_visible()
    expect(page.get_by_text("maintenance=True")).to_be_visible()
    assert guard.foreign == []
    assert guard.errors == []
    page.close()
