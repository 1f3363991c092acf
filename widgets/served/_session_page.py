"""One session's page: header, navigation, the explorer, and the address in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui
from bokeh.document import Document
from panel_material_ui.template.base import Page

from explorer.errors import DeltaError
from explorer.storage.location import parse_location
from widgets.markup import html
from widgets.page.address_bar import THEME_COOKIE, AddressBar
from widgets.page.explorer import Explorer
from widgets.screens.start.view import Picker, StartView
from widgets.session.page_services import PageServices
from widgets.session.work import unexpected
from widgets.state import (
    ADDRESSED,
    VIEW_ICONS,
    VIEW_TITLES,
    VIEWS,
    Address,
    Notice,
    PageState,
    parse_address,
    render_address,
)
from widgets.text import cut
from widgets.theme import DARK, MATERIAL, static_folder
from widgets.ui.live_html import LiveHtml
from widgets.ui.pieces import render_problem

TITLE = "Delta Explorer"

_SIDEBAR = 208
_HEADER = 52


def build_page(services: PageServices, person: str | None = None) -> Any:
    """One session's page; what goes wrong while it is built is shown, not waited for.
    `person` is who has signed in."""
    try:
        return _build_shell(services, person)
    except Exception as error:  # noqa: BLE001 - else the browser shows a spinner without end
        return unwatch_busy(Page(title=TITLE, main=[LiveHtml(render_problem(unexpected(error)))]))


def unwatch_busy(page: Any) -> Any:
    """The page, which no longer follows whether any page of this server is busy: nothing here
    shows it, and nobody takes it back when the page ends, so that it would never be freed."""
    for _, watcher in page._param__private.ref_watchers:
        watcher.inst.param.unwatch(watcher)
    page._param__private.ref_watchers.clear()
    return page


def _build_shell(services: PageServices, person: str | None) -> Any:
    state = PageState()
    explorer: Explorer

    def open_table(uri: str) -> None:
        explorer.open(Address(table=uri, view=state.view))

    start = StartView(services, state, open_table)
    explorer = Explorer(services, state, start.panel)
    picker = Picker(services, state, open_table)

    def write_address(*events: Any) -> None:
        # a link whose store did not answer stays, so that the page may be loaded again
        is_known = bar.is_settled or state.table or any(event.name == "table" for event in events)
        if is_known and not state.opening:
            bar.write(render_address(state.address))

    def go_back(search: str) -> None:
        explorer.go(*parse_address(search))
        write_address()  # also where the address meant nothing new

    bar = AddressBar(go_back)
    page = Page(
        title=TITLE,
        sidebar=[
            *_build_tables_link(services),
            *picker.panels,
            build_navigation(state, services.runner.post),
        ],
        main=[explorer.panel, bar],
        header=[
            pn.Spacer(sizing_mode="stretch_width"),
            explorer.tools,
            *_build_person(person),
            _build_reload(explorer),
        ],
        sidebar_width=_SIDEBAR,
        sidebar_resizable=False,
        theme_config=MATERIAL,
        favicon=static_folder() / "favicon.svg",
        meta_description="Versions, files and protocol of a Delta Lake table",
        busy_indicator=None,
        sx=_SHELL_SX,
    )
    unwatch_busy(page)
    if _begins_dark():
        page.dark_theme = True
        # the empty page, too, until Material has colours
        ground = f"html{{--mui-palette-background-default:{DARK.page}}}"
        page.config.raw_css = [*page.config.raw_css, ground]
    page.param.watch(lambda event: state.param.update(dark=bool(event.new)), "dark_theme")
    state.param.watch(lambda event: page.param.update(dark_theme=bool(event.new)), "dark")
    state.dark = bool(page.dark_theme)
    bar.keep_theme(page, services.runner.post)
    state.param.watch(write_address, [*ADDRESSED, "opening"])
    pn.state.on_session_destroyed(lambda _: explorer.close())
    pn.state.on_session_destroyed(lambda _: start.close())
    _open_address(explorer, state, bar, services)
    return page


def _open_address(
    explorer: Explorer, state: PageState, bar: AddressBar, services: PageServices
) -> None:
    """Go where the page's link leads."""
    wanted, complaints = parse_address(_asked_for())
    table = wanted.table or _only(services.offered)
    if not table:
        bar.write("")
    elif comes_from_elsewhere(current_request(), table, services):
        state.notice = _FROM_ELSEWHERE
        bar.write("")
    else:
        explorer.open(replace(wanted, table=table), complaints)


def _only(tables: Sequence[str]) -> str:
    """The table to begin with where there is no choice."""
    return tables[0] if len(tables) == 1 else ""


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


def _build_tables_link(services: PageServices) -> list[Any]:
    """The link to the list of tables, where there is more than one."""
    if len(services.choices()) < 2 and not (
        services.summaries is not None and services.summaries.progress
    ):
        return []
    # outside of the explorer's own part, whose colours it does not know
    link = html('<a href="./" style="color:inherit">All tables</a>')
    return [LiveHtml(html('<p style="margin:0">{}</p>', link), margin=(14, 16, 0, 16))]


def _build_person(person: str | None) -> list[Any]:
    """Who has signed in, and the way out."""
    if person is None:
        return []
    shown = html(
        '<p style="margin:0;text-align:right;white-space:nowrap" title="{}">'
        '{} <a href="./logout" style="color:inherit">Sign out</a></p>',
        cut(person, 200),
        cut(person, 20),
    )
    return [LiveHtml(shown, width=220, height=24, sizing_mode="fixed", align="center")]


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
    # it has no name, and each view says itself what it waits for
    "& .MuiLinearProgress-root": {"display": "none"},
    "& main": {"backgroundColor": "background.default"},
    "& .sidebar": {"backgroundColor": "background.paper", "backgroundImage": "none"},
}


def build_navigation(state: PageState, post: Callable[[Callable[[], None]], None]) -> pmui.MenuList:
    """The views to choose from. It follows clicks alone: a click reports what is active twice,
    the second time late, and who has pressed Back meanwhile would be led forward again."""
    items = [{"label": VIEW_TITLES[view], "icon": VIEW_ICONS[view]} for view in VIEWS]
    menu = pmui.MenuList(items=items, dense=True, sizing_mode="stretch_width")

    def choose(item: dict[str, str]) -> None:
        state.view = VIEWS[items.index(item)]

    def mark() -> None:
        menu.active = (VIEWS.index(state.view),)

    mark()
    menu.on_click(choose)
    menu.param.watch(lambda _: post(mark), "active")
    state.param.watch(lambda _: mark(), "view")
    return menu


def _build_reload(explorer: Explorer) -> pmui.IconButton:
    return pmui.IconButton(
        icon="refresh",
        description="Look at the table anew",
        color="default",
        on_click=lambda _: explorer.reload(),
    )


def _asked_for() -> str:
    """The query of the page's first request, as it was sent."""
    context = current_document().session_context
    request = context.request if context is not None else None
    arguments: Mapping[str, list[bytes]] = getattr(request, "arguments", None) or {}
    return urlencode(
        [(name, value.decode("utf-8", "replace")) for name, values in arguments.items()
         for value in values]
    )  # fmt: skip


def _begins_dark() -> bool:
    """What the browser's cookie says; without one, the page tells when it is there."""
    request = current_request()
    cookie = None if request is None else request.cookies.get(THEME_COOKIE)
    return cookie is not None and cookie.value in {"dark", "dark-chosen"}


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
