"""Links of a page: what they hold, and what they leave out where they would be too long."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest

from widgets.markup import html
from widgets.state import PageState, parse_address
from widgets.ui.place_links import LONGEST_ADDRESS, PlaceLinks


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        ({"where": "a = 1", "rows": "text=b"}, {"where": "a = 1", "rows": "text=b"}),
        ({"where": "a = 1", "rows": "hidden=" + "c" * 3_000}, {"where": "a = 1", "rows": ""}),
        ({"where": "a = 1", "answers": "where=" + "c" * 9_000}, {"where": "a = 1", "answers": ""}),
        ({"where": "a" * 3_000, "files": "text=b"}, {"where": "", "files": ""}),
        ({"other": "/" + "o" * 3_000, "older": 3}, {"other": "", "older": None}),
    ],
    ids=["short", "a long list", "a long form", "a long condition", "a long place"],
)
def test_a_link_that_would_be_too_long_gives_up_lists_before_what_it_is_about(
    chosen: dict[str, Any], kept: dict[str, Any]
) -> None:
    state = PageState(table="t", version=1, **chosen)
    link = str(PlaceLinks(state, has_address=True).view("log", html("Log")))
    search = unescape(link.partition('href="')[2].partition('"')[0])
    assert len(search) <= LONGEST_ADDRESS
    address, complaints = parse_address(search)
    assert (address.view, address.version, complaints) == ("log", 1, [])
    assert {name: getattr(address, name) for name in kept} == kept
