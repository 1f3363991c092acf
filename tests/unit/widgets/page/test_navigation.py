"""The navigation: every view in its group, as a link to what is chosen now in that view."""

from __future__ import annotations

import html
import re

from widgets.page.navigation import Navigation
from widgets.state import GROUPS, VIEWS, PageState, parse_address
from widgets.ui.place_links import LONGEST_ADDRESS


def links(navigation: Navigation) -> list[tuple[str, str, bool]]:
    """Of each link its address, its view, and whether it is marked."""
    found = re.findall(
        r'<a href="([^"]*)" data-do="view" data-value="(\w+)"'
        r'( aria-current="page"| data-ahead="[^"]*")?>',
        navigation.panel.html,
    )
    return [(html.unescape(address), view, "current" in mark) for address, view, mark in found]


def test_each_view_is_a_link_with_the_address_of_what_is_chosen() -> None:
    state = PageState(table="/lake/a&b", latest=9, version=4, where="id > 3")
    shown = links(Navigation(state, has_address=True))
    assert tuple(view for _, view, _ in shown) == VIEWS
    for address, view, is_marked in shown:
        assert parse_address(address)[0] == state.address.__class__(
            table="/lake/a&b", version=4, where="id > 3", view=view
        )
        assert is_marked == (view == state.view)


def test_a_click_goes_to_its_view_and_the_mark_follows() -> None:
    state = PageState(table="/lake/t", latest=1, version=1)
    navigation = Navigation(state, has_address=True)
    navigation.panel._handle_msg({"action": "view", "value": "log"})
    assert state.view == "log"
    assert [view for _, view, is_marked in links(navigation) if is_marked] == ["log"]
    navigation.panel._handle_msg({"action": "view", "value": "nonsense"})
    assert state.view == "log"


def test_the_links_follow_the_version_and_there_is_none_without_a_table() -> None:
    state = PageState(table="/lake/t", latest=7, version=7)
    navigation = Navigation(state, has_address=True)
    state.version = 3
    assert {parse_address(address)[0].version for address, _, _ in links(navigation)} == {3}
    state.table = ""
    assert navigation.panel.html == ""


def test_a_long_condition_is_left_out_of_links_and_not_of_the_page() -> None:
    state = PageState(table="/lake/t", latest=7, version=7, where="x" * 2 * LONGEST_ADDRESS)
    shown = links(Navigation(state, has_address=True))
    assert max(len(address) for address, _, _ in shown) <= LONGEST_ADDRESS
    assert parse_address(shown[0][0])[0].version == 7


def test_a_notebook_has_buttons_in_their_place() -> None:
    state = PageState(table="/lake/t", latest=7, version=7)
    navigation = Navigation(state, has_address=False)
    assert "href" not in navigation.panel.html
    assert navigation.panel.html.count('data-do="view"') == len(VIEWS)
    for group, _ in GROUPS:
        assert group in navigation.panel.html


def test_whoever_points_at_the_timeline_is_told_of_once_it_is_not_in_front() -> None:
    state = PageState(table="/lake/t", latest=1, version=1, view="log")
    navigation = Navigation(state, has_address=True)
    assert 'data-value="timeline" data-ahead="/lake/t 1"' in navigation.panel.html
    asked: list[str] = []
    state.param.watch(lambda event: asked.append(event.name), "ahead")
    navigation.panel._handle_msg({"action": "ahead", "value": "timeline"})
    assert asked == ["ahead"]
    state.view = "timeline"
    assert "data-ahead" not in navigation.panel.html
