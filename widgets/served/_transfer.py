"""What travels: compressed, and once where it never changes.

`python -m benchmarks.page` counts it; docs/performance.md has what it was.
"""

from __future__ import annotations

from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.web import GZipContentEncoding

WEBSOCKET_LEVEL = 4
"""A higher one takes the serving thread longer than what it saves."""

WEBSOCKET_MEMORY = 8

_YEARS = "max-age=315360000"
"""What tornado says of a file whose address has its digest."""

_MOST_KEPT = 64
"""Files; a page asks for ten."""

_kept: dict[str, bytes] = {}
"""Compressed files by the digest of what is in them."""


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
