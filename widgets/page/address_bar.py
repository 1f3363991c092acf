"""The browser's address and theme, kept equal to the page's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import param

from widgets.state import PageState, is_typed_on
from widgets.text import well_formed
from widgets.theme import static_folder
from widgets.ui.component import Component

THEMES = ("light", "dark")
THEME_COOKIE = "delta-explorer-theme"
"""In which the browser says with which of them a page should begin."""


class AddressBar(Component):
    """Invisible. `write` sends a place to the browser; its Back and Forward come back.

    Panel's own location splits the address at every question mark and fails
    where a link has two; this one takes it as it is.
    """

    place = param.List(
        default=[0, None, False],
        doc="How many turns back and forward the page has followed; its query string with the "
        "question mark, None as long as it is not known what the page's link means; and whether "
        "it is no more than a text that somebody goes on typing.",
    )
    title = param.String(default="", doc="What the page is called; as its document is where empty.")
    dark = param.Boolean(default=False, doc="Whether the dark theme is on.")

    _esm = (static_folder() / "address_bar.js").read_text(encoding="utf-8")

    def __init__(self, on_back: Callable[[str], None], **params: Any) -> None:
        super().__init__(width=0, height=0, margin=0, visible=True, **params)
        self._on_back = on_back
        self._followed = 0
        self._paint: Callable[[bool], None] = lambda _: None

    @property
    def is_settled(self) -> bool:
        """Whether the browser was told where the page is, or knows it better."""
        return self.place[1] is not None or self._followed > 0

    def write(self, search: str, title: str = "") -> None:
        """Tell the browser where the page is, and what it is called there. The first place takes
        that of the page's link, each later one is a step that Back leads back from, but for a
        filter that is typed on: Back leads to before all of it."""
        typed_on = is_typed_on(self.place[1] or "", search)
        self.param.update(place=[self._followed, search, typed_on], title=title)

    def keep_theme(self, state: PageState, post: Callable[[Callable[[], None]], None]) -> None:
        """Begin with the theme that the browser remembers, and let it remember the next.

        `post` calls a function where and when the page may be changed, which may be later than
        the browser asks.
        """

        def paint(is_dark: bool) -> None:  # noqa: FBT001 - the one thing that is said
            post(lambda: setattr(state, "dark", is_dark))

        self._paint = paint
        self.dark = bool(state.dark)
        state.param.watch(lambda event: self.param.update(dark=bool(event.new)), "dark")

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict):
            return
        search, turn = data.get("search"), data.get("turn")
        if isinstance(search, str) and isinstance(turn, int):
            self._followed = turn
            self._on_back(well_formed(search))
        if (theme := data.get("theme")) in THEMES:
            self._paint(theme == "dark")
