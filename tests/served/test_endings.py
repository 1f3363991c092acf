"""What goes away under a server: the server itself, a store, a table, the disk. Each ends in a
clear message, and the next start is clean."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.served.conftest import Server, wait_for
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.orders import Orders

# each starts and ends servers of its own; the journal's part, tests/faults hold each day
pytestmark = pytest.mark.turns(one_in=3)

# Deleting takes a while on a store; here each file is made to.
SLOWLY = """
import sys, time
from explorer.storage.local import LocalStore
delete = LocalStore.delete
def slowly(store, path):
    time.sleep(0.05)
    delete(store, path)
LocalStore.delete = slowly
from explorer.cli.main import main
sys.exit(main())
"""

# Reading takes a while on a store; here it says when it begins and ends.
READING = """
import sys, time
from pathlib import Path
from widgets.session.tables import TableService
read = TableService.read_overview
def slowly(service):
    Path(__file__).with_name("begun").touch()
    time.sleep(1)
    found = read(service)
    Path(__file__).with_name("ended").touch()
    return found
TableService.read_overview = slowly
from widgets.served import assembly
assembly._STOP_SECONDS = 60  # this machine may be a slow one
from explorer.cli.main import main
sys.exit(main())
"""


@contextlib.contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 980})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(address)
    yield page
    context.close()


def approve_vacuum(page: Page, name: str, count: str) -> None:
    page.locator("button.dx-choice", has_text="Vacuum").first.click()
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_label("Type the table's name").fill(name)
    page.get_by_role("button", name=f"Delete {count} files").click()


class SlowServer(Server):
    """A server on which deleting takes its time."""

    def __init__(self, state: Path, *words: str) -> None:
        script = state / "slowly.py"
        state.mkdir(exist_ok=True)
        script.write_text(SLOWLY)
        super().__init__(state, *words, script=script)


def test_a_server_that_was_killed_at_work_says_so_and_ends_it_the_next_time(
    browser: Browser, tmp_path: Path
) -> None:
    table = Orders(tmp_path, "orders", gone=400)
    state = tmp_path / "state"
    first = SlowServer(state, str(table.root), "--maintenance")
    query = urlencode({"table": str(table.root), "view": "maintenance"})
    with opened(browser, f"{first.link}&view=maintenance") as page:
        approve_vacuum(page, "orders", "400")
        wait_for(lambda: table.left < 390, "the run has begun")
        first.process.kill()
        first.process.wait(60)
    left = table.left
    assert 0 < left < 400
    assert list((state / "delta-explorer" / "receipts").glob("*.json")) == []

    second = Server(state, str(table.root), "--maintenance")
    with opened(browser, f"{second.link}&view=maintenance") as page:
        page.get_by_role("button", name="Plans 1").click()
        page.locator("tr[data-do=open]").first.click()
        page.get_by_label("Type the table's name").fill("orders")
        page.locator(".dx-danger").click()
        expect(page.locator(".dx-outcome")).to_contain_text("done")
    said = second.stop()
    assert f"A plan for {table.root} was interrupted" in said
    assert table.left == 0
    (kept,) = (state / "delta-explorer" / "receipts").glob("*.json")
    assert json.loads(kept.read_text())["status"] == "completed"

    third = Server(state, str(table.root), "--maintenance")
    assert third.ask(f"/?{query}").status == 200
    assert "interrupted" not in third.stop()


def test_a_server_that_is_told_to_stop_ends_a_run_between_two_changes(
    browser: Browser, tmp_path: Path
) -> None:
    table = Orders(tmp_path, "orders", gone=400)
    state = tmp_path / "state"
    server = SlowServer(state, str(table.root), "--maintenance")
    with opened(browser, f"{server.link}&view=maintenance") as page:
        approve_vacuum(page, "orders", "400")
        wait_for(lambda: table.left < 390, "the run has begun")
        said = server.stop()
    assert server.process.returncode == 0
    assert "their receipts say what was done" in said
    (kept,) = (state / "delta-explorer" / "receipts").glob("*.json")
    receipt = json.loads(kept.read_text())
    (deletion,) = (step for step in receipt["steps"] if step["kind"] == "delete_files")
    assert receipt["status"] == "cancelled"
    assert deletion["done"] == 400 - table.left


def test_a_server_that_is_told_to_stop_lets_what_is_being_read_end(tmp_path: Path) -> None:
    """A thread that still reads while Python ends has brought the process down with an abort."""
    table = Orders(tmp_path, "orders")
    script = tmp_path / "state" / "reading.py"
    script.parent.mkdir()
    script.write_text(READING)
    server = Server(script.parent, str(table.root), script=script)
    assert server.ask("/").status == 200
    wait_for(script.with_name("begun").exists, "the table is being read")
    said = server.stop()
    assert script.with_name("ended").exists()
    assert server.process.returncode == 0
    assert "Fatal Python error" not in said


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server on two tables."""
    folder = tmp_path_factory.mktemp("lake")
    for name in ("orders", "events"):
        log = LogFolder(folder / name)
        log.commit(0, [PROTOCOL, metadata(name=name), add("a.parquet", size=10)])
    server = Server(tmp_path_factory.mktemp("state"), "--scan", str(folder))
    yield server, folder
    assert "work for the page failed" not in server.stop()


def test_a_table_that_is_deleted_while_it_is_shown_says_so(
    browser: Browser, shown: tuple[Server, Path]
) -> None:
    server, folder = shown
    with opened(browser, f"{server.origin}/?{urlencode({'table': folder / 'orders'})}") as page:
        expect(page.get_by_role("heading", name="orders")).to_be_visible()
        shutil.rmtree(folder / "orders")
        page.get_by_role("button", name="Refresh").first.click()
        expect(page.get_by_role("alert").first).to_contain_text("There is no")
        page.get_by_role("link", name="All tables").click()
        page.get_by_text("Refresh", exact=True).click()
        expect(page.locator("tr", has_text="orders").first).to_contain_text("There is no table")
        page.locator("tr", has_text="events").first.click()
        expect(page.get_by_role("heading", name="events")).to_be_visible()


class Store:
    """A store that speaks http, and can go away and come back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._site: Any = None
        self.port = 0

    def start(self) -> None:
        """Answer, from now on at the same port."""
        handler = partial(_Quiet, directory=str(self._folder))
        self._site = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self.port = self._site.server_address[1]
        threading.Thread(target=self._site.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Answer nothing more."""
        self._site.shutdown()
        self._site.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def test_a_store_that_goes_away_says_so_and_comes_back(
    browser: Browser, shown: tuple[Server, Path], tmp_path: Path
) -> None:
    server, _ = shown
    log = LogFolder(tmp_path / "orders")
    log.commit(0, [PROTOCOL, metadata(name="far away"), add("a.parquet", size=10)])
    store = Store(tmp_path)
    store.start()
    place = f"http://user:hunter2@localhost:{store.port}/orders"
    with opened(browser, f"{server.origin}/") as page:
        page.get_by_placeholder("Path or URL, then Enter").last.fill(place)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="far away")).to_be_visible()
        assert "hunter2" not in page.url
        assert "hunter2" not in page.content()
        store.stop()
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("alert").first).to_be_visible()
        assert "hunter2" not in page.content()
        store.start()
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("heading", name="far away")).to_be_visible()
    store.stop()
    state = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
    (kept,) = (one.partition(b"=")[2].decode() for one in state if one.startswith(b"XDG_STATE"))
    assert "hunter2" not in (Path(kept) / "delta-explorer" / "recent.json").read_text()


@pytest.mark.may_skip(reason="a full disk is made by mounting a small one, which root alone may")
def test_a_full_disk_in_the_state_folder_says_so_and_changes_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    table = Orders(tmp_path, "orders")
    state = tmp_path / "state"
    state.mkdir()
    if os.system(f"mount -t tmpfs -o size=64k tmpfs {state} 2>/dev/null"):
        pytest.skip("no file system can be mounted here, which takes root")
    try:
        (state / "filler").write_bytes(b"x" * 60 * 1024)
        server = Server(
            tmp_path / "home", str(table.root), "--maintenance", "--state-dir", str(state)
        )
        with opened(browser, f"{server.link}&view=maintenance") as page:
            page.locator("button.dx-choice", has_text="Vacuum").first.click()
            page.get_by_role("button", name="Make the plan").click()
            alert = page.get_by_role("alert").first
            expect(alert).to_contain_text("The state folder")
            expect(alert).to_contain_text("No space left on device")
            assert table.left == 30
            (state / "filler").unlink()
            page.get_by_role("button", name="Make the plan").click()
            expect(page.locator(".dx-consequence")).to_contain_text("Permanently deletes 30 files")
        assert "work for the page failed" not in server.stop()
    finally:
        os.system(f"umount {state}")
