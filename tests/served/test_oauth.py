"""Signing in through a provider: one that stands on this machine and knows two people."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.ports import free_port
from tests.served.conftest import COOKIE_SECRET, Answer, Server

CLIENT_SECRET = "hunter2-of-the-client"


def token_of(person: str) -> str:
    """A JSON web token as providers hand it out; who it is for stands in its middle."""
    parts = ({"alg": "none"}, {"email": person, "exp": 4_000_000_000})
    words = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join([*words, b"x"]).decode()


class _Provider(http.server.BaseHTTPRequestHandler):
    """The code that it hands out is the name of whoever it is for."""

    asked: list[dict[str, list[str]]]

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.asked.append(form)
        fits = form["client_secret"] == [CLIENT_SECRET]
        person = form["code"][0]
        body = {"access_token": token_of(person), "id_token": token_of(person)} if fits else {}
        data = json.dumps(body).encode()
        self.send_response(200 if fits else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    handler = type("Provider", (_Provider,), {"asked": []})
    provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    there = f"http://localhost:{provider.server_address[1]}"
    port = free_port()
    file = tmp_path_factory.mktemp("oauth") / "oauth.json"
    file.write_text(
        json.dumps(
            {
                "provider": "generic",
                "key": "the-client",
                "secret": CLIENT_SECRET,
                "redirect_uri": f"http://localhost:{port}/login",
                "extra_params": {
                    "AUTHORIZE_URL": f"{there}/authorize",
                    "TOKEN_URL": f"{there}/token",
                    "USER_KEY": "email",
                },
                "maintainers": ["anna@example.org"],
                "members": ["ben@example.org"],
            }
        )
    )
    running = Server(
        tmp_path_factory.mktemp("state"), str(lake / "orders"), "--oauth", str(file),
        "--maintenance", f"--port={port}",
    )  # fmt: skip
    yield running
    said = running.stop()
    provider.shutdown()
    assert CLIENT_SECRET not in said
    assert COOKIE_SECRET not in said


def sign_in(server: Server, person: str, held: dict[str, str] | None = None) -> Answer:
    """As a browser goes through it: to the provider, and back with its code."""
    begun = server.ask("/login")
    assert begun.status == 302
    place = urlsplit(begun.headers["Location"])
    asked = parse_qs(place.query)
    assert place.path == "/authorize"
    assert asked["client_id"] == ["the-client"]
    assert CLIENT_SECRET not in begun.headers["Location"]
    cookie = "; ".join(f"{k}={v}" for k, v in (begun.cookies if held is None else held).items())
    query = urlencode({"code": person, "state": asked["state"][0]})
    return server.ask(f"/login?{query}", Cookie=cookie)


def cookies_of(answer: Answer) -> str:
    return "; ".join(f"{name}={value}" for name, value in answer.cookies.items() if value)


def test_nobody_sees_a_table_before_the_provider_has_named_them(server: Server) -> None:
    answer = server.ask("/")
    assert answer.status == 302
    assert "login" in answer.headers["Location"]


def test_whom_the_provider_names_comes_in_and_the_page_holds_no_token(server: Server) -> None:
    done = sign_in(server, "anna@example.org")
    assert done.status == 302, done
    page = server.ask("/", Cookie=cookies_of(done))
    assert page.status == 200
    assert '"token"' in page.body
    for value in done.cookies.values():
        assert not value or value not in page.body


def test_an_answer_to_a_question_of_another_browser_is_refused(server: Server) -> None:
    answer = sign_in(server, "anna@example.org", held={})
    assert answer.status == 401
    assert not any(value for name, value in answer.cookies.items() if name == "user")
    assert "//cdn" not in answer.body


def test_the_page_after_signing_out_asks_nothing_of_another_host(server: Server) -> None:
    answer = server.ask("/logout", Cookie=cookies_of(sign_in(server, "ben@example.org")))
    assert answer.status == 200
    assert "http" not in answer.body
    assert "Signed out" in answer.body


@pytest.mark.parametrize(
    "made_up", ["user=anna@example.org", "is_guest=1", "user=2|1:0|10:1|4:user|8:YQ==|0"]
)
def test_a_cookie_that_was_made_up_is_nobody(server: Server, made_up: str) -> None:
    assert server.ask("/", Cookie=made_up).status == 302
