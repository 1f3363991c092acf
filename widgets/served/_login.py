"""Sign-in with a name and a password: our own page, which asks nothing of any other host.

Whoever signs in gets a signed cookie with their name and a number of this sign-in. It says
who somebody is; what they may do is looked up each time (`widgets.session.people`).
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bokeh.server.auth_provider import AuthProvider
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler, create_signed_value, decode_signed_value

from explorer.errors import InvalidArgumentError
from widgets.served._headers import BARE_POLICY
from widgets.served._signin_pages import render_login, render_logout
from widgets.served._throttle import Throttle
from widgets.session.people import UsersFile
from widgets.state import parse_address, render_address

LOGIN, LOGOUT = "/login", "/logout"
DAYS = 7
"""How long a sign-in lasts at most."""

_TRIES = {"address": 10, "name": 20, "all": 120}
_WINDOW = 300.0
"""Seconds. Ten guesses in five minutes from one address, twenty at one name from anywhere, and
120 in all, which together cost less than ten seconds of one core."""

_REVOKED_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One sign-in: who, and its number."""

    name: str
    number: str


class Logins:
    """Makes and reads the cookies of one server."""

    def __init__(self, secret: str, port: int) -> None:
        # Cookies do not know ports: two servers on one machine need two names.
        self.cookie = f"delta-explorer-login-{port}"
        self._secret = secret
        self._revoked: dict[str, None] = {}
        self._lock = threading.Lock()

    def issue(self, name: str) -> str:
        """The cookie's value for a person who has just signed in."""
        value = json.dumps({"name": name, "number": secrets.token_urlsafe(16)})
        return create_signed_value(self._secret, self.cookie, value).decode()

    def read(self, request: Any) -> Login | None:
        """Who sends this HTTP request, by its own cookie; None for nobody."""
        held = None if request is None else request.cookies.get(self.cookie)
        if held is None:
            return None
        data = decode_signed_value(self._secret, self.cookie, held.value, max_age_days=DAYS)
        if data is None:
            return None
        found = json.loads(data)
        login = Login(name=found["name"], number=found["number"])
        return login if self.is_valid(login) else None

    def is_valid(self, login: Login) -> bool:
        """Whether they have not signed out since."""
        with self._lock:
            return login.number not in self._revoked

    def revoke(self, login: Login) -> None:
        """They sign out: the cookie is invalid from now on, wherever it was copied to."""
        with self._lock:
            self._revoked[login.number] = None
            while len(self._revoked) > _REVOKED_KEPT:
                del self._revoked[next(iter(self._revoked))]


class SignIn(AuthProvider):  # type: ignore[misc]  # Bokeh's types are not read
    """Tells Bokeh who is there, and has the pages to sign in and out."""

    def __init__(self, users: UsersFile, logins: Logins, origins: frozenset[str]) -> None:
        self._logins = logins
        self._users = users
        self._options = {
            "users": users,
            "logins": logins,
            "origins": origins,
            "throttle": Throttle(_TRIES, _WINDOW),
        }
        super().__init__()

    @property
    def get_user(self) -> Callable[[Any], Any]:
        """The name of whoever sends a request, while their line is in the users file."""

        def user_of(handler: Any) -> str | None:
            login = self._logins.read(handler.request)
            known = login is not None and self._users.role_of(login.name) is not None
            return login.name if login is not None and known else None

        return user_of

    @property
    def get_user_async(self) -> None:
        """Nothing: the other one answers."""

    @property
    def login_url(self) -> str:
        """The path of the page to sign in."""
        return LOGIN

    @property
    def get_login_url(self) -> None:
        """Nothing: it is always the same."""

    @property
    def login_handler(self) -> None:
        """Nothing: see `endpoints`."""

    @property
    def logout_url(self) -> str:
        """The path of the page to sign out."""
        return LOGOUT

    @property
    def logout_handler(self) -> None:
        """Nothing: see `endpoints`."""

    @property
    def endpoints(self) -> list[Any]:
        """The routes of both pages, with what they need."""
        return [(LOGIN, LoginPage, self._options), (LOGOUT, LogoutPage, self._options)]


class _Page(RequestHandler):
    def initialize(
        self, users: UsersFile, logins: Logins, origins: frozenset[str], throttle: Throttle
    ) -> None:
        """Called by tornado with the options of the route."""
        self._users, self._logins, self._origins = users, logins, origins
        self._throttle = throttle
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", BARE_POLICY)
        # without any, a browser would send the form as from nowhere
        self.set_header("Referrer-Policy", "same-origin")

    def _home(self) -> str:
        prefix: str = getattr(self.application, "prefix", "")
        return f"{prefix}/"

    def _wanted(self) -> str:
        """Where to go afterwards: the page itself with a place in it, and nowhere else."""
        named = self.get_argument("next", "")
        return self._home() + render_address(parse_address(urlsplit(named).query)[0])

    def _check_sender(self) -> bool:
        """Whether this page's own form was sent, and not one of another site."""
        origin = self.request.headers.get("Origin")
        sent_by = self.request.headers.get("Sec-Fetch-Site", "same-origin")
        if sent_by in {"same-origin", "none"} and (
            origin is None or urlsplit(origin).netloc.lower() in self._origins
        ):
            return True
        self.set_status(403)
        self.finish("This form was sent by another site, and nothing was done.")
        return False


class LoginPage(_Page):
    """Asks for a name and a password."""

    def get(self) -> None:
        """The form."""
        self.finish(render_login(next_url=self._wanted()))

    async def post(self) -> None:
        """Let somebody in, or say why not; never which of the two was wrong."""
        if not self._check_sender():
            return
        name = self.get_body_argument("name", "")
        password = self.get_body_argument("password", "", strip=False)
        address = self.request.remote_ip or ""
        seconds = self._throttle.wait({"address": address, "name": name[:200], "all": ""})
        if seconds:
            self.set_status(429)
            self.set_header("Retry-After", str(seconds))
            self._refuse(f"Too many tries. The next one is taken in {_in_words(seconds)}.", name)
            return
        loop = IOLoop.current()
        if not await loop.run_in_executor(None, self._users.check, name, password):
            self.set_status(403)
            self._refuse("This name and password do not belong together.", name)
            return
        # a team that comes in the morning is no guessing
        self._throttle.forget("address", address)
        self._throttle.forget("name", name[:200])
        self._throttle.take_back("all", "")
        # No page of another site sends it with a form or a socket, and no script reads it.
        self.set_cookie(
            self._logins.cookie,
            self._logins.issue(name),
            path=self._home(),
            expires_days=DAYS,
            httponly=True,
            samesite="Lax",
            secure=self.request.protocol == "https",
        )
        self.redirect(self._wanted(), status=303)

    def _refuse(self, sentence: str, name: str) -> None:
        self.finish(render_login(next_url=self._wanted(), sentence=sentence, name=name[:200]))


class LogoutPage(_Page):
    """Asks once more, then takes the cookie's worth away."""

    def get(self) -> None:
        """The button."""
        login = self._logins.read(self.request)
        if login is None:
            self.redirect(f"{self._home()}{LOGIN[1:]}")
            return
        self.finish(render_logout(login.name, home=self._home()))

    def post(self) -> None:
        """Sign out."""
        if not self._check_sender():
            return
        login = self._logins.read(self.request)
        if login is not None:
            self._logins.revoke(login)
        self.clear_cookie(self._logins.cookie, path=self._home())
        self.redirect(f"{self._home()}{LOGIN[1:]}", status=303)


def check_secret(secret: str) -> str:
    """A cookie secret that is long enough; raises `InvalidArgumentError`."""
    if len(secret.strip()) < 32:
        raise InvalidArgumentError(
            "The cookie secret is too short.",
            reason="Whoever guesses it can sign in as anybody; it has fewer than 32 characters.",
            remedy="Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'",
        )
    return secret.strip()


def _in_words(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    return f"{-(-seconds // 60)} minutes"
