"""A page that is sent in two parts: both are guarded alike, and together they are the page."""

from __future__ import annotations

import re

from tornado.httputil import HTTPHeaders, HTTPServerRequest

from widgets.served._headers import SafeHeaders
from widgets.served._transfer import SEAM, missing_scripts, split_page

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
