"""A page that is sent in two parts: both are guarded alike, and together they are the page."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest

from widgets.served import _transfer
from widgets.served._headers import SafeHeaders
from widgets.served._page_template import TITLE
from widgets.served._session_page import build_empty
from widgets.served._transfer import SEAM, missing_scripts, remember_first_part, split_page
from widgets.served.assembly import build_server
from widgets.served.settings import Settings

ONE = b'<script type="text/javascript" src="static/one.js"></script>'
TWO = b'<script type="text/javascript" src="static/two.js"></script>'


def test_scripts_of_both_parts_carry_the_number_that_the_policy_names() -> None:
    transform = SafeHeaders(HTTPServerRequest("GET", "/"))
    headers = HTTPHeaders({"Content-Type": "text/html; charset=UTF-8"})
    _, headers, first = transform.transform_first_chunk(200, headers, ONE, False)
    rest = transform.transform_chunk(TWO, True)
    named = re.findall(r"'nonce-([^']+)'", headers["Content-Security-Policy"])
    assert re.findall(rb'nonce="([^"]+)"', first + rest) == [named[0].encode()] * 2
    assert "Content-Length" not in headers


def test_what_is_no_page_keeps_its_bytes() -> None:
    transform = SafeHeaders(HTTPServerRequest("GET", "/"))
    headers = HTTPHeaders({"Content-Type": "text/javascript"})
    _, _, first = transform.transform_first_chunk(200, headers, ONE, False)
    assert first + transform.transform_chunk(TWO, True) == ONE + TWO


def test_a_page_is_its_two_parts() -> None:
    page = b"<head>" + ONE + SEAM + b"<main></main>"
    first, rest = split_page(page)
    assert first + rest == page
    assert first.endswith(SEAM)


def test_a_script_that_the_first_part_lacked_comes_with_the_rest() -> None:
    assert missing_scripts(ONE, ONE + b"\n" + TWO) == TWO
    assert missing_scripts(ONE + TWO, TWO) == b""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(_transfer.time, "monotonic", lambda: found.now)
    monkeypatch.setattr(_transfer.asyncio, "sleep", found.sleep)
    monkeypatch.setattr(_transfer._Scripts, "last_sent", 0.0)
    monkeypatch.setattr(_transfer._Scripts, "num_sent", 7)
    return found


class Clock:
    """Time that passes where somebody waits; scripts are sent at `sent`."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sent: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        past = [at for at in self.sent if at <= self.now]
        if past:
            _transfer._Scripts.last_sent = max(past)
        _transfer._Scripts.num_sent = 7 + len(past)


def waited(clock: Clock, *, scripts: int = 3) -> float:
    # no loop of its own: whoever runs before in this process may have one under way
    with suppress(StopIteration):
        _transfer._let_scripts_go(scripts).send(None)
    return clock.now - 100.0


def test_a_session_waits_until_the_scripts_have_gone(clock: Clock) -> None:
    clock.sent = [100.05, 100.07, 100.19]
    assert 0.19 <= waited(clock) < 0.2


def test_a_session_does_not_wait_long_for_a_browser_that_asks_for_no_script(clock: Clock) -> None:
    assert 0.15 < waited(clock) < 0.17


def test_a_session_does_not_wait_long_for_scripts_that_a_browser_has(clock: Clock) -> None:
    clock.sent = [100.05]
    assert 0.2 < waited(clock) < 0.22


def test_a_session_waits_no_longer_than_it_must_while_others_are_sent_scripts(
    clock: Clock,
) -> None:
    clock.sent = [100 + at / 100 for at in range(1000)]
    assert 0.49 < waited(clock, scripts=1000) < 0.52


def test_the_part_that_nobody_has_asked_for_yet_has_the_name_of_the_page() -> None:
    server = build_server(Settings())
    application = server._bokeh._tornado
    remember_first_part(application, build_empty)
    first = application.settings[_transfer._FIRST_PART]
    server.stop()
    assert f"<title>{TITLE}</title>".encode() in first
