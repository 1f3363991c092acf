"""Links to places of the page: a click goes there at once, and a new tab opens by the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from widgets.markup import NOTHING, Markup, html
from widgets.state import ADDRESSED, LISTS, Address, PageState, render_address
from widgets.ui.table import Row

LONGEST_ADDRESS = 2_000
"""Characters. A condition may have ten thousand, and a page shows many links."""


_WITHOUT: Any = (
    dict.fromkeys((*LISTS, "answers"), ""),
    # without the other table its version would be one of this table
    dict.fromkeys(("where", "only", "file", "column", "other"), "") | {"older": None},
)
"""What a link does without where its address would be too long, and what besides."""

LINKED = tuple(name for name in ADDRESSED if name != "view")
"""What the links of an answer hold of the page, so that it is drawn again with it."""

CELL_LINK = html(' class="dx-cell-link"')
"""The attributes of a link in a cell of a table."""
WAY_LINK = html(' class="dx-way"')
"""Those of a link that looks like a button."""
MAIN_WAY_LINK = html(' class="dx-way dx-outlined"')
"""Those of the one among them that most will follow."""


class PlaceLinks:
    """Makes links of a page. Where a page has no address, in a notebook, they are buttons."""

    def __init__(self, state: PageState, *, has_address: bool) -> None:
        self._state = state
        self._has_address = has_address

    def render(
        self,
        action: str,
        value: str,
        inner: Markup,
        *,
        to: dict[str, Any],
        attributes: Markup = NOTHING,
    ) -> Markup:
        """What does `action` when it is clicked; `to` is what is otherwise in that place."""
        if not self._has_address:
            return html(
                '<button type="button" data-do="{}" data-value="{}"{}>{}</button>',
                action,
                value,
                attributes,
                inner,
            )
        return html(
            '<a href="{}" data-do="{}" data-value="{}"{}>{}</a>',
            self._address(to),
            action,
            value,
            attributes,
            inner,
        )

    def view(self, view: str, inner: Markup, attributes: Markup = NOTHING) -> Markup:
        """To another view of the same place."""
        return self.render("view", view, inner, to={"view": view}, attributes=attributes)

    def rows(
        self, rows: Sequence[Row], to: Callable[[str], dict[str, Any]], *, linked: int = 0
    ) -> list[Row]:
        """Rows that can be chosen, as links to where that leads: `to` is what is otherwise in the
        place of a row, by its value, and the cell at `linked` tells that place."""
        if not self._has_address:
            return [*rows]
        return [
            row
            if row.action is None
            else replace(row, link=self._address(to(row.value)), linked=linked)
            for row in rows
        ]

    def compared(self, rows: Sequence[Row], *, linked: int = 0) -> list[Row]:
        """Rows whose value is a version, as links to what changed since the version before."""
        place = {"older": None, "other": "", "view": "compare"}
        return self.rows(rows, lambda version: {**place, "version": int(version)}, linked=linked)

    def tables(self, rows: Sequence[Row]) -> list[Row]:
        """Rows whose value is the place of a table, as links to it."""
        empty = {name: getattr(Address(), name) for name in ADDRESSED}
        return self.rows(rows, lambda place: {**empty, "table": place})

    def _address(self, to: dict[str, Any]) -> str:
        address = replace(self._state.address, **to)
        search = render_address(address)
        for without in _WITHOUT:
            if len(search) > LONGEST_ADDRESS:
                # but for what it leads to
                address = replace(address, **{k: v for k, v in without.items() if k not in to})
                search = render_address(address)
        return search or "./"
