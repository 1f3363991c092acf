"""Servers as the command line starts them, and a plain client that is no browser."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.browser.chromium import launched
from tests.listening import Listener
from tests.tables import PROTOCOL, LogFolder, add, metadata
from tests.unit.widgets.orders import Orders
from widgets.session.people import render_user

ROOT = Path(__file__).resolve().parents[2]
COOKIE_SECRET = "a-secret-that-is-long-enough-for-any-cookie"
PASSWORDS = {"anna": "correct horse battery", "ben": "another one entirely"}
WAIT = 60


@pytest.fixture(scope="session")
def browser() -> Browser:
    return launched()


@dataclass
class Answer:
    """One HTTP answer, with redirects left alone."""

    status: int
    headers: Mapping[str, str]
    body: str
    cookies: dict[str, str] = field(default_factory=dict)


class Server:
    """`delta-explorer serve` in a process of its own."""

    def __init__(self, state: Path, *words: str, script: Path | None = None) -> None:
        program = ["-m", "explorer.cli"] if script is None else [str(script)]
        line = [sys.executable, *program, "serve", "--no-open"]
        line += [] if any(word.startswith("--port") for word in words) else ["--port=0"]
        self.process = subprocess.Popen(
            [*line, *words],
            cwd=ROOT,
            env={
                **os.environ,
                "XDG_STATE_HOME": str(state),
                "DELTA_EXPLORER_COOKIE_SECRET": COOKIE_SECRET,
                "PYTHONPATH": str(ROOT),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._heard = Listener(self.process, r"http://\S+")
        self.link = self._heard.found.group()
        self.host = urlsplit(self.link).netloc
        self.port = int(self.host.rpartition(":")[2])
        self.origin = f"http://{self.host}"

    @property
    def said(self) -> str:
        """All that it has said so far."""
        return self._heard.said

    def ask(
        self, path: str, *, method: str = "GET", body: str | None = None, **headers: str
    ) -> Answer:
        """One request of a client that sends just these headers."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=WAIT)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            named.setdefault("Content-Type", "application/x-www-form-urlencoded")
        try:
            connection.request(method, path, body=body, headers=named)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
        held: SimpleCookie = SimpleCookie()
        for value in answer.headers.get_all("Set-Cookie") or ():
            held.load(value)
        cookies = {name: morsel.value for name, morsel in held.items()}
        return Answer(answer.status, dict(answer.headers.items()), text, cookies)

    def sign_in(self, name: str, password: str | None = None, **headers: str) -> Answer:
        """What the form sends."""
        form = {"name": name, "password": PASSWORDS.get(name, "") if password is None else password}
        return self.ask("/login", method="POST", body=urlencode(form), **headers)

    def cookie_of(self, name: str) -> str:
        """What a browser holds once somebody has signed in."""
        answer = self.sign_in(name)
        assert answer.status == 303, answer
        return "; ".join(f"{key}={value}" for key, value in answer.cookies.items() if value)

    def token(self, cookie: str = "", query: str = "") -> str:
        """The token within the page, by which a browser opens its socket."""
        page = self.ask(f"/{query}", Cookie=cookie).body
        found = re.search(r'"token":"([^"]+)"', page)
        assert found, page[:2000]
        return found[1]

    def stop(self) -> str:
        """Ask it to stop and wait; all that it has said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(WAIT)
        return self._heard.wait(WAIT)


def with_socket(server: Server, token: str, use: Any, **headers: str) -> Any:
    """Open the socket of a page as a client that sends just these headers, and use it."""

    async def run() -> Any:
        request = HTTPRequest(
            f"ws://localhost:{server.port}/ws",
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            request_timeout=WAIT,
        )
        socket = await websocket_connect(request, subprotocols=["bokeh", token])
        try:
            return await asyncio.wait_for(use(socket), WAIT)
        finally:
            socket.close()

    # a browser that Playwright drives has a loop running in this thread
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(lambda: asyncio.run(run())).result()


def wait_for(is_so: Any, what: str, seconds: float = WAIT) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tables that are served, and one beside it that is not."""
    folder = tmp_path_factory.mktemp("lakes")
    for name in ("lake/orders", "lake/events", "secret/users"):
        (folder / name).parent.mkdir(exist_ok=True)
        log = LogFolder(folder / name)
        log.commit(0, [PROTOCOL, metadata(name=Path(name).name), add("a.parquet", size=10)])
    return folder / "lake"


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Anna may change tables, Ben may look."""
    place = tmp_path_factory.mktemp("team") / "users.txt"
    roles = {"anna": "maintenance", "ben": "read-only"}
    place.write_text(
        "\n".join(render_user(name, roles[name], word) for name, word in PASSWORDS.items())  # type: ignore[arg-type]
    )
    return place


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    return Orders(tmp_path)
