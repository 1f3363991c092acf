"""The picker of the open table, and the list of tables that a page begins with."""

from __future__ import annotations

import re
from html import unescape

from widgets.screens.start.view import MOST_CHOICES, Picker
from widgets.session.access import Access
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.work import InlineRunner
from widgets.state import PageState


def services(*offered: str) -> PageServices:
    return PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents(),
        offered=offered,
    )  # fmt: skip


def test_what_was_opened_from_beside_a_table_does_not_stay_in_the_field() -> None:
    opened: list[str] = []
    picker = Picker(services(), PageState(table="/lake/a"), opened.append)
    assert re.search(r'<input type="text" data-do="open"[^>]* data-clears\b', picker.beside.html)
    picker.beside._handle_msg({"action": "open", "value": " s3://lake/b?sig=x "})
    assert opened == ["s3://lake/b?sig=x"]


def test_the_open_table_is_the_chosen_one_however_many_there_are() -> None:
    offered = [f"/lake/{at:03}" for at in range(MOST_CHOICES + 9)]
    for current in (offered[-1], offered[4], "/elsewhere"):
        picker = Picker(services(*offered), PageState(table=current), lambda _: None)
        options = re.findall(r'<option value="([^"]*)"( selected)?>', picker.tables.html)
        assert [unescape(uri) for uri, is_chosen in options if is_chosen] == [current]
        assert len(options) == MOST_CHOICES
