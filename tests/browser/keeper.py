"""A page that may change tables, and a browser that has opened its link."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.browser.conftest import ROOT, WIDE, Guard
from tests.listening import Listener

NAME = "Type the table's name"

HOLDING = """
import os, sys, time
from explorer.maintenance.steps import deletion

gate, delete = sys.argv.pop(1), deletion._delete_batch

def hold(*given):
    while not os.path.exists(gate):
        time.sleep(0.05)
    return delete(*given)

deletion._delete_batch = hold
from explorer.cli.__main__ import main
main()
"""
"""A server whose runs wait before they delete."""


class Keeper:
    """The page, served with maintenance as the command line does it."""

    def __init__(self, state: Path, *, held: bool = False) -> None:
        self._gate = state / "may-go-on"
        command = ["-c", HOLDING, str(self._gate)] if held else ["-m", "explorer.cli"]
        self.process = subprocess.Popen(
            [
                sys.executable,
                *command,
                "serve",
                "--maintenance",
                "--no-open",
                "--port=0",
            ],
            cwd=ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._heard = Listener(self.process, r"(http://[^/\s]+)/unlock\?\S+")
        self.link, self.origin = self._heard.found.group(), self._heard.found.group(1)

    def address(self, table: Path, **query: str) -> str:
        return f"{self.origin}/?{urlencode({'table': table, 'view': 'maintenance', **query})}"

    def let_go(self) -> None:
        """Runs of a server that holds them go on."""
        self._gate.parent.mkdir(parents=True, exist_ok=True)
        self._gate.touch()

    def stop(self) -> str:
        self.process.terminate()
        self.process.wait(timeout=60)
        return self._heard.wait()


@contextmanager
def keeping(state: Path) -> Iterator[Keeper]:
    """A page that is stopped at the end, and that nothing unforeseen has befallen."""
    running = Keeper(state)
    yield running
    said = running.stop()
    assert "Traceback" not in said, said
    assert "work for the page failed" not in said, said


def unlock(browser: Browser, keeper: Keeper) -> Any:
    """What the browser holds that opened the link."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(keeper.link)
    expect(page.get_by_text("Open a Delta table")).to_be_visible()
    assert page.url == f"{keeper.origin}/"
    held = context.cookies()
    context.close()
    return held


@contextmanager
def unlocked_page(browser: Browser, keeper: Keeper, cookies: Any) -> Iterator[Page]:
    """A page that may change tables; nothing foreign was asked and nothing ran."""
    guard = Guard(keeper.origin)
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    context.add_cookies(cookies)
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    guard.watch(opened)
    yield opened
    opened.wait_for_timeout(200)  # what loads by itself does so now
    ran = opened.evaluate("window.ran")
    context.close()
    assert ran is None
    assert guard.foreign == []
    assert guard.errors == []
    assert guard.dialogs == []
    assert [url for url in guard.requests if "/evil" in url] == []


def choose(page: Page, title: str) -> None:
    page.locator("button.dx-choice", has_text=title).first.click()


def plan(page: Page, title: str) -> None:
    """Choose an operation and plan it as its form stands."""
    choose(page, title)
    page.get_by_role("button", name="Make the plan").click()
    expect(page.locator(".dx-consequence")).to_be_visible()
