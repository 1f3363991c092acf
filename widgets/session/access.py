"""Which tables a page may open.

On the loopback address the person at the page is the one who started it, and any table
opens. Beyond it, only the tables that were served, those of the catalog and what lies below
the roots: a pasted or linked place is refused before anything is read.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from explorer.errors import UnsupportedError
from explorer.storage.location import Location, canonical_place, is_below, parse_location

_LINK = re.compile(r"::(?=[A-Za-z][A-Za-z0-9+.-]*://)")
"""Between the URLs of a chain such as `simplecache::s3://…`."""

_NAMES_OF_METADATA = frozenset({"metadata", "metadata.google.internal", "instance-data"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`roots` are the only places that open; None opens any but those where a cloud hands
    its credentials to whoever asks from this machine.

    Roots may hold credentials in their URLs, so that they are in no text of this object.
    """

    roots: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        """How many places, and none of them."""
        return "Access(any)" if self.roots is None else f"Access({len(self.roots)} roots)"

    def check(self, uri: str) -> None:
        """Raise `UnsupportedError` (storage_refused) for a place outside the roots."""
        place = parse_location(uri)
        if _hands_out_credentials(place):
            raise UnsupportedError(
                "No table is read from there.",
                reason="The address belongs to the machine's own network, where a cloud answers "
                "with its credentials.",
                remedy="Name the table by the store that it lies on.",
                kind="storage_refused",
            )
        if self.roots is None:
            return
        wanted = canonical_place(place)
        if not any(is_below(wanted, canonical_place(parse_location(root))) for root in self.roots):
            raise UnsupportedError(
                "This table is not served here.",
                reason="The page is open to other machines, and only the tables that it was "
                "started with may be opened.",
                remedy="Ask whoever runs it to serve this table too, or run `delta-explorer "
                "serve` on your own machine.",
                kind="storage_refused",
            )


_METADATA_6 = ipaddress.IPv6Address("fd00:ec2::254")


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches `address`."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _hands_out_credentials(place: Location) -> bool:
    if place.scheme == "file":
        return False
    for url in _LINK.split(place.target):
        try:
            host = (urlsplit(url).hostname or "").rstrip(".").lower()
        except ValueError:  # such as http://[x
            continue
        if host in _NAMES_OF_METADATA or _is_link_local(host):
            return True
    return False


def _is_link_local(host: str) -> bool:
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        found = None
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped
        return found == _METADATA_6 or (found if inner is None else inner).is_link_local
    try:
        # as a network library reads it: 2852039166 and 0xa9fea9fe are 169.254.169.254
        return ipaddress.ip_address(socket.inet_aton(host)).is_link_local
    except OSError:
        return False
