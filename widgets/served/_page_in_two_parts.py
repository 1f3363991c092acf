"""The page's answer in two parts: its scripts travel and run while its session is built.

The first part has nothing of a session or a table in it: the head, the sentence that the page
opens, and the scripts. It is the one that the server sent last, since which scripts a page takes
is known once its components are there.
"""

from __future__ import annotations

import re
from typing import Any

from panel.io.server import DocHandler
from tornado.web import Application

SEAM = b"<!-- the rest is made of a session -->"
"""Where the first part of the page ends."""

_FIRST_PART = "delta_explorer_first_part"
_SCRIPT = re.compile(rb"<script[^>]*\bsrc=[^>]*></script>")
_OF_A_SESSION = ("bokeh-session-id", "bokeh-token")


class PageInTwoParts(DocHandler):
    """Answers as Panel does, the first part early."""

    _sent: bytes | None = None

    async def get_session(self) -> Any:
        """Called by Panel when it has let the request in."""
        known = self.settings.get(_FIRST_PART)
        if known is not None and self._has_no_session():
            self.set_header("Content-Type", "text/html")
            super().write(known)
            self._sent = known
            await self.flush()
        return await super().get_session()

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


def split_page(page: bytes) -> tuple[bytes, bytes]:
    """The part that is the same for every session, and the rest."""
    first, seam, rest = page.partition(SEAM)
    return first + seam, rest


def missing_scripts(sent: bytes, wanted: bytes) -> bytes:
    """Scripts that a page needs and the part that was sent has not."""
    return b"\n".join(one for one in _SCRIPT.findall(wanted) if one not in sent)


def send_pages_in_two_parts(application: Application) -> None:
    """Let every page of this server be answered so."""
    for rule in application.wildcard_router.rules:
        if rule.target is DocHandler:
            rule.target = rule.handler_class = PageInTwoParts
