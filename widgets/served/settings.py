"""How a server is set up, and which of it does not go together."""

from __future__ import annotations

import json
import os
import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from explorer.errors import InvalidArgumentError
from explorer.protocol.values.unicode_text import check_unicode
from explorer.storage.local_file import read_local_text
from explorer.storage.location import parse_location
from widgets.served._login import check_secret
from widgets.session.access import is_loopback
from widgets.session.catalog import Catalog, Offered, read_catalog
from widgets.session.page_services import MOST_BYTES

ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})
"""Listens on every address of the machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """A provider that Panel knows, and who may do what. `members` are the only people who come
    in, None lets everybody whom the provider names."""

    provider: str
    key: str
    secret: str = field(repr=False)
    redirect_uri: str | None = None
    extra_params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    maintainers: tuple[str, ...] = ()
    members: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One server. Storage options, the cookie secret and the places, whose URLs may hold
    credentials, are in no text of this object.

    - `uris`, `catalog` (a file) and `scans` (folders or URLs to search) are offered; `roots`
      may be opened besides, and are where logs may lead
    - `users` (a file) or `oauth` (a file) say who may come in
    - `prefix` is the path before the page's own, `origins` are the hosts, with their ports, by
      which browsers know it; `behind_proxy` believes what a proxy says of the sender
    - `by` is who changes tables where nobody signs in
    """

    uris: tuple[str, ...] = field(default=(), repr=False)
    port: int = 0
    address: str = "127.0.0.1"
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    maintenance: bool = False
    by: str | None = None
    catalog: str | None = None
    scans: tuple[str, ...] = field(default=(), repr=False)
    roots: tuple[str, ...] = field(default=(), repr=False)
    users: str | None = None
    oauth: str | None = None
    cookie_secret: str | None = field(default=None, repr=False)
    prefix: str = ""
    origins: tuple[str, ...] = ()
    behind_proxy: bool = False
    state_dir: str | None = None
    most_bytes: int = MOST_BYTES

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches the page, through no proxy either."""
        hosts = {origin.rpartition(":")[0] or origin for origin in self.origins}
        return is_loopback(self.address) and not self.behind_proxy and all(map(is_loopback, hosts))

    @property
    def has_sign_in(self) -> bool:
        """Whether people have to say who they are."""
        return self.users is not None or self.oauth is not None

    @property
    def unlocked_by(self) -> Literal["", "link", "role"]:
        """What lets a page change tables, beyond how it was started."""
        if not self.maintenance:
            return ""
        return "role" if self.has_sign_in else "link"

    @property
    def home(self) -> str:
        """The path of the page, with a slash at its end."""
        inner = self.prefix.strip("/")
        return f"/{inner}/" if inner else "/"

    def read_catalog(self) -> Catalog:
        """Everything that is offered by name, and the further roots."""
        known = Catalog() if self.catalog is None else read_catalog(self.catalog)
        named = tuple(Offered(target=uri) for uri in self.uris)
        return Catalog(tables=(*named, *known.tables), roots=(*known.roots, *self.roots))

    def websocket_origins(self, port: int) -> list[str]:
        """The hosts, with their ports, whose pages may open a session."""
        if self.origins:
            return sorted(self.origins)
        if self.address in ANY_ADDRESS:
            hosts = {"localhost", "127.0.0.1", socket.gethostname(), socket.getfqdn()}
        elif is_loopback(self.address):
            hosts = {"localhost", "127.0.0.1", self.address}
        else:
            hosts = {self.address, "localhost"}
        return sorted(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts)


def check_settings(settings: Settings) -> None:
    """Raise `InvalidArgumentError` for what does not go together, before anything listens."""
    for place in (*settings.uris, *settings.scans, *settings.roots):
        parse_location(place)
    if settings.users is not None and settings.oauth is not None:
        raise InvalidArgumentError(
            "Both --users and --oauth are given.",
            reason="A page can only have one way to sign in.",
            remedy="Leave out --users or --oauth.",
        )
    if settings.by is not None:
        _check_name(settings.by, has_sign_in=settings.has_sign_in)
    if settings.maintenance and not settings.is_local and not settings.has_sign_in:
        raise _unguarded(settings.address)
    if settings.cookie_secret is not None:
        check_secret(settings.cookie_secret)
    elif settings.has_sign_in and not (settings.is_local and settings.oauth is None):
        raise InvalidArgumentError(
            "A page that people sign in to needs a cookie secret.",
            reason="It signs what a browser holds; a new one at each start would send everybody "
            "back to the login page.",
            remedy="Make one with `python3 -c 'import secrets; print(secrets.token_urlsafe(48))'` "
            "and give it as DELTA_EXPLORER_COOKIE_SECRET, or its file with --cookie-secret-file.",
        )
    if settings.behind_proxy and not settings.origins:
        raise InvalidArgumentError(
            "A page behind a proxy needs to know its own name.",
            reason="Browsers reach it under the proxy's host, and any other is refused.",
            remedy="Give it as --origin explorer.example.org, with a port where it has one.",
        )
    for origin in settings.origins:
        if "/" in origin or "*" in origin or not origin.strip():
            raise InvalidArgumentError(
                f"{origin[:80]!r} is not a valid origin.",
                reason="An origin is a host and a port as in the browser's address, without "
                "scheme, path or wildcard.",
                remedy="Write it as --origin explorer.example.org, or example.org:8443.",
            )


def read_oauth(file: str) -> OAuth:
    """What is said of an OAuth provider in a YAML, TOML or JSON file; no message repeats a
    value of it."""
    path = Path(file)
    try:
        text = read_local_text(path)
        if path.suffix == ".toml":
            document: Any = tomllib.loads(text)
        else:
            document = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise _no_oauth(file, error.strerror or "The system refused.") from error
    except (ValueError, yaml.YAMLError):
        raise _no_oauth(file, "It cannot be parsed.") from None
    if not isinstance(document, dict) or not document.keys() <= set(OAuth.__slots__):
        raise _no_oauth(file, f"It may hold {', '.join(OAuth.__slots__)} and nothing else.")
    texts = {name: document.get(name) for name in ("provider", "key", "secret")}
    if not all(isinstance(value, str) and value for value in texts.values()):
        raise _no_oauth(file, "It needs `provider`, `key` and `secret`, each a text.")
    return OAuth(
        provider=document["provider"],
        key=document["key"],
        secret=os.path.expandvars(document["secret"]),
        redirect_uri=document.get("redirect_uri"),
        extra_params=dict(document.get("extra_params") or {}),
        maintainers=_names(file, document.get("maintainers") or ()),
        members=None if document.get("members") is None else _names(file, document["members"]),
    )


def _names(file: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise _no_oauth(file, "`maintainers` and `members` are lists of names.")
    return tuple(value)


def _no_oauth(file: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The OAuth file {file} cannot be used.",
        reason=reason,
        remedy="Write it as docs/serving.md shows.",
    )


def _check_name(name: str, *, has_sign_in: bool) -> None:
    if has_sign_in:
        raise InvalidArgumentError(
            "A name and a way to sign in were both given.",
            reason="Who signs in has a name already.",
            remedy="Leave out --by.",
        )
    check_unicode(name, "The name of the person cannot be read.")


def _unguarded(address: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "Maintenance is not offered to other machines.",
        reason=f"The address {address} is reached from elsewhere, and nobody would have to say "
        "who they are before they change tables.",
        remedy="Let people sign in with --users or --oauth, serve it on this machine alone, or "
        "leave out --maintenance.",
    )
