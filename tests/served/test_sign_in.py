"""Coming in, guessing, and going: a real server, asked by a plain client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from bokeh.util.token import get_token_payload
from tornado.httpclient import HTTPClientError
from tornado.websocket import WebSocketClosedError

from tests.served.conftest import COOKIE_SECRET, PASSWORDS, Server, with_socket

SITE = "http://localhost"


@pytest.fixture(scope="module")
def server(lake: Path, users: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    words = ("--scan", str(lake), "--users", str(users), "--maintenance")
    running = Server(tmp_path_factory.mktemp("state"), *words)
    yield running
    said = running.stop()
    assert "work for the page failed" not in said, said
    assert COOKIE_SECRET not in said
    assert "hunter2" not in said
    for password in PASSWORDS.values():
        assert password not in said


async def ignore(_: Any) -> None:
    return None


def test_nobody_sees_a_table_before_they_have_said_who_they_are(server: Server) -> None:
    answer = server.ask("/?table=%2Flake%2Forders&view=files")
    assert answer.status == 302
    assert answer.headers["Location"].startswith("./login?next=")
    assert "token" not in answer.body


def test_a_socket_needs_the_cookie_too(server: Server) -> None:
    token = server.token(server.cookie_of("anna"))
    with pytest.raises(HTTPClientError) as refused:
        with_socket(server, token, ignore)
    assert refused.value.code == 403


def test_the_right_password_leads_to_the_place_that_was_asked_for(server: Server) -> None:
    form = {"name": "ben", "password": PASSWORDS["ben"]}
    wanted = {"next": "/?table=%2Flake%2Forders&view=files&evil=1"}
    answer = server.ask(f"/login?{urlencode(wanted)}", method="POST", body=urlencode(form))
    assert answer.status == 303
    assert answer.headers["Location"] == "/?table=%2Flake%2Forders&view=files"
    said = answer.headers["Set-Cookie"]
    for word in ("HttpOnly", "SameSite=Lax", "Path=/"):
        assert word in said
    (value,) = answer.cookies.values()
    assert PASSWORDS["ben"] not in value
    page = server.ask("/", Cookie=said.partition(";")[0])
    assert page.status == 200
    assert value not in page.body


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example/", "//evil.example/x", "/\\evil.example", "javascript:alert(1)",
     "http:evil.example", "/?table=//evil.example"],
)  # fmt: skip
def test_signing_in_leads_to_no_other_site(server: Server, wanted: str) -> None:
    form = {"name": "ben", "password": PASSWORDS["ben"], "next": wanted}
    answer = server.ask("/login", method="POST", body=urlencode(form))
    assert answer.status == 303
    assert re.match(r"/(\?table=|$)", answer.headers["Location"])


def test_a_wrong_password_and_a_wrong_name_are_told_alike(server: Server) -> None:
    answers = [server.sign_in("anna", "guess"), server.sign_in("nobody", "guess")]
    assert {answer.status for answer in answers} == {403}
    assert not any(answer.cookies for answer in answers)
    one, other = (re.sub(r'value="\w*"', "", answer.body) for answer in answers)
    assert one == other


def test_the_login_page_shows_a_name_as_text(server: Server) -> None:
    answer = server.sign_in('"><script>window.ran=1</script>', "guess")
    assert "<script>" not in answer.body


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Origin": "http://localhost"},
    ],
)
def test_a_form_of_another_site_signs_nobody_in_or_out(
    server: Server, headers: dict[str, str]
) -> None:
    answer = server.sign_in("ben", **headers)
    assert answer.status == 403
    assert not answer.cookies
    cookie = server.cookie_of("ben")
    assert server.ask("/logout", method="POST", body="", Cookie=cookie, **headers).status == 403
    assert server.ask("/", Cookie=cookie).status == 200


def test_signing_out_is_no_link_and_ends_every_copy_of_the_cookie(server: Server) -> None:
    cookie = server.cookie_of("ben")
    assert server.ask("/logout", Cookie=cookie).status == 200
    assert server.ask("/", Cookie=cookie).status == 200
    answer = server.ask("/logout", method="POST", body="", Cookie=cookie)
    assert answer.status == 303
    assert server.ask("/", Cookie=cookie).status == 302


@pytest.mark.parametrize(
    "cookie",
    ["", "x", "2|1:0|10:1|4:user|8:YW5uYQ==|0", "user=anna", "is_guest=1"],
)
def test_a_cookie_that_was_made_up_is_nobody(server: Server, cookie: str) -> None:
    name = f"delta-explorer-login-{server.port}"
    for held in (cookie, f"{name}={cookie}"):
        assert server.ask("/", Cookie=held).status == 302


def test_what_a_browser_sends_to_prove_itself_is_not_in_the_page(server: Server) -> None:
    cookie = server.cookie_of("anna")
    payload = str(get_token_payload(server.token(cookie)))
    assert cookie.partition("=")[2] not in payload
    assert "Cookie" not in payload


def test_a_session_cannot_be_made_up(server: Server) -> None:
    cookie = server.cookie_of("ben")
    answer = server.ask("/?bokeh-session-id=chosen", Cookie=cookie)
    assert answer.status == 403
    token = server.token(cookie)
    head, _, rest = token.partition(".")
    forged = f"{head[:-4]}AAAA.{rest}"

    async def read(opened: Any) -> Any:
        return await opened.read_message()

    origin = f"{SITE}:{server.port}"
    assert with_socket(server, forged, read, Cookie=cookie, Origin=origin) is None
    assert with_socket(server, token, read, Cookie=cookie, Origin=origin) is not None


def test_what_a_refused_address_holds_is_not_in_the_log(server: Server) -> None:
    query = urlencode({"table": "https://user:hunter2@host/t?sig=hunter2"})
    cookie = server.cookie_of("ben")
    assert server.ask(f"/?{query}&bokeh-session-id=x", Cookie=cookie).status == 403
    assert server.ask(f"/nowhere?{query}").status == 404
    # `said` is looked through when the server has stopped


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:1", "null"])
def test_a_socket_that_a_page_of_another_site_opens_is_refused(server: Server, origin: str) -> None:
    cookie = server.cookie_of("anna")
    with pytest.raises(HTTPClientError) as refused:
        with_socket(server, server.token(cookie), ignore, Cookie=cookie, Origin=origin)
    assert refused.value.code == 403


def test_an_oversized_message_ends_its_connection_and_nothing_else(server: Server) -> None:
    cookie = server.cookie_of("anna")

    async def flood(opened: Any) -> Any:
        await opened.read_message()
        # the server may have closed before all of it was sent
        with suppress(WebSocketClosedError):
            await opened.write_message("x" * (2**20 + 1))
        while (said := await opened.read_message()) is not None:
            pass
        return said

    origin = f"{SITE}:{server.port}"
    assert with_socket(server, server.token(cookie), flood, Cookie=cookie, Origin=origin) is None
    assert server.ask("/health").status == 200


@pytest.mark.parametrize("message", ["", "{", "[]", "{}", '{"msgtype":"PATCH-DOC"}', "\0" * 100])
def test_a_message_that_is_none_stops_nothing(server: Server, message: str) -> None:
    cookie = server.cookie_of("anna")

    async def send(opened: Any) -> None:
        await opened.read_message()
        await opened.write_message(message)

    origin = f"{SITE}:{server.port}"
    with_socket(server, server.token(cookie), send, Cookie=cookie, Origin=origin)
    assert server.ask("/health").status == 200


def test_an_oversized_form_is_refused(server: Server) -> None:
    try:
        status = server.ask("/login", method="POST", body="x" * 2**20).status
    except OSError:  # the connection was ended while it was still being sent
        status = 400
    assert status == 400
    assert server.ask("/health").status == 200


def test_whoever_watches_over_the_server_needs_no_cookie_and_learns_nothing(
    server: Server,
) -> None:
    answer = server.ask("/health", Host="10.0.0.1")
    assert (answer.status, answer.body) == (200, '{"status": "ok"}\n')


@pytest.mark.parametrize("path", ["/autoload.js?bokeh-autoload-element=x", "/metadata"])
def test_the_page_is_not_embedded_into_others(server: Server, path: str) -> None:
    assert server.ask(path, Cookie=server.cookie_of("anna")).status == 404


def test_a_server_that_is_reached_under_a_strange_name_answers_nothing(server: Server) -> None:
    answer = server.ask("/login", Host=f"evil.example:{server.port}")
    assert answer.status == 421


@pytest.mark.parametrize(
    "path",
    ["/static/../../../etc/passwd", "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
     "/static/extensions/panel/../../../../etc/passwd", "/static//etc/passwd",
     "/components/widgets.app/Settings/cookie_secret", "/components/os/environ/x"],
)  # fmt: skip
def test_no_file_of_the_machine_is_served(server: Server, path: str) -> None:
    for cookie in ("", server.cookie_of("anna")):
        answer = server.ask(path, Cookie=cookie)
        assert answer.status in {302, 400, 403, 404}, answer.status
        assert "root:" not in answer.body


@pytest.mark.parametrize("path", ["/login", "/health", "/", "/static/js/bokeh.min.js", "/nowhere"])
def test_every_answer_carries_the_headers(server: Server, path: str) -> None:
    headers = server.ask(path, Cookie=server.cookie_of("ben")).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "'unsafe-inline'" not in headers["Content-Security-Policy"].partition("style-src")[0]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] in {"no-referrer", "same-origin"}
    assert headers["X-Frame-Options"] == "DENY"


def test_nothing_listens_beyond_this_machine(server: Server) -> None:
    for family in ("tcp", "tcp6"):
        listening = [
            line.split()[1]
            for line in Path(f"/proc/{server.process.pid}/net/{family}").read_text().splitlines()
            if line.split()[3] == "0A" and line.split()[1].endswith(f":{server.port:04X}")
        ]
        assert all(place.partition(":")[0] in {"0100007F", "0" * 24 + "01000000"}
                   for place in listening), listening  # fmt: skip


def test_guessing_is_slowed_down_and_says_for_how_long(
    lake: Path, users: Path, tmp_path: Path
) -> None:
    running = Server(tmp_path, str(lake / "orders"), "--users", str(users))
    try:
        answers = [running.sign_in("anna", f"guess {number}") for number in range(12)]
        assert [answer.status for answer in answers] == [403] * 10 + [429] * 2
        assert 0 < int(answers[-1].headers["Retry-After"]) <= 300
        assert "Too many tries" in answers[-1].body
        assert running.sign_in("anna").status == 429  # the right one must wait as well
    finally:
        running.stop()


def test_reached_by_others_only_what_is_served_opens(lake: Path, tmp_path: Path) -> None:
    """Beyond loopback, without a sign-in: the owner is told so."""
    running = Server(tmp_path, str(lake / "orders"), "--address=0.0.0.0")
    try:
        assert running.ask("/").status == 200
    finally:
        said = running.stop()
    assert "nobody has to sign in" in said
