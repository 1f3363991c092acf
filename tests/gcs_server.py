"""A server that speaks as much of Google Cloud Storage as commits need.

    with gcs_server() as options:
        open_write_store("gs://bucket/t", options)

It keeps objects in memory and honours `ifGenerationMatch=0`: a creation where an object is
already is answered with 412, as the JSON API documents it. It is no proof for the real
store, which is tried anew before the first commit.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import fsspec
from gcsfs.core import GCSFileSystem

BUCKET = "bucket"
ENVIRONMENT = {
    # the other class asks by gRPC first what kind of bucket it is, which nothing here answers
    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
    # else Google is asked how long a token is good
    "FETCH_RAW_TOKEN_EXPIRY": "false",
}
"""What processes need in their environment that are clients of such a server."""

_OBJECT = re.compile(r"/(?:download/)?storage/v1/b/([^/]+)/o/(.+)")
_LISTING = re.compile(r"/storage/v1/b/([^/]+)/o")
_UPLOAD = re.compile(r"/upload/storage/v1/b/([^/]+)/o")


class _Objects:
    def __init__(self) -> None:
        self.held: dict[tuple[str, str], bytes] = {}
        self.lock = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    objects: _Objects
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing: a test is no place for an access log."""

    def do_POST(self) -> None:
        """Create an object from a body of two parts: its name, and its content."""
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = _UPLOAD.fullmatch(url.path)
        if found is None or found[1] != BUCKET:
            return self._answer(404)
        name, content = _parts(body)
        key = unquote(found[1]), name
        with self.objects.lock:
            if parse_qs(url.query).get("ifGenerationMatch") == ["0"] and key in self.objects.held:
                return self._answer(412, {"error": {"code": 412, "message": "conditionNotMet"}})
            self.objects.held[key] = content
        return self._answer(200, _info(key, content))

    def do_GET(self) -> None:
        """An object, what is known of it, or a listing."""
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        if (found := _OBJECT.fullmatch(url.path)) is not None:
            key = unquote(found[1]), unquote(found[2])
            content = self.objects.held.get(key)
            if content is None:
                return self._answer(404, {"error": {"code": 404, "message": "not found"}})
            if asked.get("alt") == "media":
                return self._answer_range(content)
            return self._answer(200, _info(key, content))
        if (found := _LISTING.fullmatch(url.path)) is not None and found[1] == BUCKET:
            return self._answer(200, self._listing(unquote(found[1]), asked))
        return self._answer(404)

    def do_DELETE(self) -> None:
        """Remove an object."""
        found = _OBJECT.fullmatch(urlsplit(self.path).path)
        key = ("", "") if found is None else (unquote(found[1]), unquote(found[2]))
        with self.objects.lock:
            gone = self.objects.held.pop(key, None) is None
        return self._answer(404 if gone else 204)

    def _listing(self, bucket: str, asked: dict[str, str]) -> dict[str, Any]:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter")
        items, folders = [], set()
        with self.objects.lock:
            held = sorted(self.objects.held.items())
        for (place, name), content in held:
            if place != bucket or not name.startswith(prefix):
                continue
            inside, slash, _ = name[len(prefix) :].partition(delimiter or "\0")
            if slash:
                folders.add(prefix + inside + slash)
            else:
                items.append(_info((place, name), content))
        return {"items": items, "prefixes": sorted(folders)}

    def _answer_range(self, content: bytes) -> None:
        if (asked := self.headers.get("Range")) is None:
            return self._send(200, content, "application/octet-stream")
        first, _, last = asked.removeprefix("bytes=").partition("-")
        end = int(last) + 1 if last else len(content)
        return self._send(206, content[int(first) : end], "application/octet-stream")

    def _answer(self, status: int, body: dict[str, Any] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        return self._send(status, data, "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _parts(body: bytes) -> tuple[str, bytes]:
    _, described, rest = body.split(b"--==0==", 2)
    name = json.loads(described.split(b"\n\n", 1)[1])["name"]
    content = rest.split(b"\n\n", 1)[1].removesuffix(b"\n--==0==--")
    return name, content


def _info(key: tuple[str, str], content: bytes) -> dict[str, Any]:
    return {
        "kind": "storage#object",
        "bucket": key[0],
        "name": key[1],
        "size": str(len(content)),
        "generation": "1",
        "updated": "2026-11-01T00:00:00.000Z",
        "md5Hash": base64.b64encode(hashlib.md5(content).digest()).decode(),
    }


@contextlib.contextmanager
def gcs_server() -> Iterator[dict[str, Any]]:
    """A server without objects, as the storage options that lead to it."""
    os.environ.update(ENVIRONMENT)
    fsspec.register_implementation("gs", GCSFileSystem, clobber=True)
    handler = type("Handler", (_Handler,), {"objects": _Objects()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield {"endpoint_url": f"http://127.0.0.1:{server.server_port}", "token": "anon"}
        finally:
            server.shutdown()
            thread.join()
