"""From a view to Maintenance, with an operation chosen and its form filled in."""

from __future__ import annotations

from widgets.state import PageState
from widgets.ui.wishes import parse_wish


def follow_wish(state: PageState, text: str) -> None:
    """Go to Maintenance with what a button says; nothing is planned by it."""
    wish = parse_wish(text)
    if wish is not None:
        state.wish = wish
        # in one step, from which Back leads to where the button was
        state.param.update(view="maintenance", operation=wish[0])
