"""Which tables a page may open.

On the loopback address the person at the page is the one who started it, and
any table opens. Beyond it, only the tables that were served, and what lies below
them: a pasted or linked place is refused before anything is read.
"""

from __future__ import annotations

import ipaddress
import os
import posixpath
from dataclasses import dataclass

from explorer.errors import UnsupportedError
from explorer.storage.location import Location, parse_location


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`roots` are the only places that open; None opens any."""

    roots: tuple[str, ...] | None = None

    def check(self, uri: str) -> None:
        """Raise `UnsupportedError` (storage_refused) for a place outside the roots."""
        if self.roots is None:
            return
        wanted = _canonical(parse_location(uri))
        if not any(_is_below(wanted, _canonical(parse_location(root))) for root in self.roots):
            raise UnsupportedError(
                "This table is not served here.",
                reason="The page is open to other machines, and only the tables that it was "
                "started with may be opened.",
                remedy="Ask whoever runs it to serve this table too, or run `delta-explorer "
                "serve` on your own machine.",
                kind="storage_refused",
            )


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches `address`."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _canonical(place: Location) -> str:
    if place.scheme == "file":
        # links are resolved, so that none leads out of a root
        return os.path.realpath(place.target)
    scheme, _, rest = place.target.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def _is_below(place: str, root: str) -> bool:
    return place == root or place.startswith(root.rstrip("/") + "/")
