"""The link that unlocks maintenance, asked for by a plain HTTP client."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from bokeh.util.token import get_token_payload
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from explorer.errors import InvalidArgumentError
from tests.listening import Listener
from tests.tables import PROTOCOL, LogFolder, add, metadata
from widgets import serve
from widgets.app import build_server, page_link
from widgets.served.settings import Settings
from widgets.session.tokens import Gate

ROOT = Path(__file__).resolve().parents[4]


@dataclass
class Answer:
    """One HTTP answer, with redirects left alone."""

    status: int
    headers: http.client.HTTPMessage
    body: str


class Server:
    """`serve` in a process of its own, and the link that it printed."""

    def __init__(self, table: Path, state: Path, *, maintenance: bool) -> None:
        code = (
            "import sys; from widgets import serve; "
            f"serve(sys.argv[1:], port=0, open_browser=False, maintenance={maintenance})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, str(table)],
            cwd=ROOT,
            env={**os.environ, "XDG_STATE_HOME": str(state)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.table = table
        self._heard = Listener(self.process, r"http://\S+")
        self.link = self._heard.found.group()

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.link).query)["token"][0]

    def get(self, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.link).netloc, timeout=60)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read().decode())

    def cookie(self) -> str:
        """Open the link; what the browser would send from then on."""
        answer = self.get(f"/unlock?{urlencode({'token': self.token, 'table': str(self.table)})}")
        held = SimpleCookie(answer.headers["Set-Cookie"])
        (name,) = held
        return f"{name}={held[name].value}"

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        return self._heard.wait()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = LogFolder(tmp_path_factory.mktemp("lake") / "orders")
    log.commit(0, [PROTOCOL, metadata(name="orders"), add("a.parquet")])
    return log.root


@pytest.fixture
def server(table: Path, tmp_path: Path) -> Iterator[Server]:
    running = Server(table, tmp_path, maintenance=True)
    yield running
    running.stop()


@pytest.mark.slow
def test_the_link_is_good_for_one_cookie_and_leaves_the_address(server: Server) -> None:
    query = {"token": server.token, "table": str(server.table), "view": "files", "evil": "//x"}
    first = server.get(f"/unlock?{urlencode(query)}")
    assert first.status == 302
    assert first.headers["Location"] == f"/?{urlencode({'table': server.table, 'view': 'files'})}"
    assert first.headers["Cache-Control"] == "no-store"
    assert first.headers["Referrer-Policy"] == "no-referrer"
    said = first.headers["Set-Cookie"]
    assert "HttpOnly" in said
    assert "SameSite=Strict" in said
    assert server.token not in said
    second = server.get(f"/unlock?{urlencode(query)}")
    assert second.status == 403
    assert second.headers["Set-Cookie"] is None
    assert "opened before" in second.body
    assert server.stop().count(server.token) == 1


@pytest.mark.slow
def test_a_wrong_token_unlocks_nothing_and_spends_nothing(server: Server) -> None:
    for token in ("", "x", "\N{SNOWMAN}", "A" * 43, server.token[:-1]):
        answer = server.get(f"/unlock?{urlencode({'token': token})}")
        assert answer.status == 403
        assert answer.headers["Set-Cookie"] is None
    assert server.cookie()


@pytest.mark.slow
def test_the_cookie_does_not_come_back_within_the_page(server: Server) -> None:
    cookie = server.cookie()
    key = cookie.partition("=")[2]
    page = server.get("/", Cookie=f"{cookie}; other=1").body
    token = re.search(r'"token":"([^"]+)"', page)
    assert token
    assert key not in page
    assert key not in str(get_token_payload(token[1]))


@pytest.mark.slow
def test_a_server_without_maintenance_knows_no_link(table: Path, tmp_path: Path) -> None:
    running = Server(table, tmp_path, maintenance=False)
    try:
        assert running.get("/unlock?token=").status == 404
    finally:
        running.stop()


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.5", "::", "example.org", ""])
def test_maintenance_beyond_this_machine_is_not_even_started(address: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        serve(address=address, port=5199, open_browser=False, maintenance=True)
    assert "not offered to other machines" in error.value.problem
    assert error.value.remedy


def test_a_gate_is_refused_where_others_reach_the_server() -> None:
    with pytest.raises(InvalidArgumentError):
        build_server(Settings(address="0.0.0.0", port=5199, maintenance=True), gate=Gate(5199))


def test_the_link_with_a_token_names_the_table_too() -> None:
    gate = Gate(5006)
    link = page_link(Settings(uris=("/lake/orders",)), 5006, gate)
    assert link == f"http://localhost:5006/unlock?token={gate.token}&table=%2Flake%2Forders"


def asked(path: str = "/", **headers: str) -> HTTPServerRequest:
    line = RequestStartLine("GET", path, "HTTP/1.1")
    return HTTPServerRequest(start_line=line, headers=HTTPHeaders({"Host": "localhost", **headers}))


@pytest.mark.parametrize(
    ("request_", "admitted"),
    [
        (lambda held: asked(Cookie=held), True),
        (lambda held: asked("/?view=files", Cookie=held), True),
        (lambda _: asked(), False),
        (lambda held: asked("/ws", Cookie=held), False),
        (lambda held: asked("/autoload.js", Cookie=held), False),
        (lambda held: asked("/?bokeh-session-id=x", Cookie=held), False),
        (lambda held: asked("/?bokeh-token=x", Cookie=held), False),
        (lambda held: asked(Cookie=held, **{"Bokeh-Session-Id": "x"}), False),
        (lambda _: None, False),
    ],
    ids=["page", "view", "no cookie", "socket", "script", "session", "token", "header", "nothing"],
)
def test_only_a_request_for_the_page_itself_is_admitted(request_: Any, admitted: bool) -> None:
    gate = Gate(5006)
    key = gate.exchange(gate.token)
    assert gate.admits(request_(f"{gate.cookie}={key}")) is admitted
    assert gate.exchange(gate.token) is None


def test_servers_on_one_machine_have_cookies_of_their_own() -> None:
    mine, other = Gate(5006), Gate(5007)
    key = other.exchange(other.token)
    assert not mine.admits(asked(Cookie=f"{other.cookie}={key}; {mine.cookie}={key}"))
    assert mine.exchange(other.token) is None
