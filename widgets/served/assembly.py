"""From settings to a server that is ready: what all its sessions share, and its routes."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import panel as pn

import explorer
from explorer.cycle_collector import suit_requests
from explorer.errors import Problem
from explorer.maintenance.documents.state_folder import StateFolder
from widgets.figures.known_defaults import remember_defaults
from widgets.served._authentication import (
    Authentication,
    NoAuthentication,
    OAuthAuthentication,
    SignInAuthentication,
    TokenAuthentication,
)
from widgets.served._closed_connections import silence_closed_connections
from widgets.served._headers import SafeHeaders
from widgets.served._json_addresses import ADDRESSES, JsonAddresses, build_throttle
from widgets.served._login import Logins, SignIn
from widgets.served._oauth import oauth_options
from widgets.served._page_template import FONTS, TITLE, Fonts
from widgets.served._refused_requests import (
    LARGEST_BODY,
    LARGEST_MESSAGE,
    Health,
    NotFound,
    guard_requests,
    lead_back_from_files,
    log_request,
)
from widgets.served._session_page import (
    build_empty,
    build_notice_page,
    build_or_tell,
    build_page,
    current_document,
    current_request,
)
from widgets.served._transfer import (
    WEBSOCKET_LEVEL,
    WEBSOCKET_MEMORY,
    Compressed,
    remember_first_part,
    send_pages_in_two_parts,
)
from widgets.served._unfinished_plans import find_unfinished
from widgets.served.settings import Settings, check_settings, read_oauth
from widgets.session.access import Access
from widgets.session.maintenance import Maintenance
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.people import Listed, UsersFile
from widgets.session.recents import Recents, state_file
from widgets.session.runs import Runs
from widgets.session.table_summaries import TableSummaries
from widgets.session.tokens import UNLOCK, Gate, Unlock
from widgets.session.work import BackgroundRunner, InlineRunner, finish_work
from widgets.theme import static_folder

_UNUSED_SECONDS = 30
"""A session whose browser is gone is given up after this; one that comes back within it goes
on where it was."""

_LOOK_SECONDS = 15
"""Between two looks for such sessions."""

_PING_SECONDS = 30
"""Between two pings to a browser, so that no proxy takes a quiet page for one that is gone."""

_STOP_SECONDS = 5
"""What is being read for pages has so long to end once the server is told to stop."""


class Server:
    """A server that listens from `run` on. `notices` are what its owner should know."""

    def __init__(self, bokeh: Any, shared: Shared, notices: Sequence[str]) -> None:
        self._bokeh = bokeh
        self._shared = shared
        self.notices = tuple(notices)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._bokeh.port)

    def show(self, path: str) -> None:
        """Open a browser on a path once it runs."""
        self._bokeh.io_loop.add_callback(self._bokeh.show, path)

    def run(self) -> None:
        """Serve until the process is told to stop."""
        suit_requests()
        # whoever comes first is to find the scripts of a page at once, too
        self._bokeh.io_loop.add_callback(remember_first_part, self._bokeh._tornado, build_empty)
        try:
            self._bokeh.run_until_shutdown()
        finally:
            self._shared.stop()
            finish_work(_STOP_SECONDS)

    def stop(self) -> None:
        """Stop listening, for who has built it and never ran it."""
        self._shared.stop()
        self._bokeh.stop()


class Shared:
    """What all sessions of a server have in common."""

    def __init__(self, settings: Settings, authentication: Authentication, runs: Runs) -> None:
        self.settings = settings
        self.authentication = authentication
        self.runs = runs
        self.is_stopping = False
        self.catalog = settings.read_catalog()
        self.looked_at = TableSummaries(
            self.catalog.tables,
            scans=settings.scans,
            storage_options=settings.storage_options,
            open_table=self._open,
        )
        has_list = len(self.catalog.tables) > 1 or settings.scans or settings.catalog
        self.summaries = self.looked_at if has_list else None
        self.tables = OpenTables(
            settings.storage_options,
            options_of=self._options_of,
            within=self._within,
            most_bytes=settings.most_bytes,
        )
        # On a page that others reach, one person's tables are nobody else's business.
        self._recents_file = state_file() if settings.is_local else None
        has_state = settings.is_local or settings.has_sign_in
        self.state = StateFolder(settings.state_dir) if has_state else None

    def build_services(
        self, runner: BackgroundRunner, request: Any
    ) -> tuple[PageServices | None, str | None]:
        """What one session works with, and who is at it; no services for who may not come in."""
        visitor = self.authentication.visitor(request)
        if not visitor.is_welcome:
            return None, visitor.name
        services = PageServices(
            runner=runner,
            tables=self.tables,
            access=Access(roots=self._within()),
            recents=Recents(self._recents_file),
            offered=self.settings.uris,
            summaries=self.summaries,
            maintenance=Maintenance(
                is_unlocked=visitor.may_change,
                unlocked_by=self.settings.unlocked_by,
                runs=self.runs,
                state=self.state,
                storage_options=self.settings.storage_options,
                person=visitor.name or self.settings.by,
            ),
        )
        return services, visitor.name

    def build_reading_services(self) -> PageServices:
        """For one question that no page asks: the same tables open, and nothing is kept."""
        return PageServices(
            runner=InlineRunner(),
            tables=self.tables,
            access=Access(roots=self._within()),
            recents=Recents(),
            offered=self.settings.uris,
            summaries=self.summaries,
            looked_at=self.looked_at,
        )

    def stop(self) -> None:
        """No more looks at tables."""
        self.is_stopping = True
        self.looked_at.stop()

    def _open(self, target: str, options: Mapping[str, Any] | None) -> Any:
        return explorer.open_table(target, storage_options=options, within=self._within())

    def _options_of(self, target: str) -> Mapping[str, Any]:
        return {} if self.summaries is None else self.summaries.options_of(target)

    def _within(self) -> tuple[str, ...] | None:
        """The places that may be opened, and where logs may lead; None lets any."""
        if self.settings.is_local and not self.settings.roots:
            return None
        return (*self.catalog.places(), *self.settings.scans)


def build_server(
    settings: Settings, *, gate: Gate | None = None, runs: Runs | None = None
) -> Server:
    """A server that is ready but does not serve yet; port 0 takes a free one.

    Pages that `gate` admits may carry out plans, and `runs` has what they do. Raises
    `InvalidArgumentError` for settings that do not go together.
    """
    check_settings(settings)
    silence_closed_connections()
    remember_defaults()
    port = settings.port or (gate.port if gate is not None else free_port(settings.address))
    origins = settings.websocket_origins(port)
    authentication, options = _build_authentication(settings, port, gate, frozenset(origins))
    shared = Shared(settings, authentication, runs or Runs())

    def build() -> Any:
        runner = BackgroundRunner(current_document())
        runner.prepare()
        pn.state.onload(runner.release)
        services, person = shared.build_services(runner, current_request())
        return _build_refusal(person) if services is None else build_page(services, person)

    server = pn.io.server.get_server(
        {"/": lambda: build_or_tell(build)},
        port=port,
        address=settings.address,
        prefix=settings.prefix.strip("/"),
        websocket_origin=origins,
        title=TITLE,
        location=False,
        show=False,
        start=False,
        extra_patterns=_build_routes(shared, gate, origins),
        # What a browser sends to prove itself must not come back within the page.
        include_cookies=[],
        exclude_headers=["Cookie", "Authorization"],
        # nobody makes up a session: a link that names one is refused
        sign_sessions=True,
        secret_key=secrets.token_bytes(32),
        use_xheaders=settings.behind_proxy,
        unused_session_lifetime_milliseconds=_UNUSED_SECONDS * 1000,
        check_unused_sessions_milliseconds=_LOOK_SECONDS * 1000,
        # Bokeh's own ping takes the session from a socket that it finds closed; what the
        # socket has still to tell of, its end included, then fails.
        keep_alive_milliseconds=0,
        websocket_ping_interval=_PING_SECONDS,
        websocket_ping_timeout=0,  # a page that is at work for long answers when it can
        websocket_max_message_size=LARGEST_MESSAGE,
        http_server_kwargs={"max_body_size": LARGEST_BODY, "max_header_size": LARGEST_BODY},
        log_function=log_request,
        websocket_compression_level=WEBSOCKET_LEVEL,
        websocket_compression_mem_level=WEBSOCKET_MEMORY,
        **options,
    )
    server._tornado.add_transform(SafeHeaders)
    server._tornado.add_transform(Compressed)
    server._tornado.settings |= {
        "default_handler_class": NotFound,
        "default_handler_args": {"home": settings.home},
    }
    guard_requests(server._tornado, origins)
    send_pages_in_two_parts(server._tornado)
    lead_back_from_files(server._tornado, settings.home)
    return Server(server, shared, _notices(settings, shared))


def _build_authentication(
    settings: Settings, port: int, gate: Gate | None, origins: frozenset[str]
) -> tuple[Authentication, dict[str, Any]]:
    """Who is let in, and what Panel has to know of it."""
    if settings.users is not None:
        users = UsersFile(settings.users)
        logins = Logins(settings.cookie_secret or secrets.token_urlsafe(48), port)
        authentication: Authentication = SignInAuthentication(
            logins, users, settings.home, maintenance=settings.maintenance
        )
        return authentication, {"auth_provider": SignIn(users, logins, origins)}
    if settings.oauth is not None:
        oauth, secret = read_oauth(settings.oauth), settings.cookie_secret or ""
        people = Listed(oauth.maintainers, oauth.members)
        authentication = OAuthAuthentication(
            secret, people, settings.home, maintenance=settings.maintenance
        )
        return authentication, oauth_options(oauth, secret, settings.home)
    return (NoAuthentication() if gate is None else TokenAuthentication(gate)), {}


def _build_routes(shared: Shared, gate: Gate | None, hosts: Collection[str]) -> list[Any]:
    asked = {
        "authentication": shared.authentication,
        "build_services": shared.build_reading_services,
        "hosts": frozenset(hosts),
        "throttle": build_throttle(),
    }
    routes: list[Any] = [
        ("/health", Health, {"is_stopping": lambda: shared.is_stopping}),
        (ADDRESSES, JsonAddresses, asked),
        (FONTS, Fonts, {"path": str(static_folder() / "fonts")}),
    ]
    if gate is not None:
        routes.append((UNLOCK, Unlock, {"gate": gate}))
    return routes


def _build_refusal(person: str | None) -> Any:
    who = "You are" if person is None else f"{person} is"
    problem = Problem(
        kind="storage_refused",
        problem="You may not open this page.",
        reason=f"{who} not among the people who may.",
        remedy="Ask whoever runs this page, or sign in as somebody else.",
    )
    return build_notice_page(problem)


def _notices(settings: Settings, shared: Shared) -> list[str]:
    said = []
    if not settings.is_local and not settings.has_sign_in:
        said.append("Whoever reaches this address sees these tables: nobody has to sign in.")
    if shared.state is not None and settings.maintenance:
        said += find_unfinished(shared.state)
    return said


def free_port(address: str) -> int:
    """A port that nobody listens on now."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
