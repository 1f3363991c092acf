"""From a view to Maintenance, with an operation chosen and its form filled in."""

from __future__ import annotations

from widgets.state import PageState
from widgets.ui.plan_links import parse_plan_request


def open_plan_form(state: PageState, text: str) -> None:
    """Go to Maintenance with what a button says; nothing is planned by it."""
    request = parse_plan_request(text)
    if request is not None:
        state.plan_request = request
        # in one step, from which Back leads to where the button was
        state.param.update(view="maintenance", operation=request[0])
