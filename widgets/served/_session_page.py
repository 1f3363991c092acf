"""One session's page: header, navigation, the explorer, and the address in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode
from weakref import WeakKeyDictionary, ref

import panel as pn
from bokeh.document import Document

from explorer.errors import DeltaError, Problem
from explorer.storage.location import parse_location
from widgets.page.address_bar import THEME_COOKIE, AddressBar
from widgets.page.explorer import Explorer, build_plain
from widgets.page.navigation import Navigation
from widgets.screens.start.view import Picker, StartView
from widgets.served._page_template import TITLE, build_template
from widgets.session.page_services import PageServices
from widgets.session.work import change_first, unexpected
from widgets.state import (
    ADDRESSED,
    LISTED,
    Address,
    Notice,
    PageState,
    name_place,
    parse_address,
    render_address,
)
from widgets.ui.component import share_style
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem


def build_or_tell(build: Callable[[], pn.Template]) -> pn.Template:
    """What `build` makes; what goes wrong meanwhile is shown, not waited for."""
    share_style(pn.state.curdoc)
    try:
        return build()
    except Exception as error:  # noqa: BLE001 - else the browser shows a spinner without end
        return build_notice_page(unexpected(error))


def build_notice_page(problem: Problem) -> pn.Template:
    """A page that says one thing."""
    return build_template({"main": build_plain(LiveHtml(render_problem(problem)))})


def build_empty() -> pn.Template:
    """A page of the same scripts, without a table."""
    return build_template({"main": build_plain()})


def build_page(services: PageServices, person: str | None = None) -> pn.Template:
    """One session's page. `person` is who has signed in."""
    state = PageState()
    explorer: Explorer

    def open_table(uri: str) -> None:
        explorer.open(Address(table=uri, view=state.view))

    start = StartView(services, state, open_table)
    explorer = Explorer(services, state, start.panel, has_address=True)
    picker = Picker(services, state, open_table, person)

    def write_address(*events: Any) -> None:
        # a link whose store did not answer stays, so that the page may be loaded again
        is_known = bar.is_settled or state.table or any(event.name == "table" for event in events)
        if is_known and not state.opening:
            bar.write(_render_place(state, services), _title(state, services))

    def go_back(search: str) -> None:
        explorer.go(*parse_address(search))
        write_address()  # also where the address meant nothing new

    bar = AddressBar(go_back)
    navigation = Navigation(state, has_address=True)
    page = build_template(
        {
            "line": explorer.header,
            "tools": explorer.tools,
            "tables": picker.tables,
            "navigation": navigation.panel,
            "beside": picker.beside,
            "main": explorer.panel,
            "bar": bar,
        }
    )
    state.dark = bool(_reads_dark(current_request()))
    bar.keep_theme(state, services.runner.post)
    _not_taken_up[current_document()] = ref(state)
    state.param.watch(write_address, [*ADDRESSED, "opening", "called"])
    pn.state.on_session_destroyed(lambda _: explorer.close())
    pn.state.on_session_destroyed(lambda _: start.close())
    _open_address(explorer, state, bar, services)
    return page


def _render_place(state: PageState, services: PageServices) -> str:
    """The address of what is shown. Where there is one table that a page begins with, that of the
    list says that it is meant."""
    nowhere = LISTED if _only(services) else ""
    return render_address(state.address) or nowhere


def _title(state: PageState, services: PageServices) -> str:
    has_list = services.summaries is not None
    name = name_place(state.address, state.called, has_list=has_list)
    return f"{name} \N{MIDDLE DOT} {TITLE}" if name else ""


def _open_address(
    explorer: Explorer, state: PageState, bar: AddressBar, services: PageServices
) -> None:
    """Go where the page's link leads."""
    asked = f"?{_asked_for()}"
    wanted, complaints = parse_address(asked)
    table = wanted.table or ("" if asked.startswith(LISTED) else _only(services))
    if not table:
        state.tables = wanted.tables
        bar.write(_render_place(state, services), _title(state, services))
    elif any(
        comes_from_elsewhere(current_request(), place, services) for place in (table, wanted.other)
    ):
        state.notice = _FROM_ELSEWHERE
        bar.write("")
    else:
        explorer.open(replace(wanted, table=table), complaints)


def _only(services: PageServices) -> str:
    """The table to begin with where there is no choice."""
    offered = services.offered
    return offered[0] if len(offered) == 1 and services.summaries is None else ""


_FROM_ELSEWHERE = Notice(
    level="warning",
    problem="A page of another site asked for a table on a remote store.",
    reason="Opening it would send requests from this machine to an address that somebody else "
    "has chosen.",
    remedy="If you want it, paste the address into the field below.",
)


def comes_from_elsewhere(request: Any, table: str, services: PageServices) -> bool:
    """Whether a link on a page of another site leads to a store that nobody here has named."""
    sent_by = None if request is None else request.headers.get("Sec-Fetch-Site")
    if sent_by != "cross-site" or table in services.choices():
        return False
    try:
        return parse_location(table).scheme != "file"
    except DeltaError:
        return False  # opening it says what is wrong


def _asked_for() -> str:
    """The query of the page's first request, as it was sent."""
    context = current_document().session_context
    request = context.request if context is not None else None
    arguments: Mapping[str, list[bytes]] = getattr(request, "arguments", None) or {}
    return urlencode(
        [(name, value.decode("utf-8", "replace")) for name, values in arguments.items()
         for value in values]
    )  # fmt: skip


_not_taken_up: WeakKeyDictionary[Document, ref[PageState]] = WeakKeyDictionary()
"""What the pages show that no browser has drawn yet."""


def paint_first(document: Document, request: Any) -> None:
    """Have a page in the colours of its browser before that draws it: what asks for the page on a
    first visit says nothing of them, and the socket that comes next does, since the head of the
    page has them in a cookie by then, or adds them to the socket's address where the browser keeps
    no cookie. Where both are lost on the way, the page tells when it is there."""
    kept, is_dark = _not_taken_up.pop(document, None), _reads_dark(request)
    if is_dark is None and THEME_COOKIE in request.query_arguments:
        is_dark = request.query_arguments[THEME_COOKIE] == [b"dark"]
    state = None if kept is None else kept()
    if state is not None and is_dark is not None and is_dark != state.dark:
        change_first(document, partial(setattr, state, "dark", is_dark))


def _reads_dark(request: Any) -> bool | None:
    """Whether the cookie of a browser says dark; None without one."""
    cookie = None if request is None else request.cookies.get(THEME_COOKIE)
    return None if cookie is None else cookie.value in {"dark", "dark-chosen"}


def current_request() -> Any:
    """The HTTP request behind this session, as the browser sent it.

    What Bokeh offers by that name takes cookies and arguments from the session's token,
    which whoever opens the session may have written.
    """
    context = current_document().session_context
    return None if context is None else getattr(context.request, "_request", None)


def current_document() -> Document:
    """The document of the session that is being built or answered."""
    document = pn.state.curdoc
    if document is None:
        raise RuntimeError("a page is built within its session")
    return document
