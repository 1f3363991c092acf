"""The page's state and its address."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.state import (
    LISTS,
    LONGEST_TEXT,
    VIEWS,
    Address,
    PageState,
    is_typed_on,
    name_place,
    parse_address,
    parse_version,
    render_address,
)

TEXTS = st.text().filter(lambda text: text.strip() == text)
VERSIONS = st.one_of(st.none(), st.integers(0, 2**63 - 1))


@given(
    st.builds(
        Address,
        table=TEXTS.filter(bool),
        version=VERSIONS,
        view=st.sampled_from(VIEWS),
        older=VERSIONS,
        where=TEXTS,
        file=TEXTS,
        column=TEXTS,
        **dict.fromkeys(LISTS, TEXTS),
    )
)
def test_an_address_is_read_back_as_it_was_written(address: Address) -> None:
    assert parse_address(render_address(address)) == (address, [])


@pytest.mark.parametrize("version", ["x", "-1", "1.5", "٣", "1" * 30, "9" * 19, "1_000", "true"])
def test_a_version_that_is_none_becomes_a_complaint(version: str) -> None:
    address, complaints = parse_address("?" + urlencode({"table": "/t", "version": version}))
    assert address.version is None
    assert len(complaints) == 1


def test_a_version_to_compare_with_that_is_none_becomes_a_complaint() -> None:
    address, complaints = parse_address("?table=/t&older=first")
    assert address.older is None
    assert len(complaints) == 1


@pytest.mark.parametrize("name", ["where", "file", "column"])
def test_a_text_longer_than_any_becomes_a_complaint(name: str) -> None:
    address, complaints = parse_address(f"?table=/t&{name}={'x' * (LONGEST_TEXT + 1)}")
    assert (address.where, address.file, address.column) == ("", "", "")
    assert len(complaints) == 1


def test_a_view_that_is_none_becomes_a_complaint_and_the_first_view() -> None:
    address, complaints = parse_address("?table=/t&view=<script>")
    assert address.view == VIEWS[0]
    assert len(complaints) == 1


@pytest.mark.parametrize(
    "search", ["", "?", "?&&&", "?table", "?a=b?c=d", "?table=%ff%fe", "?%", "?version=&view="]
)
def test_any_query_can_be_read(search: str) -> None:
    address, complaints = parse_address(search)
    assert address.view == VIEWS[0]
    assert complaints == []


def test_a_version_may_be_written_with_thousands() -> None:
    assert parse_version("1,284") == 1284


@pytest.mark.parametrize(
    ("text", "found"), [("2", 2), ("1,000", None), ("3", None), ("-1", None), ("latest", None)]
)
def test_a_version_that_is_typed_is_one_of_the_open_table(text: str, found: int | None) -> None:
    assert PageState(latest=2).find_version(text) == found
    assert PageState().find_version(text) is None


def test_stepping_stays_within_the_versions_that_exist() -> None:
    state = PageState(version=1, latest=2)
    state.step(1)
    assert state.version == 2
    state.step(1)
    assert state.version == 2
    state.param.update(version=0)
    state.step(-1)
    assert state.version == 0


def test_stepping_without_a_table_does_nothing() -> None:
    state = PageState()
    state.step(1)
    assert state.version is None


@pytest.mark.parametrize(
    ("called", "named"),
    [
        ("", "Compare \N{MIDDLE DOT} v7"),
        ("v7", "Compare \N{MIDDLE DOT} v7"),
        ("orders", "Compare \N{MIDDLE DOT} orders (v7)"),
        ("  ", "Compare \N{MIDDLE DOT} v7"),
        ("a\u202eb", "Compare \N{MIDDLE DOT} a\\u202eb (v7)"),
    ],
)
def test_a_window_is_called_as_the_table_is_with_the_folder_that_tells_it_apart(
    called: str, named: str
) -> None:
    assert name_place(Address(table="s3://lake/v7/", view="compare"), called) == named


def test_no_name_makes_the_title_of_a_window_long() -> None:
    place = Address(table="/lake/" + "f" * 300)
    assert len(name_place(place, "n" * 10_000)) < 150


def test_a_window_without_a_table_is_called_after_the_list_where_there_is_one() -> None:
    assert name_place(Address()) == ""
    assert name_place(Address(), has_list=True) == "Tables"


@pytest.mark.parametrize(
    ("before", "after", "typed_on"),
    [
        ("?files=text%3Dem", "?files=text%3Demea", True),
        ("?view=files&files=text%3De%26by%3Dsize", "?view=files&files=text%3Df%26by%3Dsize", True),
        ("?files=", "?files=text%3De", False),
        ("", "?files=text%3De", False),
        ("?files=text%3De", "", False),
        ("?files=text%3De", "?files=text%3Df%26by%3Dsize", False),
        ("?files=text%3De", "?files=text%3De%26by%3Dsize", False),
        ("?files=text%3De&view=files", "?files=text%3Df&view=log", False),
        ("?files=text%3De", "?log=text%3De", False),
        ("?feed=kind%3Dinserted", "?feed=kind%3Ddeleted", False),
        ("?where=a", "?where=b", False),
        ("?files=text%3De", "?files=text%3De", False),
    ],
)
def test_a_filter_that_is_typed_on_is_one_step(before: str, after: str, typed_on: bool) -> None:
    assert is_typed_on(before, after) is typed_on


def test_an_address_has_no_text_that_it_would_refuse() -> None:
    long, short = "x" * (LONGEST_TEXT + 1), "y" * LONGEST_TEXT
    written = render_address(Address(table="t", rows=long, where=short))
    address, complaints = parse_address(written)
    assert (address.rows, address.where, complaints) == ("", short, [])
    written = render_address(Address(table="t", older=3, other=long))
    assert (parse_address(written)[0].other, parse_address(written)[0].older) == ("", None)
