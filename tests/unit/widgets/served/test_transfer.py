"""Answers as they travel: compressed once where they never change, and always whole."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.protocol.exceptions import ProtocolError
from bokeh.util.token import generate_jwt_token
from panel.io.server import WSHandler
from tornado.httputil import HTTPHeaders, HTTPServerRequest

from widgets.served import _transfer
from widgets.served._transfer import Compressed, PatientSocket

PARTS = [b"a" * 3000, b"b" * 3000, b"c" * 3000]


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_transfer, "_kept", {})


def answer(digest: str, parts: list[bytes] = PARTS, size: int | None = None) -> Iterator[bytes]:
    """What is sent, part by part, of a file of so many bytes that never changes."""
    request = HTTPServerRequest("GET", "/", headers=HTTPHeaders({"Accept-Encoding": "gzip"}))
    transform = Compressed(request)
    headers = HTTPHeaders(
        {
            "Content-Type": "text/javascript",
            "Cache-Control": _transfer._YEARS,
            "Etag": digest,
            "Content-Length": str(sum(map(len, parts)) if size is None else size),
        }
    )
    last = len(parts) - 1
    _, _, sent = transform.transform_first_chunk(200, headers, parts[0], last == 0)
    yield sent
    for at, part in enumerate(parts[1:], 1):
        yield transform.transform_chunk(part, at == last)


def test_the_second_answer_is_the_first_one_kept() -> None:
    first = b"".join(answer('"one"'))
    assert gzip.decompress(first) == b"".join(PARTS)
    assert list(answer('"one"')) == [b"", b"", first]


def test_answers_to_two_at_once_are_both_whole() -> None:
    slow = answer('"one"')
    begun = next(slow)
    assert gzip.decompress(b"".join(answer('"one"'))) == b"".join(PARTS)
    assert gzip.decompress(begun + b"".join(slow)) == b"".join(PARTS)


def test_an_answer_that_was_broken_off_is_not_kept() -> None:
    next(answer('"one"'))
    # as tornado ends it where the browser has gone
    list(answer('"one"', [*PARTS[:2], b""], size=9000))
    assert gzip.decompress(b"".join(answer('"one"'))) == b"".join(PARTS)
    assert gzip.decompress(b"".join(answer('"two"', [b"d" * 3000]))) == b"d" * 3000


@pytest.mark.parametrize("left", [True, False])
def test_a_browser_that_left_while_it_waited_is_not_taken_up(
    left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    async def take(_: WSHandler, token: str) -> None:
        taken.append(token)

    def no_session(_: str) -> None:
        raise ProtocolError("there is none")

    monkeypatch.setattr(WSHandler, "_async_open", take)
    socket: Any = PatientSocket.__new__(PatientSocket)
    socket.ws_connection = None if left else SimpleNamespace(is_closing=lambda: False)
    socket.application_context = SimpleNamespace(get_session=no_session)
    with ThreadPoolExecutor(1) as stage:
        token = generate_jwt_token("some-session")
        stage.submit(lambda: asyncio.run(socket._async_open(token))).result()
    assert len(taken) == (not left)
