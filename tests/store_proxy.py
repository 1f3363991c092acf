"""A proxy in front of a store's server: it hands on every request, and answers the one that
creates a commit as it is told to.

    with s3_server() as options, proxied(options) as found:
        found.proxy.fail("lost", 1)  # version 1 is created, and its writer told that it failed
        pipeline.write(rows, uri, storage_options=found.options)

Another process tells it by `ProxyElsewhere`.
"""

from __future__ import annotations

import contextlib
import re
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

Fault = Literal["lost", "dropped", "blind", "late", "never"]
"""`lost`: the commit is created, and its writer is told that it failed. `dropped`: the same, but
there is no answer at all, so that clients ask again. `blind`: as `lost`, and nobody can read the
log afterwards. `late`: the writer is told that it failed, nobody can read the log, and the commit
is created when the store is sound again. `never`: as `late`, but it is not."""

FAULTS: Final[tuple[Fault, ...]] = get_args(Fault)
UNKNOWN: Final = frozenset({"blind", "late", "never"})
"""Those after which nobody can know whether the commit is there."""

_LOG: Final = b"_delta_log"
_COMMIT: Final = re.compile(rb"_delta_log(?:/|%2F)\d{20}\.json", re.IGNORECASE)
# no client asks again after it
_REFUSAL: Final = 400
_TOLD: Final = re.compile(r"/-/(\w+)(?:/(\d+))?")
_OF_CONNECTIONS: Final = frozenset({"connection", "transfer-encoding", "keep-alive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request as the server gets it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> bytes:
        """What may name an object: Google's clients say it in the body."""
        return self.path.encode() + (self.body if self.method == "POST" else b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Proxy:
    """What becomes of requests to the server at `target`, such as `http://127.0.0.1:5000`."""

    def __init__(self, target: str) -> None:
        self._target = urlsplit(target).netloc
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        self._commit = b""
        self._is_blind = False
        self._late: _Asked | None = None
        self.url = ""
        self.deleted: list[str] = []
        """The paths of requests to delete what is not in the log."""
        self.committed: list[str] = []
        """By which way each commit came that was created: `options` or `profile`."""

    def fail(self, fault: Fault, version: int) -> None:
        """Answer whoever creates the commit of this version next so."""
        with self._lock:
            self._fault, self._commit = fault, f"{version:020}.json".encode()
            self.deleted.clear()

    def heal(self) -> bool:
        """The store is sound again, and what was under way has taken effect. Whether a commit was
        answered wrongly meanwhile."""
        with self._lock:
            was_met = self._fault is None
            self._fault, self._is_blind, late, self._late = None, False, self._late, None
        if late is not None:
            assert self._send(late).status < 300
        return was_met

    def answer(self, asked: _Asked, way: str) -> _Answer | None:
        """What the client gets; None where nothing comes."""
        is_of_log = _LOG in asked.text
        with self._lock:
            fault = None
            if asked.method in {"PUT", "POST"} and self._commit and self._commit in asked.text:
                fault, self._fault = self._fault, None
            if fault in UNKNOWN:
                self._is_blind = True
                self._late = asked if fault == "late" else None
            elif self._is_blind and is_of_log:
                return _Answer(status=_REFUSAL)
            if asked.method == "DELETE" and not is_of_log:
                self.deleted.append(asked.path)
        if fault in {"late", "never"}:
            return _Answer(status=_REFUSAL)
        answer = self._send(asked)
        if asked.method in {"PUT", "POST"} and answer.status < 300 and _COMMIT.search(asked.text):
            with self._lock:
                self.committed.append(way)
        if fault is None:
            return answer
        assert answer.status < 300, answer
        return None if fault == "dropped" else _Answer(status=_REFUSAL)

    def _send(self, asked: _Asked) -> _Answer:
        server = HTTPConnection(self._target, timeout=60)
        try:
            server.request(asked.method, asked.path, asked.body or None, dict(asked.headers))
            found = server.getresponse()
            kept = (item for item in found.getheaders() if item[0].lower() not in _OF_CONNECTIONS)
            return _Answer(status=found.status, headers=tuple(kept), body=found.read())
        finally:
            server.close()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    way: str
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing: a test is no place for an access log."""

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        asked = _Asked(
            method=self.command,
            path=self.path,
            headers={name: value for name, value in self.headers.items() if name != "Connection"},
            body=self.rfile.read(length),
        )
        told = _TOLD.fullmatch(self.path)
        answer = self.proxy.answer(asked, self.way) if told is None else self._obey(told)
        if answer is None:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        # of an answer to HEAD it is the length that the object has
        is_told = any(name.lower() == "content-length" for name, _ in answer.headers)
        for name, value in answer.headers:
            self.send_header(name, value)
        if not is_told:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    # the names that the library looks for
    do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _handle  # noqa: N815

    def _obey(self, told: re.Match[str]) -> _Answer:
        if told[1] == "heal":
            return _Answer(status=200, body=str(int(self.proxy.heal())).encode())
        if told[1] in {"deleted", "committed"}:
            told_of: list[str] = getattr(self.proxy, told[1])
            return _Answer(status=200, body="\n".join(told_of).encode())
        fault: Any = told[1]
        self.proxy.fail(fault, int(told[2]))
        return _Answer(status=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxied:
    """The storage options that lead through a proxy to a store: those that a caller gives, and
    those of a profile, so that the proxy knows by which of them it is asked."""

    options: dict[str, Any]
    profile: dict[str, Any]
    proxy: Proxy


@contextlib.contextmanager
def proxied(options: Mapping[str, Any]) -> Iterator[Proxied]:
    """A proxy to where `options` lead."""
    target = re.findall(r"http://127\.0\.0\.1:\d+", str(options))[0]
    proxy = Proxy(target)
    with _listening(proxy, "options") as url, _listening(proxy, "profile") as other:
        proxy.url = url
        yield Proxied(
            options=_leading(options, target, url),
            profile=_leading(options, target, other),
            proxy=proxy,
        )


@contextlib.contextmanager
def _listening(proxy: Proxy, way: str) -> Iterator[str]:
    handler = type("Handler", (_Handler,), {"proxy": proxy, "way": way})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # many ask at once
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Nothing: a client that is killed hears no answer."""


def _leading(options: Mapping[str, Any], target: str, url: str) -> dict[str, Any]:
    return {
        name: value.replace(target, url) if isinstance(value, str) else value
        for name, value in options.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyElsewhere:
    """The proxy at `url`, in another process."""

    url: str

    def fail(self, fault: Fault, version: int) -> None:
        """As `Proxy.fail`."""
        self._ask(f"{fault}/{version}")

    def heal(self) -> bool:
        """As `Proxy.heal`."""
        return self._ask("heal") == "1"

    @property
    def deleted(self) -> list[str]:
        """As `Proxy.deleted`."""
        return self._ask("deleted").splitlines()

    @property
    def committed(self) -> list[str]:
        """As `Proxy.committed`."""
        return self._ask("committed").splitlines()

    def _ask(self, what: str) -> str:
        with urllib.request.urlopen(f"{self.url}/-/{what}", timeout=60) as answer:
            found: str = answer.read().decode()
            return found
