"""What is chosen of the lists of the page: it is in the address, and comes back with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.widgets.page.test_explorer_view import Page, shop
from tests.unit.widgets.screens.feed.test_feed import changed_orders
from tests.unit.widgets.screens.rows import test_rows
from tests.unit.widgets.screens.statistics.test_statistics import measurements
from tests.unit.widgets.screens.vectors import test_vectors
from widgets.choices import Choices, name_sort, read_sort
from widgets.screens.rows._columns import Columns, name_columns, read_columns
from widgets.state import LISTS, Address, PageState, parse_address, parse_list, render_address

TEXTS = st.text(max_size=30)


@pytest.mark.parametrize(
    ("build", "place", "expected"),
    [
        (
            shop, {"view": "log"},
            ("log", [("sort", "size"), ("filter", " 0000005 ")], "text=0000005&by=size",
             "11 of 11 log files"),
        ),
        (
            shop, {"view": "timeline"},
            ("commits", [("sort", "version")], "by=version", 'aria-sort="ascending"'),
        ),
        (
            shop, {"view": "timeline"},
            ("timeline", [("measure", "rows"), ("range", "24h")], "measure=rows&window=24h",
             'data-value="24h" aria-pressed="true"'),
        ),
        (
            shop, {"view": "engines"},
            ("engines", [("verb", "write"), ("filter", "daft"), ("engine", "daft")],
             "text=daft&verb=write&engine=daft", "Based on"),
        ),
        (
            lambda folder: test_vectors.orders(folder).root, {"view": "vectors"},
            ("vectors", [("sort", "path")], "by=path", 'aria-sort="ascending"'),
        ),
        (
            measurements, {"view": "statistics", "where": "id >= 385"},
            ("statistics", [("which", "skipped")], "which=skipped",
             "1\N{EN DASH}25 of 38 files"),
        ),
        (
            lambda folder: test_rows.orders(folder).root, {"view": "rows", "version": 0},
            ("rows", [("sort", "id"), ("sort", "id"), ("pin", "part")],
             "by=id&order=descending&pinned=part", 'aria-sort="descending"'),
        ),
        (
            shop, {"view": "compare", "version": 9, "older": 1},
            ("differences", [("kind", "removed")], "files=removed",
             "No file differs in this way."),
        ),
    ],
)  # fmt: skip
def test_what_is_chosen_of_a_list_is_in_the_address_and_comes_back(
    tmp_path: Path,
    build: Callable[[Path], Any],
    place: dict[str, Any],
    expected: tuple[str, list[tuple[str, str]], str, str],
) -> None:
    root, (name, acts, chosen, sign) = build(tmp_path), expected
    page = Page().open(root, **place)
    assert sign not in page.html
    for act in acts:
        page.do(*act)
    assert getattr(page.state, name) == chosen
    assert sign in page.html
    search = render_address(page.state.address)
    address, complaints = parse_address(search)
    assert complaints == []
    linked = Page()
    linked.explorer.open(address)
    assert sign in linked.html
    setattr(linked.state, name, "")  # as Back leads to
    assert sign not in linked.html
    linked.state.param.update(**{name: "by=<b>&verb=x&kind=x&files=x&which=x&engine=<b>&no=1"})
    assert sign not in linked.html
    assert "<b>" not in linked.html


def test_the_kind_of_changed_rows_is_in_the_address_and_reads_none_unasked(tmp_path: Path) -> None:
    page = Page().open(changed_orders(tmp_path), view="feed", older=1, version=2)
    page.do("rows")
    page.do("kind", "delete")
    assert page.state.feed == "kind=delete"
    linked = Page().open(page.state.table, view="feed", older=1, version=2, feed="kind=delete")
    assert ">599</td>" not in linked.html
    assert 'data-value="delete" aria-pressed="true"' in linked.html
    linked.do("rows")
    assert ">599</td>" in linked.html
    linked.state.feed = ""  # as Back leads to: of the same range they are read unasked
    assert "1\N{EN DASH}25 of 500 rows" in linked.html


def test_what_is_chosen_of_one_table_is_not_chosen_of_the_next(tmp_path: Path) -> None:
    page = Page().open(shop(tmp_path / "one"), view="log")
    page.do("filter", "0000005")
    page.open(shop(tmp_path / "two"), view="log")
    assert page.state.log == ""
    assert "0000005&quot;" not in page.html


@given(st.dictionaries(st.sampled_from(LISTS["engines"]), TEXTS.filter(bool)))
def test_a_choice_is_read_back_as_it_was_made(chosen: dict[str, str]) -> None:
    state = PageState()
    Choices(state, "engines", lambda _: None).choose(**chosen)
    assert parse_list("engines", state.engines) == chosen


@given(st.sampled_from("ab"), st.booleans(), st.sampled_from("ab"), st.booleans())
def test_a_sorting_is_read_back_and_the_usual_one_leaves_no_trace(
    by: str, descending: bool, usual: str, usually: bool
) -> None:
    default = (usual, usually)
    named = name_sort((by, descending), default)
    assert read_sort({key: text for key, text in named.items() if text}, {"a", "b"}, default) == (
        by,
        descending,
    )
    assert any(named.values()) == ((by, descending) != default)


@given(st.lists(TEXTS.filter(bool), unique=True, max_size=3), st.frozensets(TEXTS.filter(bool)))
def test_arranged_columns_are_read_back_whatever_they_are_called(
    pinned: list[str], hidden: frozenset[str]
) -> None:
    state = PageState()
    choices = Choices(state, "rows", lambda _: None)
    arranged = Columns(pinned=tuple(pinned), hidden=hidden, contains="x", sort=("a,b", True))
    choices.choose(**name_columns(arranged))
    assert read_columns(choices) == arranged
    choices.choose(**name_columns(Columns()))
    assert state.rows == ""


def test_the_list_of_tables_is_filtered_by_its_address_alone() -> None:
    address = Address(tables="text=orders&by=size&order=descending")
    search = render_address(address)
    assert search.startswith("?table=&tables=")
    assert parse_address(search) == (address, [])
    assert render_address(Address()) == ""


def test_odd_names_of_columns_are_read_back_and_cost_an_address_little() -> None:
    state = PageState()
    names = ("a,b", "100 %", "%2C", "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 100)
    choices = Choices(state, "rows", lambda _: None)
    arranged = Columns(pinned=names, hidden=frozenset(names))
    choices.choose(**name_columns(arranged))
    assert read_columns(choices) == arranged
    # one encoding for the list, and none of our own
    assert len(state.rows) < 2 * 9 * 100 + 200
