"""Links to places of the page: a click goes there at once, and a new tab opens by the address."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from widgets.markup import NOTHING, Markup, html
from widgets.state import ADDRESSED, LISTS, PageState, render_address

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

    def _address(self, to: dict[str, Any]) -> str:
        address = replace(self._state.address, **to)
        search = render_address(address)
        for without in _WITHOUT:
            if len(search) > LONGEST_ADDRESS:
                # but for what it leads to
                address = replace(address, **{k: v for k, v in without.items() if k not in to})
                search = render_address(address)
        return search or "./"
