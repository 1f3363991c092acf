"""The navigation of views follows what was clicked, and nothing that comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from widgets.served._session_page import build_navigation
from widgets.state import VIEWS, PageState


class Later:
    """What is posted, until the page may be changed."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []

    def post(self, change: Callable[[], None]) -> None:
        self._waiting.append(change)

    def run(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()


def click(menu: Any, view: str) -> None:
    """What a browser sends of a click."""
    menu._handle_msg({"type": "click", "item": [VIEWS.index(view)]})


def test_a_click_goes_to_its_view_and_marks_it() -> None:
    state, later = PageState(), Later()
    menu = build_navigation(state, later.post)
    assert menu.active == (VIEWS.index(state.view),)
    for view in reversed(VIEWS):
        click(menu, view)
        later.run()
        assert state.view == view
        assert menu.active == (VIEWS.index(view),)


def test_the_late_half_of_a_click_leads_nobody_back_who_went_on_meanwhile() -> None:
    state, later = PageState(), Later()
    menu = build_navigation(state, later.post)
    click(menu, "log")
    later.run()
    state.view = "files"  # the Back button
    assert menu.active == (VIEWS.index("files"),)
    menu.active = (VIEWS.index("log"),)  # what the browser said of the click besides
    assert state.view == "files"
    later.run()
    assert menu.active == (VIEWS.index("files"),)
