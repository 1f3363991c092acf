"""What is refused before any part of the page sees it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from typing import Any

from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler

from widgets.served._headers import BARE_POLICY
from widgets.served._signin_pages import render_not_found

LOG = logging.getLogger(__name__)

_EMBEDDING = ("/autoload.js", "/metadata")
"""Paths by which Bokeh lets other pages take this one into themselves."""

LARGEST_MESSAGE = 2**20
"""Bytes of one message of a browser. They are clicks and texts; the longest condition that is
taken has ten thousand characters."""

LARGEST_BODY = 2**16
"""Bytes of a form."""


class Refused(RequestHandler):
    """Says no, whatever was asked."""

    def initialize(self, status: int, sentence: str) -> None:
        """Called by tornado with the options of the route."""
        self._status, self._sentence = status, sentence

    def prepare(self) -> None:
        """Answer before any method is called."""
        self.set_status(self._status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Content-Security-Policy", BARE_POLICY)
        self.finish(f"{self._sentence}\n")

    def check_xsrf_cookie(self) -> None:
        """Nothing is done that a forged request could want."""


class NotFound(RequestHandler):
    """Leads back from an address that there is not."""

    def initialize(self, home: str) -> None:
        """Called by tornado with the options of the route."""
        self._home = home

    def prepare(self) -> None:
        """Answer before any method is called."""
        self.set_status(404)
        _lead_back(self, self._home)

    def check_xsrf_cookie(self) -> None:
        """Nothing is done that a forged request could want."""


def _lead_back(handler: RequestHandler, home: str) -> None:
    handler.set_header("Content-Type", "text/html; charset=utf-8")
    handler.set_header("Content-Security-Policy", BARE_POLICY)
    handler.finish(render_not_found(handler.request.path, home))


def lead_back_from_files(application: Application, home: str) -> None:
    """Let an address of a file that there is not lead back too."""
    for rule in application.wildcard_router.rules:
        if isinstance(rule.target, type) and issubclass(rule.target, StaticFileHandler):
            rule.target = _leading_back(rule.target, home)


def _leading_back(files: type[StaticFileHandler], home: str) -> type[StaticFileHandler]:
    class Leading(files):  # type: ignore[misc, valid-type]
        async def get(self, path: str, include_body: bool = True) -> None:  # noqa: FBT001, FBT002
            if "\0" in path:
                raise HTTPError(404)  # no file has such a name
            await super().get(path, include_body)

        def write_error(self, status_code: int, **options: Any) -> None:
            if 400 <= status_code < 500:
                _lead_back(self, home)
            else:
                super().write_error(status_code, **options)

    return Leading


class Health(RequestHandler):
    """`{"status": "ok"}` for whoever watches over the server; 503 while it stops."""

    def initialize(self, is_stopping: Callable[[], bool]) -> None:
        """Called by tornado with the options of the route."""
        self._is_stopping = is_stopping

    def get(self) -> None:
        """The answer; it asks no table and names none."""
        stopping = self._is_stopping()
        self.set_status(503 if stopping else 200)
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps({"status": "stopping" if stopping else "ok"}) + "\n")

    head = get

    def _log(self) -> None:
        """Nothing: it is asked every few seconds."""


def log_request(handler: Any) -> None:
    """One line for a request that was refused or failed, without its query: that names tables,
    and what is pasted there may hold credentials."""
    status = handler.get_status()
    if status >= 400:
        request = handler.request
        level = logging.ERROR if status >= 500 else logging.WARNING
        LOG.log(level, "%d %s %s (%s)", status, request.method, request.path, request.remote_ip)


def guard_requests(application: Any, hosts: Collection[str] | None) -> None:
    """Refuse what a page of another site could make a browser send.

    `hosts` are the names, with ports, by which browsers may know this server: one that was
    led here under another name believes that it talks to somebody else's site. None takes any.
    """
    find = application.find_handler
    known = None if hosts is None else {host.lower() for host in hosts}
    prefix: str = application.prefix

    def find_handler(request: Any, **options: Any) -> Any:
        refusal = None
        path = request.path.removeprefix(prefix)
        if known is not None and path != "/health" and request.host.lower() not in known:
            refusal = (421, "This server is not known by that name; see --origin.")
        elif path in _EMBEDDING:
            refusal = (404, "This page is not embedded into others.")
        if refusal is None:
            return find(request, **options)
        named = {"status": refusal[0], "sentence": refusal[1]}
        return application.get_handler_delegate(request, Refused, named)

    application.find_handler = find_handler
