"""Attacks from a real browser on a real server: framing, injected scripts, forged, replayed
and borrowed approvals, a role that may only look."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chromium import WAIT_MS
from tests.served.conftest import PASSWORDS, Server, wait_for
from tests.unit.widgets.orders import Orders
from widgets.state import VIEW_TITLES, VIEWS

# what the server refuses, the plain clients of this folder try each day
pytestmark = pytest.mark.turns(one_in=3)

WIDE = {"width": 1440, "height": 980}

# What a person does who writes their own messages: a button in each part of the page that
# sends what they like, as far as the page's own script can tell.
FORGE = """(value) => {
  const roots = []
  const look = (node) => {
    for (const element of node.querySelectorAll("*")) {
      if (element.matches("div.dx")) { roots.push(element) }
      if (element.shadowRoot) { look(element.shadowRoot) }
    }
  }
  look(document)
  for (const root of roots) {
    const button = document.createElement("button")
    button.dataset.do = "approve"
    button.dataset.value = value
    root.append(button)
    button.click()
    button.remove()
  }
  return roots.length
}"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Orders]:
    folder = tmp_path_factory.mktemp("lake")
    return {name: Orders(folder, name) for name in ("orders", "events", "returns", "stock")}


@pytest.fixture(scope="module")
def server(
    tables: dict[str, Orders], users: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tables["orders"].root.parent
    words = ("--scan", str(folder), "--users", str(users), "--maintenance")
    running = Server(tmp_path_factory.mktemp("state"), *words)
    yield running
    said = running.stop()
    assert "work for the page failed" not in said, said


class Watched:
    """One person's browser, and what it did that it must not."""

    def __init__(self, browser: Browser, server: Server, name: str) -> None:
        self.server = server
        self.may_change = name == "anna"
        self.context: BrowserContext = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
        self.foreign: list[str] = []
        self.blocked: list[str] = []
        self.page = self.new_page()
        self.page.goto(f"{server.origin}/")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORDS[name])
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading", name="Tables", exact=True)).to_be_visible()

    def new_page(self) -> Page:
        """Another tab of the same person."""
        page = self.context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.on("request", lambda request: self._judge(request.url))
        page.on("console", lambda message: self._listen(message.text))
        page.on("pageerror", lambda error: self._listen(str(error)))
        return page

    def _judge(self, url: str) -> None:
        if not url.startswith((self.server.origin, "blob:", "data:")):
            self.foreign.append(url)

    def _listen(self, text: str) -> None:
        if "Content Security Policy" in text:
            self.blocked.append(text)

    def maintain(self, table: Orders, page: Page | None = None) -> Page:
        """The maintenance of a table."""
        page = self.page if page is None else page
        query = urlencode({"table": table.root, "view": "maintenance"})
        page.goto(f"{self.server.origin}/?{query}")
        expect(page.locator(".dx-choice").first).to_be_visible()
        return page

    def plan(self, table: Orders, page: Page | None = None) -> tuple[Page, str]:
        """A vacuum that is planned and not approved, and the digest of its plan."""
        page = self.maintain(table, page)
        page.locator("button.dx-choice", has_text="Vacuum").first.click()
        page.get_by_role("button", name="Make the plan").click()
        expect(page.locator(".dx-consequence")).to_be_visible()
        digest = page.locator("input[name=digest]")
        if not self.may_change:
            expect(page.get_by_text("This page is read-only.")).to_be_visible()
            expect(digest).to_have_count(0)
            return page, ""
        expect(digest).to_have_count(1)
        return page, digest.get_attribute("value") or ""


@pytest.fixture(scope="module")
def anna(browser: Browser, server: Server) -> Iterator[Watched]:
    watched = Watched(browser, server, "anna")
    yield watched
    watched.context.close()
    assert watched.foreign == []


@pytest.fixture(scope="module")
def ben(browser: Browser, server: Server) -> Iterator[Watched]:
    watched = Watched(browser, server, "ben")
    yield watched
    watched.context.close()
    assert watched.foreign == []


def consent(digest: str, name: str) -> str:
    return json.dumps({"digest": digest, "table_name": name, "reason": "because"})


def test_nothing_of_the_page_is_blocked_by_its_own_policy(
    anna: Watched, tables: dict[str, Orders]
) -> None:
    page = anna.maintain(tables["orders"])
    for title in (title for view, title in VIEW_TITLES.items() if view in VIEWS):
        page.get_by_role("navigation").get_by_text(title, exact=True).first.click()
        page.wait_for_timeout(600)  # what a view loads by itself, it loads now
    assert anna.blocked == []


def test_a_script_that_found_its_way_into_the_page_does_not_run(
    browser: Browser, server: Server
) -> None:
    watched = Watched(browser, server, "anna")
    watched.page.evaluate(
        """() => {
          document.body.insertAdjacentHTML("beforeend", '<img src="x" onerror="window.ran = 1">')
          const script = document.createElement("script")
          script.textContent = "window.ran = 2"
          document.body.append(script)
        }"""
    )
    wait_for(lambda: len(watched.blocked) >= 2, "the browser says what it has blocked")
    assert watched.page.evaluate("window.ran") is None
    watched.context.close()


class _Evil(http.server.BaseHTTPRequestHandler):
    target = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<title>evil</title><iframe src="{self.target}"></iframe>'.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def evil(server: Server) -> Iterator[str]:
    """A page of another site that frames ours."""
    handler = type("Evil", (_Evil,), {"target": f"{server.origin}/"})
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_address[1]}/"
    site.shutdown()


def test_another_site_can_neither_frame_the_page_nor_open_its_socket(
    browser: Browser, server: Server, evil: str
) -> None:
    watched = Watched(browser, server, "anna")
    cookies = "; ".join(f"{one['name']}={one['value']}" for one in watched.context.cookies())
    token = server.token(cookies)
    page = watched.context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(evil)
    wait_for(lambda: any("frame-ancestors" in text for text in said), "the frame is refused")
    assert not any(frame.get_by_text("Tables").count() for frame in page.frames)
    ended = page.evaluate(
        """([url, token]) => new Promise((resolve) => {
          const socket = new WebSocket(url, ["bokeh", token])
          socket.onopen = () => resolve("open")
          socket.onclose = () => resolve("closed")
        })""",
        [f"ws://{server.host}/ws", token],
    )
    assert ended == "closed"
    watched.context.close()


@pytest.mark.daily
def test_a_role_that_may_look_plans_and_cannot_approve(
    ben: Watched, anna: Watched, tables: dict[str, Orders]
) -> None:
    table = tables["orders"]
    page, digest = ben.plan(table)
    assert digest == ""
    expect(page.locator(".dx-danger")).to_have_count(0)
    _, real = anna.plan(table)
    assert len(real) == 64
    assert page.evaluate(FORGE, consent(real, "orders")) > 2
    expect(page.get_by_text("This page may not change tables.")).to_be_visible()
    assert table.left == 30


def test_the_plan_of_another_session_cannot_be_approved(
    anna: Watched, tables: dict[str, Orders]
) -> None:
    table = tables["events"]
    _, digest = anna.plan(table)
    other, own = anna.plan(tables["stock"], anna.new_page())
    assert own != digest
    other.evaluate(FORGE, consent(digest, "events"))
    expect(other.get_by_text("It is not the plan that this page shows")).to_be_visible()
    for forged in ("", "{", "[]", consent("0" * 64, "stock"), consent(own, "wrong name")):
        other.evaluate(FORGE, forged)
    other.wait_for_timeout(500)
    assert (table.left, tables["stock"].left) == (30, 30)
    other.close()


def test_an_approval_that_is_replayed_does_nothing_more(
    anna: Watched, tables: dict[str, Orders]
) -> None:
    table = tables["returns"]
    page, digest = anna.plan(table)
    page.get_by_label("Type the table's name").fill("returns")
    page.get_by_role("button", name=re.compile("^Delete 30 files")).click()
    expect(page.locator(".dx-outcome")).to_contain_text("done")
    assert table.left == 0
    before = sorted(place.name for place in (table.root / "_delta_log").iterdir())
    for _ in range(3):
        page.evaluate(FORGE, consent(digest, "returns"))
    page.wait_for_timeout(500)
    assert sorted(place.name for place in (table.root / "_delta_log").iterdir()) == before
    expect(page.get_by_role("button", name="Receipts 1")).to_be_visible()
    expect(page.get_by_text("anna").first).to_be_visible()


def test_who_signs_out_elsewhere_can_no_longer_change_tables_here(
    browser: Browser, server: Server, tables: dict[str, Orders]
) -> None:
    watched = Watched(browser, server, "anna")
    table = tables["events"]
    page, digest = watched.plan(table)
    assert len(digest) == 64
    other = watched.new_page()
    other.goto(f"{server.origin}/logout")
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    page.evaluate(FORGE, consent(digest, "events"))
    expect(page.get_by_text("This page may not change tables.")).to_be_visible()
    assert table.left == 30
    watched.context.close()


@pytest.mark.parametrize(
    "place",
    ["http://169.254.169.254/latest/meta-data", "http://2852039166/x"],
)
def test_a_link_to_where_a_cloud_keeps_its_credentials_is_refused(
    ben: Watched, server: Server, place: str
) -> None:
    page = ben.new_page()
    page.goto(f"{server.origin}/?{urlencode({'table': place})}")
    expect(page.get_by_text("No table is read from there.")).to_be_visible()
    page.close()
