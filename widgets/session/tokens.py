"""Who may change tables through a served page: a token, exchanged once for a cookie.

The server prints a link with the token. The browser that opens it gets a cookie in its
place, and the token is invalid afterwards. What a session may do is decided when
its page is asked for, by the cookie of that request, and never by what a page says.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from typing import Any

from tornado.web import RequestHandler

from widgets.markup import Markup, html
from widgets.state import parse_address, render_address

UNLOCK = "/unlock"
"""The path of the link that is printed."""

_KEY_BYTES = 32

CHOOSES_SESSION = frozenset({"bokeh-session-id", "bokeh-token"})
"""Arguments by which a link names the session it wants: who made that link would share it."""


class Gate:
    """Admits the browser that was shown the link, as long as the server runs; `home` is the
    path of the page."""

    def __init__(self, port: int, home: str = "/") -> None:
        self.port = port
        self.home = home
        # Cookies do not know ports: two servers on one machine need two names.
        self.cookie = f"delta-explorer-{port}"
        self.token = secrets.token_urlsafe(_KEY_BYTES)
        self._key = secrets.token_urlsafe(_KEY_BYTES)
        self._is_spent = False
        self._lock = threading.Lock()

    def exchange(self, token: str) -> str | None:
        """The cookie's value for the token, the first time; None else."""
        fits = _same(token, self.token)
        with self._lock:
            if not fits or self._is_spent:
                return None
            self._is_spent = True
        return self._key

    def admits(self, request: Any) -> bool:
        """Whether the page that this HTTP request asks for may change tables.

        Only a request for the page itself counts, and none that chooses its session.
        """
        if not asks_for_page(request, self.home):
            return False
        held = request.cookies.get(self.cookie)
        return held is not None and _same(held.value, self._key)


def asks_for_page(request: Any, home: str) -> bool:
    """Whether this HTTP request is one for the page itself, at the path `home`, and none
    that chooses its session."""
    if request is None or request.path != home or CHOOSES_SESSION & request.arguments.keys():
        return False
    return "Bokeh-Session-Id" not in request.headers


class Unlock(RequestHandler):
    """Takes the token out of the address and puts a cookie in its place."""

    def initialize(self, gate: Gate) -> None:
        """Called by tornado with the gate of the route."""
        self._gate = gate

    def get(self) -> None:
        """Lead to the page that the link names, with the cookie; or say why not."""
        self.set_header("Cache-Control", "no-store")
        key = self._gate.exchange(self.get_query_argument("token", ""))
        if key is None:
            self.set_status(403)
            self.finish(_render_spent(self._gate.home))
            return
        # No page of another site sends it, and no script reads it.
        home = self._gate.home
        self.set_cookie(self._gate.cookie, key, path=home, httponly=True, samesite="Strict")
        wanted, _ = parse_address(self.request.query)
        self.redirect(home + render_address(wanted))

    def _log(self) -> None:
        """Nothing: the address of such a request holds a token."""


def _render_spent(home: str) -> Markup:
    return html(
        """<!doctype html><html lang="en"><meta charset="utf-8"><title>Delta Explorer</title>
<body style="font:16px/1.5 sans-serif;max-width:34em;margin:12vh auto;padding:0 1em">
<h1 style="font-size:1.3em">This link does not unlock maintenance.</h1>
<p>It was opened before, or belongs to a server that has been stopped. The browser that opened it
first keeps the right to change tables.</p><p><a href="{}">Open the page read-only</a>, or start the
server again for a new link.</p>""",
        home,
    )


def _same(given: str, wanted: str) -> bool:
    """Compared in constant time, so that nothing can be learned by trying."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())
