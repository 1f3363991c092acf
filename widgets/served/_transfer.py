"""What travels: compressed, once where it never changes, and a page's scripts before the page.

A page is answered in two parts. The first has nothing of a session or a table in it: the head, the
sentence that the page opens, and the scripts, which travel and run while the session is built. It
is the one that the server sent last, since which scripts a page takes is known once its components
are there. `python -m benchmarks.page` counts what travels; docs/performance.md has what it was.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from bokeh.document import Document
from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import get_session_id
from panel.io.resources import Resources
from panel.io.server import DocHandler, WSHandler, server_html_page_for_session
from panel.io.state import set_curdoc
from panel.template.base import BaseTemplate
from tornado.httputil import HTTPServerRequest
from tornado.web import Application, GZipContentEncoding

from widgets.served._page_template import TITLE
from widgets.served._session_page import paint_first
from widgets.session.work import wait_for_answers

WEBSOCKET_LEVEL = 4
"""A higher one takes the serving thread longer than what it saves."""

WEBSOCKET_MEMORY = 8

_YEARS = "max-age=315360000"
"""What tornado says of a file whose address has its digest."""

_HAS_SCRIPTS = "delta-explorer-scripts"
"""The cookie of a browser that was sent the scripts of a page: the digest of the first part."""

_QUIET = 0.15
_LONGEST_WAIT = 0.5
"""Seconds: a session waits no longer for a browser that asks for no script, and never longer."""

_LONGEST_FOR_ANSWERS = 0.2
"""Seconds: a page whose table takes longer to be read is shown without it first."""

_MOST_KEPT = 64
"""Files; a page asks for ten."""

_kept: dict[str, bytes] = {}
"""Compressed files by the digest of what is in them."""

SEAM = b"<!-- the rest is made of a session -->"
"""Where the first part of the page ends."""

_FIRST_PART = "delta_explorer_first_part"
_SCRIPT = re.compile(rb"<script[^>]*\bsrc=[^>]*></script>")
_OF_A_SESSION = ("bokeh-session-id", "bokeh-token")


class _Scripts:
    """When a piece of what never changes was sent last, to anybody, and how much was to its
    end."""

    last_sent = 0.0
    num_sent = 0


class Compressed(GZipContentEncoding):
    """Text in fewer bytes, for who takes them; comes behind whatever changes an answer.

    What never changes is compressed once: a first visit asks for 3 MB of scripts, which would
    keep the serving thread from the page itself for 0.2 s.
    """

    CONTENT_TYPES = GZipContentEncoding.CONTENT_TYPES | {"application/x-ndjson"}

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._is_whole = request.method == "GET" and "Range" not in request.headers
        self._digest = ""
        self._found: bytes | None = None
        self._made = bytearray()
        self._left = -1

    def transform_first_chunk(
        self,
        status_code: int,
        headers: Any,
        chunk: bytes,
        finishing: bool,  # noqa: FBT001 - tornado's signature
    ) -> tuple[int, Any, bytes]:
        """Called by tornado once an answer."""
        if headers.get("Cache-Control") == _YEARS:
            headers["Cache-Control"] = f"{_YEARS}, immutable"
            if status_code == 200 and self._is_whole:
                self._digest = headers.get("Etag", "")
                # once and for all: another answer may be finished between two parts of this one
                self._found = _kept.get(self._digest)
                self._left = int(headers.get("Content-Length", "-1"))
        return super().transform_first_chunk(status_code, headers, chunk, finishing)

    def transform_chunk(self, chunk: bytes, finishing: bool) -> bytes:  # noqa: FBT001 - tornado's
        """Called by tornado for each part of an answer."""
        if self._digest:
            _Scripts.last_sent = time.monotonic()
            _Scripts.num_sent += finishing
        if not (self._gzipping and self._digest):
            return super().transform_chunk(chunk, finishing)
        if self._found is not None:
            return self._found if finishing else b""
        made = super().transform_chunk(chunk, finishing)
        self._made += made
        self._left -= len(chunk)
        # an answer to somebody who has gone is finished, too, wherever it was
        if finishing and self._left == 0 and len(_kept) < _MOST_KEPT:
            _kept[self._digest] = bytes(self._made)
        return made


class PageInTwoParts(DocHandler):
    """Answers as Panel does, the first part early."""

    _sent: bytes | None = None

    async def get_session(self) -> Any:
        """Called by Panel when it has let the request in."""
        known = self.settings.get(_FIRST_PART)
        if known is not None and self._has_no_session():
            digest = hashlib.sha256(known).hexdigest()
            has_scripts = self.get_cookie(_HAS_SCRIPTS) == digest
            self.set_header("Content-Type", "text/html")
            self.set_cookie(
                _HAS_SCRIPTS,
                digest,
                path=self.request.path,
                secure=self.request.protocol == "https",
                httponly=True,
                samesite="Lax",
            )
            super().write(known)
            self._sent = known
            await self.flush()
            if not has_scripts:
                await _let_scripts_go(len(_SCRIPT.findall(known)))
        found: Any = super().get_session()
        return await found

    def write(self, chunk: str | bytes | dict[str, Any]) -> None:
        """The page, or what it still lacks."""
        page = chunk.encode() if isinstance(chunk, str) else chunk
        if not isinstance(page, bytes) or SEAM not in page:
            super().write(chunk)
            return
        first, rest = split_page(page)
        self.settings[_FIRST_PART] = first
        super().write(page if self._sent is None else missing_scripts(self._sent, first) + rest)

    def _has_no_session(self) -> bool:
        """Whether nothing about a session can be refused any more."""
        named = any(self.get_argument(name, None) is not None for name in _OF_A_SESSION)
        return not named and "Bokeh-Session-Id" not in self.request.headers


class PatientSocket(WSHandler):
    """Takes a browser up once the page that it will be sent has its colours and its first answers,
    which mostly are there or come at once. What comes a moment later has to wait until the browser
    has drawn the page without it, and is drawn after that."""

    async def _async_open(self, token: str) -> None:
        with suppress(ProtocolError):  # a session that there is not, or not yet
            session = self.application_context.get_session(get_session_id(token))
            if session.connection_count == 0:
                paint_first(session.document, self.request)
                await wait_for_answers(session.document, _LONGEST_FOR_ANSWERS)
        # of a browser that left meanwhile nobody would be told again, and its page kept permanently
        if self.ws_connection is not None and not self.ws_connection.is_closing():
            await super()._async_open(token)


async def _let_scripts_go(count: int) -> None:
    """Until the browser that was just sent the first part has the scripts that stand in it: to
    begin a session keeps the serving thread from sending them, and the browser from running
    them meanwhile."""
    begun, wanted = time.monotonic(), _Scripts.num_sent + count
    while (now := time.monotonic()) < begun + _LONGEST_WAIT:
        is_quiet = now > max(begun, _Scripts.last_sent) + _QUIET
        if _Scripts.num_sent >= wanted or is_quiet:
            return
        await asyncio.sleep(0.005)


def split_page(page: bytes) -> tuple[bytes, bytes]:
    """The part that is the same for every session, and the rest."""
    first, seam, rest = page.partition(SEAM)
    return first + seam, rest


def missing_scripts(sent: bytes, wanted: bytes) -> bytes:
    """Scripts that a page needs and the part that was sent has not."""
    return b"\n".join(one for one in _SCRIPT.findall(wanted) if one not in sent)


def remember_first_part(application: BokehTornado, build: Callable[[], BaseTemplate]) -> None:
    """Know the first part before anybody has asked for a page, by one that needs no
    table."""
    document = Document()
    with set_curdoc(document):
        template = build()
        template.server_doc(document)
        nobody = SimpleNamespace(document=document, token="")
        page = server_html_page_for_session(
            nobody,
            resources=Resources.from_bokeh(application.resources()),
            title=TITLE,
            template=document.template,
            template_variables=document.template_variables,
        )
    application.settings.setdefault(_FIRST_PART, split_page(page.encode())[0])


def send_pages_in_two_parts(application: Application) -> None:
    """Let every page of this server be answered so, and its browser be taken up by a socket that
    waits for its answers."""
    own = {DocHandler: PageInTwoParts, WSHandler: PatientSocket}
    for rule in application.wildcard_router.rules:
        rule.target = own.get(rule.target, rule.target)
