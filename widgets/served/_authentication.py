"""Who is at a page, and whether they may change tables from it.

It is decided by the HTTP request that asked for the page, as the browser sent it. What Bokeh
offers by that name takes cookies and arguments from the session's token, which whoever opens
the session may have written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tornado.web import decode_signed_value

from widgets.served._login import Login, Logins
from widgets.session.people import People
from widgets.session.tokens import Gate, asks_for_page


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Whoever is at one page. `may_change` is asked each time; `name` is None where nobody has
    to say it, `is_welcome` is false for somebody who is known and may not come in."""

    name: str | None = None
    may_change: Callable[[], bool] = _never
    is_welcome: bool = True


class Authentication(Protocol):
    """Tells visitors apart."""

    def visitor(self, request: Any) -> Visitor:
        """Who sent this HTTP request; None for a request that is not known."""
        ...


class NoAuthentication:
    """Everybody looks, nobody changes."""

    def visitor(self, request: Any) -> Visitor:  # noqa: ARG002 - see `Authentication`
        """See `Authentication.visitor`."""
        return Visitor()


class TokenAuthentication:
    """The browser that opened the printed link may change tables."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def visitor(self, request: Any) -> Visitor:
        """See `Authentication.visitor`."""
        is_admitted = self._gate.admits(request)
        return Visitor(may_change=lambda: is_admitted)


class SignInAuthentication:
    """People who have signed in with a password; their roles are looked up each time."""

    def __init__(self, logins: Logins, people: People, home: str, *, maintenance: bool) -> None:
        self._logins, self._people = logins, people
        self._home = home
        self._maintenance = maintenance

    def visitor(self, request: Any) -> Visitor:
        """See `Authentication.visitor`."""
        login = self._logins.read(request)
        if login is None:
            return Visitor(is_welcome=False)
        chosen = not asks_for_page(request, self._home)

        def may_change() -> bool:
            return self._maintenance and not chosen and self._is_maintainer(login)

        return Visitor(name=login.name, may_change=may_change)

    def _is_maintainer(self, login: Login) -> bool:
        return self._people.role_of(login.name) == "maintenance" and self._logins.is_valid(login)


class OAuthAuthentication:
    """People whom an OAuth provider has named, by the cookie that Panel signs."""

    COOKIE = "user"

    def __init__(self, secret: str, people: People, home: str, *, maintenance: bool) -> None:
        self._secret, self._people = secret, people
        self._home = home
        self._maintenance = maintenance

    def visitor(self, request: Any) -> Visitor:
        """See `Authentication.visitor`."""
        name = self._name(request)
        if name is None:
            return Visitor(is_welcome=False)
        chosen = not asks_for_page(request, self._home)

        def may_change() -> bool:
            return self._maintenance and not chosen and self._people.role_of(name) == "maintenance"

        return Visitor(
            name=name, may_change=may_change, is_welcome=self._people.role_of(name) is not None
        )

    def _name(self, request: Any) -> str | None:
        held = None if request is None else request.cookies.get(self.COOKIE)
        if held is None:
            return None
        data = decode_signed_value(self._secret, self.COOKIE, held.value, max_age_days=1)
        return None if data is None else data.decode("utf-8", "replace")
