"""What belongs to the whole page: the command palette, pictures, links, and who looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param

from widgets.text import well_formed
from widgets.theme import read_style, static_folder
from widgets.ui.live_html import StyledComponent


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the palette. Its texts are shown as text, and need no escaping.

    `action` is one of the browser's own (`copy`, `link`, `picture`, `zone`) or one that `on`
    answers; an entry that is `first` stands before those that are always there.
    """

    kind: str
    label: str
    action: str
    value: str = ""
    hint: str = ""
    first: bool = False


class PageTools(StyledComponent):
    """Buttons for the palette and the picture; Ctrl or Cmd with K opens the palette.

    `find` is asked with what was typed; it answers through `tell_found`. `alive` is told
    every half minute while someone looks, with "active" or "idle", and `hidden` when the
    page no longer shows.
    """

    entries = param.List(default=[], doc="Entries that are always there, as plain values.")
    found = param.Dict(default={"question": "", "entries": []}, doc="Those for one question.")
    picture = param.String(default="view", doc="The name of a picture of what is in front.")

    _esm = (static_folder() / "page_tools.js").read_text(encoding="utf-8")

    def __init__(self, **params: Any) -> None:
        super().__init__(stylesheets=[read_style()], margin=0, **params)
        self._handlers: dict[str, Callable[[str], object]] = {}

    def on(self, action: str, handler: Callable[[str], object]) -> None:
        """Call `handler` with the value of an entry or sign."""
        self._handlers[action] = handler

    def offer(self, entries: Sequence[Entry]) -> None:
        """The entries that are always there."""
        self.entries = [asdict(entry) for entry in entries]

    def tell_found(self, question: str, entries: Sequence[Entry]) -> None:
        """What there is for a question."""
        self.found = {"question": question, "entries": [asdict(entry) for entry in entries]}

    def _handle_msg(self, data: Any) -> None:
        if not isinstance(data, dict):
            return
        action, value = data.get("action"), data.get("value")
        if isinstance(action, str) and isinstance(value, str) and action in self._handlers:
            self._handlers[action](well_formed(value))
