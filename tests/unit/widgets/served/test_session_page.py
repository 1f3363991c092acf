"""Where the link of a page leads, where a link of another site may not, and the first colours."""

from __future__ import annotations

from types import SimpleNamespace
from urllib.parse import urlencode
from weakref import ref

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc
from tornado.httputil import HTTPHeaders, HTTPServerRequest

from widgets.served import _session_page
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import Address, PageState

EVIL = "https://evil.example/t"


def follow(monkeypatch: pytest.MonkeyPatch, sent_by: str, **query: str) -> tuple[list[str], bool]:
    """The places that following a link would open, and whether the page says that it did not."""
    opened: list[str] = []

    def open_place(address: Address, _: list[str]) -> None:
        opened.extend(place for place in (address.table, address.other) if place)

    services = PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents(),
        offered=("s3://lake/served",),
    )  # fmt: skip
    request = SimpleNamespace(headers={"Sec-Fetch-Site": sent_by})
    monkeypatch.setattr(_session_page, "current_request", lambda: request)
    monkeypatch.setattr(_session_page, "_asked_for", lambda: urlencode(query))
    state = PageState()
    explorer, bar = SimpleNamespace(open=open_place), SimpleNamespace(write=lambda *_: None)
    _session_page._open_address(explorer, state, bar, services)  # type: ignore[arg-type]
    return opened, state.notice is not None


@pytest.mark.parametrize(
    "query",
    [
        {"table": EVIL},
        {"table": "/lake/orders", "other": EVIL},
        {"table": "/lake/orders", "view": "compare", "other": f" {EVIL}"},
        {"other": EVIL},  # beside the only table that is served
    ],
)
def test_a_link_of_another_site_opens_no_store_that_nobody_here_has_named(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    assert follow(monkeypatch, "cross-site", **query) == ([], True)
    assert follow(monkeypatch, "none", **query)[0][-1] == EVIL


@pytest.mark.parametrize("other", ["", "/lake/copy", "s3://lake/served"])
def test_a_link_of_another_site_may_lead_to_local_and_served_tables(
    monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    opened, is_refused = follow(monkeypatch, "cross-site", table="/lake/orders", other=other)
    assert opened == [place for place in ("/lake/orders", other) if place]
    assert not is_refused


def test_what_fails_before_there_is_a_page_is_told_without_its_words() -> None:
    def fail() -> pn.Template:
        raise RuntimeError("a secret")

    with set_curdoc(Document()):
        page = _session_page.build_or_tell(fail)
    (said,) = page._render_items["main"][0]
    assert "did not expect" in said.html
    assert "secret" not in said.html


@pytest.mark.parametrize(
    ("query", "cookie", "is_dark"),
    [
        ("", "", False),
        ("", "dark", True),
        ("table=a?b&delta-explorer-theme=dark", "", True),
        ("delta-explorer-theme=night", "", False),
        ("delta-explorer-theme=dark", "light-chosen", False),
    ],
)
def test_the_socket_of_a_first_visit_says_the_theme_by_its_cookie_else_by_its_address(
    monkeypatch: pytest.MonkeyPatch, query: str, cookie: str, is_dark: bool
) -> None:
    monkeypatch.setattr(_session_page, "change_first", lambda _, change: change())
    state, document = PageState(), Document()
    monkeypatch.setitem(_session_page._not_taken_up, document, ref(state))
    headers = HTTPHeaders({"Cookie": f"delta-explorer-theme={cookie}"} if cookie else {})
    request = HTTPServerRequest("GET", f"/ws?{query}", headers=headers)
    _session_page.paint_first(document, request)
    assert state.dark is is_dark
