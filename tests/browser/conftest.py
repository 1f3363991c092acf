"""A served page, and a Chromium in which nothing but that page can be reached."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request
from playwright.sync_api import Error as PlaywrightError

from tests.browser.chromium import WAIT_MS, launched
from tests.demo_story import AUTUMN, copy_demo
from tests.listening import Listener

ROOT = Path(__file__).resolve().parents[2]
WIDE = {"width": 1440, "height": 980}
NARROW = {"width": 820, "height": 1180}


@pytest.fixture(scope="session")
def browser() -> Browser:
    return launched()


class Server:
    """The page, served by a process of its own as the command line does it."""

    def __init__(self, tables: Sequence[str], state: Path) -> None:
        code = (
            "import sys; from widgets import serve; serve(sys.argv[1:], port=0, open_browser=False)"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *tables],
            cwd=ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._heard = Listener(self._process, r"http://[^\s/]+")
        self.origin = self._heard.found.group()

    @property
    def said(self) -> str:
        """All that it has said so far."""
        return self._heard.said

    def address(self, **query: object) -> str:
        """The page's address with a query."""
        return f"{self.origin}/?{urlencode(query)}" if query else f"{self.origin}/"

    def stop(self) -> None:
        """Stop the process; what it still says is kept in `said`."""
        self._process.terminate()
        self._process.wait(timeout=60)
        self._heard.wait()


@contextlib.contextmanager
def serving(tables: Sequence[str], state: Path) -> Iterator[Server]:
    """A server for some tables, stopped at the end."""
    server = Server(tables, state)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo table: 75 versions of an online shop's orders."""
    folder = tmp_path_factory.mktemp("demo") / "shop"
    return copy_demo(folder, AUTUMN)


@pytest.fixture(scope="session")
def server(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving([str(shop)], tmp_path_factory.mktemp("state")) as running:
        yield running


class Guard:
    """What a page did that it must not: foreign requests, errors, dialogs."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.requests: list[str] = []
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []

    def watch(self, page: Page) -> None:
        """Record everything that `page` does from now on."""
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dismiss)

    def _note(self, request: Request) -> None:
        """Other hosts are out of reach, see `tests.browser.chromium`; that it asked is a fault.
        A route that judged each request would switch the cache of the browser off."""
        self.requests.append(request.url)
        if urlsplit(request.url).scheme in {"blob", "data"} or request.url.startswith(self.origin):
            return
        self.foreign.append(request.url)

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails says what its page showed: what it waited for tells little."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.failed and report.when == "call" and isinstance(page, Page):
        with contextlib.suppress(PlaywrightError):
            shown = page.locator("body").aria_snapshot(timeout=2_000)
            report.sections.append(("what the page showed", f"{page.url}\n{shown}"))
    return report


@pytest.fixture
def guard(server: Server) -> Guard:
    return Guard(server.origin)


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all wide pages: what it has loaded once, it has in its cache."""
    opened = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, guard: Guard) -> Iterator[Page]:
    """A wide page, for which nothing is stored; the test fails if it asked another host or threw
    an error."""
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    guard.watch(opened)
    yield opened
    for left in context.pages:
        if left.url.startswith("http"):
            left.evaluate("localStorage.clear()")
        left.close()
    context.clear_cookies()
    assert guard.foreign == []
    assert guard.errors == []
    assert guard.dialogs == []
