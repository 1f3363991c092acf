"""One page as a browser holds it: the HTML, then the socket with the token in it."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

QUIET_SECONDS = 1.0
LONGEST_SECONDS = 300.0


class Page:
    """A session; `open` and `go` return the seconds until the page had its answer."""

    def __init__(self, port: int, query: str) -> None:
        self._port, self._query = port, query
        self._socket: WebSocketClientConnection | None = None
        self._last = 0.0
        self._bar = ""
        self._reader: asyncio.Task[None] | None = None
        self._document: asyncio.Future[Any] | None = None
        self._turn, self._followed = 0, 0
        self._pinged = asyncio.Event()

    async def open(self) -> float:
        """Ask for the page, and wait until everything of it has come."""
        begun = time.monotonic()
        client = AsyncHTTPClient(force_instance=True, max_clients=100)
        url = f"http://localhost:{self._port}/?{self._query}"
        answer = await client.fetch(HTTPRequest(url, request_timeout=LONGEST_SECONDS))
        client.close()
        found = re.search(r'"token":"([^"]+)"', answer.body.decode())
        assert found, "the page has no token"
        request = HTTPRequest(
            f"ws://localhost:{self._port}/ws",
            headers={"Origin": f"http://localhost:{self._port}"},
            request_timeout=LONGEST_SECONDS,
        )
        self._socket = await websocket_connect(
            request, subprotocols=["bokeh", found[1]], max_message_size=2**28
        )
        self._socket.on_ping = lambda _: self._pinged.set()  # type: ignore[method-assign,assignment]
        while '"ACK"' not in str(await self._socket.read_message()):
            pass  # what is sent before it is lost
        self._document = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read(self._socket))
        await self._send("PULL-DOC-REQ", {})
        document = await asyncio.wait_for(self._document, LONGEST_SECONDS)
        self._bar = next(
            model["id"]
            for model in _models(document)
            if model.get("attributes", {}).get("class_name") == "AddressBar"
        )
        await self._event("document_ready", [])
        return await self._quiet(begun)

    async def go(self, query: str) -> float:
        """Go to another place, as the browser's Back button does."""
        begun = time.monotonic()
        self._turn += 1
        data = {"type": "map", "entries": [["search", f"?{query}"], ["turn", self._turn]]}
        await self._event("data_event", [["model", {"id": self._bar}], ["data", data]])
        return await self._quiet(begun)

    async def wait_for_ping(self) -> None:
        """Until the server asks whether somebody is there."""
        self._pinged.clear()
        await self._pinged.wait()

    def close(self) -> None:
        """The page is closed."""
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            self._socket.close()

    def vanish(self) -> None:
        """The browser is gone, without a word."""
        if self._reader is not None:
            self._reader.cancel()
        stream = None if self._socket is None else getattr(self._socket.protocol, "stream", None)
        if stream is not None:
            stream.close()

    async def _quiet(self, begun: float) -> float:
        while (
            self._followed < self._turn
            or self._last <= begun
            or time.monotonic() - self._last < QUIET_SECONDS
        ):
            assert time.monotonic() - begun < LONGEST_SECONDS, "no answer, or no end of it"
            await asyncio.sleep(0.02)
        return self._last - begun

    async def _read(self, socket: WebSocketClientConnection) -> None:
        wanted = False
        while (frame := await socket.read_message()) is not None:
            self._last = time.monotonic()
            document = self._document
            if document is None or not isinstance(frame, str):
                continue
            if document.done():
                self._followed = max(self._followed, _turn_of(frame))
                continue
            wanted = wanted or '"PULL-DOC-REPLY"' in frame
            if wanted and frame.startswith('{"doc"'):
                document.set_result(json.loads(frame)["doc"])

    async def _event(self, name: str, entries: list[Any]) -> None:
        values = {"type": "map", "entries": entries}
        message = {"type": "event", "name": name, "values": values}
        sent = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": message}
        await self._send("PATCH-DOC", {"events": [sent]})

    async def _send(self, kind: str, content: dict[str, Any]) -> None:
        assert self._socket is not None
        header = {"msgid": uuid.uuid4().hex.upper(), "msgtype": kind}
        for part in (header, {}, content):
            await self._socket.write_message(json.dumps(part))


def _turn_of(frame: str) -> int:
    """How many turns the page has followed, where the message tells of its place."""
    if '"place"' not in frame:
        return 0
    changes = json.loads(frame).get("events", ())
    places = [change["new"] for change in changes if change.get("attr") == "place"]
    return max((turn for turn, *_ in places), default=0)


def _models(value: Any) -> Iterator[dict[str, Any]]:
    """All models of a document, wherever they are first named."""
    if isinstance(value, dict):
        if "id" in value and "attributes" in value:
            yield value
        for inner in value.values():
            yield from _models(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _models(inner)
