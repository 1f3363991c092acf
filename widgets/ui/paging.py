"""Which page of a longer table is shown."""

from __future__ import annotations

from collections.abc import Callable

from widgets.markup import Markup
from widgets.state import parse_version
from widgets.ui.live_html import LiveHtml
from widgets.ui.table import PAGE_ROWS, render_pager


class Pages:
    """The page of a table in `part`, turned by the buttons of its pager.

    `draw` is called after each turn; it asks for the `span` that it has to show.
    """

    def __init__(
        self, part: LiveHtml, noun: str, draw: Callable[[], None], limit: int = PAGE_ROWS
    ) -> None:
        self.limit = limit
        self._noun = noun
        self._draw = draw
        self._offset = 0
        part.on("page", self._turn)

    def rewind(self) -> None:
        """Go back to the first page."""
        self._offset = 0

    def reach(self, position: int) -> None:
        """Go to the page of the row at `position`."""
        self._offset = position // self.limit * self.limit

    def span(self, total: int) -> tuple[int, int]:
        """First row of the page and how many rows at most, of `total` rows."""
        self._offset = min(self._offset, max(0, total - 1) // self.limit * self.limit)
        return self._offset, self.limit

    def render(self, total: int) -> Markup:
        """The pager below the table."""
        return render_pager(self._noun, self.span(total)[0], total, self.limit)

    def _turn(self, offset: str) -> None:
        # what a person sends is text: no page that cannot be meant is turned to
        at = parse_version(offset)
        if at is not None:
            self.reach(at)
            self._draw()
