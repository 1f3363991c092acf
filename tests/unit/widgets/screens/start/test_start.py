"""The picker of the open table, and the list of tables that a page begins with."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from widgets.screens.start.view import MOST_CHOICES, Picker, StartView
from widgets.session.access import Access
from widgets.session.catalog import Offered
from widgets.session.page_services import OpenTables, PageServices
from widgets.session.recents import Recents
from widgets.session.table_summaries import TableSummaries, TableSummary
from widgets.session.work import InlineRunner
from widgets.state import Address, PageState, parse_address


def services(*offered: str, summaries: Any = None) -> PageServices:
    return PageServices(
        runner=InlineRunner(), tables=OpenTables(), access=Access(), recents=Recents(),
        offered=offered, summaries=summaries,
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


@pytest.mark.parametrize(
    ("places", "labels"),
    [
        (["/lake/a", "/lake/b"], ["a", "b"]),
        (["/lake/eu/orders", "/lake/us/orders"], ["orders (eu)", "orders (us)"]),
        (
            ["s3://one/data/prod/orders", "s3://two/data/prod/orders"],
            ["orders (one)", "orders (two)"],
        ),
        (["/a/x/orders", "/b/x/orders", "/a/y/orders"],
         ["orders (/a/x)", "orders (/b/x)", "orders (/a/y)"]),
    ],
)  # fmt: skip
def test_tables_of_one_name_show_what_tells_them_apart(
    places: list[str], labels: list[str]
) -> None:
    picker = Picker(services(*places), PageState(table=places[0]), lambda _: None)
    assert re.findall(r"<option[^>]*>([^<]*)</option>", picker.tables.html) == labels


def test_a_finding_that_no_table_has_any_more_can_be_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summaries = TableSummaries([Offered(target="/lake/a")])
    known = TableSummary(shown="/lake/a", name="a", findings=("small files",), is_waiting=False)
    mended = replace(known, findings=())
    found = [known]
    monkeypatch.setattr(summaries, "list", lambda: tuple(found))
    monkeypatch.setattr(summaries, "follow", lambda _: None)
    start = StartView(services(summaries=summaries), PageState(), lambda _: None)
    start._list._handle_msg({"action": "finding", "value": "small files"})
    assert 'aria-pressed="true">small files <small>1</small>' in start._list.html
    found[:] = [mended]
    start._changed()
    assert "No table fits the filter." in start._list.html
    assert 'aria-pressed="true">small files <small>0</small>' in start._list.html
    start._list._handle_msg({"action": "finding", "value": "small files"})
    assert 'data-value="/lake/a"' in start._list.html
    assert 'data-do="finding"' not in start._list.html


def test_what_is_chosen_of_the_list_is_in_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["/lake/orders", "/lake/visits"]
    summaries = TableSummaries([Offered(target=place) for place in places])
    monkeypatch.setattr(summaries, "follow", lambda _: None)
    state = PageState(tables="text=visits&by=<b>&finding=")
    start = StartView(services(summaries=summaries), state, lambda _: None)
    assert re.findall(r'data-do="choose" data-value="([^"]*)"', start._list.html) == places[1:]
    assert 'value="visits"' in start._list.html
    start._list._handle_msg({"action": "sort", "value": "place"})
    start._list._handle_msg({"action": "sort", "value": "place"})
    start._list._handle_msg({"action": "filter", "value": " LAKE "})
    assert state.tables == "text=LAKE&by=place&order=descending"
    found = re.findall(r'data-do="choose" data-value="([^"]*)"', start._list.html)
    assert found == places[::-1]
    state.tables = ""  # as Back leads to
    found = re.findall(r'data-do="choose" data-value="([^"]*)"', start._list.html)
    assert found == places


@pytest.mark.parametrize("has_address", [True, False])
def test_a_table_of_the_list_is_a_link_where_the_page_has_an_address(
    monkeypatch: pytest.MonkeyPatch, has_address: bool
) -> None:
    hostile = '/lake/"><img src=x onerror=alert(1)>&view=log'
    summaries = TableSummaries([Offered(target=hostile), Offered(target="/lake/b", name="B")])
    monkeypatch.setattr(summaries, "follow", lambda _: None)
    page = services("/lake/lately", summaries=summaries)
    page.runner.is_background = has_address  # type: ignore[misc]
    start = StartView(page, PageState(tables="by=name"), lambda _: None)
    shown = start._list.html + start._recent.html
    assert "<img" not in shown
    links = [parse_address(unescape(link)) for link in re.findall('<a href="(.*?)"', shown)]
    places = ["/lake/b", hostile, "/lake/lately"] if has_address else []
    assert sorted(places) == sorted(address.table for address, _ in links)
    assert all(address == Address(table=address.table) for address, _ in links)
    assert 'title="B: /lake/b"' in shown
