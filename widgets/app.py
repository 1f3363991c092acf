"""The served page: the explorer in its shell, one session per browser tab."""

from __future__ import annotations

import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui
from bokeh.document import Document
from panel_material_ui.template.base import Page
from tornado.web import OutputTransform

from explorer.errors import InvalidArgumentError
from explorer.maintenance.state_folder import StateFolder
from explorer.storage.location import parse_location
from widgets.components.address_bar import AddressBar
from widgets.components.live_html import LiveHtml
from widgets.components.pieces import render_problem
from widgets.services.access import Access, is_loopback
from widgets.services.desk import Desk, Shelf
from widgets.services.maintenance import Maintenance
from widgets.services.recents import Recents, state_file
from widgets.services.runs import Runs
from widgets.services.tokens import UNLOCK, Gate, Unlock
from widgets.services.work import BackgroundRunner, unexpected
from widgets.state import (
    ADDRESSED,
    VIEW_ICONS,
    VIEW_TITLES,
    VIEWS,
    Address,
    PageState,
    parse_address,
    render_address,
)
from widgets.theme import MATERIAL, static_folder
from widgets.views.explorer import Explorer
from widgets.views.start import Picker, StartView

TITLE = "Delta Explorer"
DEFAULT_PORT = 5006
SWITCH_SECONDS = 0.0005

_SIDEBAR = 208
_HEADER = 52


class _FrameGuard(OutputTransform):
    """Forbids other pages to frame this one; the server itself sends no such header."""

    def transform_first_chunk(
        self,
        status_code: int,
        headers: Any,
        chunk: bytes,
        finishing: bool,  # noqa: FBT001, ARG002 - tornado's signature
    ) -> tuple[int, Any, bytes]:
        headers["Content-Security-Policy"] = "frame-ancestors 'self'"
        headers["X-Frame-Options"] = "SAMEORIGIN"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "no-referrer"
        return status_code, headers, chunk


def serve(
    uris: Sequence[str] | str = (),
    *,
    port: int = DEFAULT_PORT,
    address: str = "127.0.0.1",
    open_browser: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    maintenance: bool = False,
) -> None:
    """Serve the page until interrupted.

    `uris` are offered in the picker, and the first of them is opened. With port 0
    a free one is taken. On an `address` that other machines reach, only these
    tables and what lies below them can be opened. `storage_options` go to fsspec
    with every table that is opened.

    With `maintenance` the browser that opens the printed link first may carry out
    plans; its link works once. What is being carried out when the server is stopped
    ends between two changes, with a receipt.

    Raises `InvalidArgumentError` for a place that cannot be one and for maintenance
    beyond this machine, and `OSError` where the port is taken.
    """
    offered = (uris,) if isinstance(uris, str) else tuple(uris)
    runs = Runs()
    gate = Gate(port or _free_port(address)) if maintenance else None
    server = build_server(
        offered,
        port=port if gate is None else gate.port,
        address=address,
        storage_options=storage_options,
        gate=gate,
        runs=runs,
    )
    link = page_link(address, server.port, offered[:1], gate)
    _say(f"Delta Explorer is at {link}")
    if gate is not None:
        _say("Maintenance is on: the browser that opens this link first may change tables.")
    if open_browser:
        server.io_loop.add_callback(server.show, _path_of(link))
    # Each of the many short turns of the serving thread waits this long for every busy
    # worker: with Python's 5 ms a page takes half a minute while a long log is read.
    sys.setswitchinterval(SWITCH_SECONDS)
    # Themed plots come back from the browser as models that the server has already.
    warnings.filterwarnings("ignore", message="reference already known")
    try:
        server.run_until_shutdown()  # stops itself, by Ctrl-C and by SIGTERM
    finally:
        if runs.stop():
            _say("What was being carried out has ended; its receipt says how far it came.")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the lines that people wait for


def build_server(
    uris: Sequence[str] = (),
    *,
    port: int = 0,
    address: str = "127.0.0.1",
    storage_options: Mapping[str, Any] | None = None,
    gate: Gate | None = None,
    runs: Runs | None = None,
) -> Any:
    """A Panel server that is ready but not started; port 0 takes a free one.

    Pages that `gate` admits may carry out plans, and `runs` has what they do. Raises
    `InvalidArgumentError` for a gate where other machines reach the page.
    """
    local = is_loopback(address)
    if gate is not None and not local:
        raise _unguarded(address)
    for uri in uris:
        parse_location(uri)
    shelf = Shelf(storage_options)
    access = Access(roots=None if local else tuple(uris))
    # On a page that others reach, one person's tables are nobody else's business.
    recents_file = state_file() if local else None
    kept = StateFolder() if local else None
    runs = runs or Runs()
    port = port or _free_port(address)

    def build() -> Any:
        runner = BackgroundRunner(_document())
        pn.state.onload(runner.release)
        is_unlocked = gate is not None and gate.admits(_request())
        desk = Desk(
            runner=runner,
            shelf=shelf,
            access=access,
            recents=Recents(recents_file),
            offered=tuple(uris),
            maintenance=Maintenance(
                is_unlocked=lambda: is_unlocked,
                runs=runs,
                state=kept,
                storage_options=storage_options,
            ),
        )
        return build_page(desk)

    server = pn.io.server.get_server(
        {"/": build},
        port=port,
        address=address,
        websocket_origin=_origins(address, port),
        title=TITLE,
        location=False,
        show=False,
        start=False,
        extra_patterns=[] if gate is None else [(UNLOCK, Unlock, {"gate": gate})],
        # What a browser sends to prove itself must not come back within the page.
        include_cookies=[],
        exclude_headers=["Cookie"],
    )
    server._tornado.add_transform(_FrameGuard)
    return server


def build_page(desk: Desk) -> Any:
    """One session's page; what goes wrong while it is built is shown, not waited for."""
    try:
        return _build_shell(desk)
    except Exception as error:  # noqa: BLE001 - else the browser shows a spinner for ever
        return Page(title=TITLE, main=[LiveHtml(render_problem(unexpected(error)))])


def page_link(address: str, port: int, uris: Sequence[str], gate: Gate | None = None) -> str:
    """Where the page is, with the table that it opens on; free of secrets but for the token
    of a `gate`, which is worth nothing once it was used."""
    host = "localhost" if is_loopback(address) or address in {"", "0.0.0.0", "::"} else address
    query = {} if gate is None else {"token": gate.token}
    query |= {"table": parse_location(uris[0]).shown} if uris else {}
    path = "/" if gate is None else UNLOCK
    return f"http://{host}:{port}{path}{'?' + urlencode(query) if query else ''}"


def _unguarded(address: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "Maintenance is not offered to other machines.",
        reason=f"The address {address} is reached from elsewhere, and nobody would have to say "
        "who they are before they change tables.",
        remedy="Serve it on this machine alone, without --address, or leave out --maintenance.",
    )


def _build_shell(desk: Desk) -> Any:
    state = PageState()
    explorer: Explorer

    def open_table(uri: str) -> None:
        explorer.open(Address(table=uri, view=state.view))

    start = StartView(desk, state, open_table)
    explorer = Explorer(desk, state, start.panel)
    picker = Picker(desk, state, open_table)
    bar = AddressBar(lambda search: explorer.go(*parse_address(search)))
    page = Page(
        title=TITLE,
        sidebar=[*picker.panels, _build_navigation(state)],
        main=[explorer.panel, bar],
        header=[pn.Spacer(sizing_mode="stretch_width"), _build_reload(explorer)],
        sidebar_width=_SIDEBAR,
        sidebar_resizable=False,
        theme_config=MATERIAL,
        favicon=static_folder() / "favicon.svg",
        meta_description="Versions, files and protocol of a Delta Lake table",
        busy_indicator=None,
        sx=_SHELL_SX,
    )
    page.param.watch(lambda event: state.param.update(dark=bool(event.new)), "dark_theme")
    state.dark = bool(page.dark_theme)
    bar.keep_theme(page, desk.runner.post)
    _follow_address(state, bar)
    pn.state.on_session_destroyed(lambda _: explorer.close())
    pn.state.on_session_destroyed(lambda _: desk.maintenance.close())
    wanted, complaints = parse_address(_asked_for())
    if wanted.table or desk.offered:
        table = wanted.table or desk.offered[0]
        explorer.open(replace(wanted, table=table), complaints)
    return page


_SHELL_SX = {
    "& .MuiAppBar-root": {
        "backgroundColor": "background.paper",
        "backgroundImage": "none",
        "color": "text.primary",
        "boxShadow": "none",
        "borderBottom": "1px solid",
        "borderColor": "divider",
    },
    "& .MuiToolbar-root": {"minHeight": f"{_HEADER}px !important", "height": f"{_HEADER}px"},
    "& .title": {
        "color": "inherit !important",
        "fontSize": "17px",
        "fontWeight": 700,
        "whiteSpace": "nowrap",
    },
    "& .MuiAppBar-root a": {"color": "inherit"},
    "& main": {"backgroundColor": "background.default"},
    "& .sidebar": {"backgroundColor": "background.paper", "backgroundImage": "none"},
}


def _build_navigation(state: PageState) -> pmui.MenuList:
    items = [{"label": VIEW_TITLES[view], "icon": VIEW_ICONS[view]} for view in VIEWS]
    menu = pmui.MenuList(
        items=items, active=VIEWS.index(state.view), dense=True, sizing_mode="stretch_width"
    )

    def chosen(event: Any) -> None:
        at = event.new[0] if isinstance(event.new, tuple) else event.new
        if isinstance(at, int) and 0 <= at < len(VIEWS):
            state.view = VIEWS[at]

    menu.param.watch(chosen, "active")
    state.param.watch(lambda event: menu.param.update(active=VIEWS.index(event.new)), "view")
    return menu


def _build_reload(explorer: Explorer) -> pmui.IconButton:
    return pmui.IconButton(
        icon="refresh",
        description="Look at the table anew",
        color="default",
        on_click=lambda _: explorer.reload(),
    )


def _follow_address(state: PageState, bar: AddressBar) -> None:
    def write(*_: Any) -> None:
        if not state.opening:
            bar.search = render_address(state.address)
            bar.param.trigger("search")

    state.param.watch(write, [*ADDRESSED, "opening"])


def _asked_for() -> str:
    """The query of the page's first request, as it was sent."""
    context = _document().session_context
    request = context.request if context is not None else None
    arguments: Mapping[str, list[bytes]] = getattr(request, "arguments", None) or {}
    return urlencode(
        [(name, value.decode("utf-8", "replace")) for name, values in arguments.items()
         for value in values]
    )  # fmt: skip


def _request() -> Any:
    """The HTTP request behind this session, as the browser sent it.

    What Bokeh offers by that name takes cookies and arguments from the session's token,
    which whoever opens the session may have written.
    """
    context = _document().session_context
    return None if context is None else getattr(context.request, "_request", None)


def _document() -> Document:
    document = pn.state.curdoc
    if document is None:
        raise RuntimeError("a page is built within its session")
    return document


def _origins(address: str, port: int) -> list[str]:
    hosts = {"localhost", "127.0.0.1"} if is_loopback(address) else {address, "localhost"}
    if address in {"0.0.0.0", "::", ""}:
        hosts = {"localhost", "127.0.0.1", socket.gethostname(), socket.getfqdn()}
    return sorted(f"{host}:{port}" for host in hosts)


def _free_port(address: str) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def _path_of(link: str) -> str:
    return "/" + link.split("/", 3)[3]
