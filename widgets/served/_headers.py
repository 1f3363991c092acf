"""What every answer of the server says to the browser about itself.

The policy is the strictest with which nothing of the page is missing, measured with Panel 1.9
and Bokeh 3.9 in Chromium: Bokeh makes functions of text (`unsafe-eval`), and components are
modules read from blobs. The scripts within the page carry a number that no text of a table
can know, so that an `onerror=` or a `<script>` which found its way into the page does not run.
"""

from __future__ import annotations

import secrets
from typing import Any

from tornado.httputil import HTTPServerRequest
from tornado.web import OutputTransform

from widgets.markup import html

BARE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""Of pages that are HTML and a form."""

_POLICY = "Content-Security-Policy"


def render_policy(nonce: str) -> str:
    """The policy of the page whose own scripts carry this number."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval' blob:",
            # every component brings its style into its own shadow root
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            # modules of components are read from blobs; 'self' holds for sockets too
            "connect-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


class SafeHeaders(OutputTransform):
    """Added to every answer; a page with a stricter policy keeps its own."""

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._nonce = ""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: Any,
        chunk: bytes,
        finishing: bool,  # noqa: FBT001 - tornado's signature
    ) -> tuple[int, Any, bytes]:
        """Called by tornado once an answer."""
        if _POLICY not in headers:
            nonce = secrets.token_urlsafe(16)
            headers[_POLICY] = render_policy(nonce)
            if headers.get("Content-Type", "").startswith("text/html"):
                self._nonce = nonce
                chunk = self.transform_chunk(chunk, finishing)
                if finishing:
                    headers["Content-Length"] = str(len(chunk))
        if "Referrer-Policy" not in headers:
            headers["Referrer-Policy"] = "no-referrer"
        headers["X-Frame-Options"] = "DENY"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
        headers["Cross-Origin-Resource-Policy"] = "same-origin"
        headers["Permissions-Policy"] = "camera=(), geolocation=(), microphone=()"
        return status_code, headers, chunk

    def transform_chunk(self, chunk: bytes, finishing: bool) -> bytes:  # noqa: FBT001 - tornado's
        """Called by tornado for each part of an answer; no part ends within a tag."""
        del finishing
        if not self._nonce:
            return chunk
        # made of Bokeh's template alone: no text of a table is in it yet
        return chunk.replace(b"<script", html('<script nonce="{}"', self._nonce).encode())
