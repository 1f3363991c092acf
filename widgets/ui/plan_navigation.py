"""From a view to Maintenance, with an operation chosen and its form filled in."""

from __future__ import annotations

from collections.abc import Mapping

from widgets.session.operations import find_operation, render_answers
from widgets.state import PageState
from widgets.ui.plan_links import parse_plan_request


def open_plan_form(state: PageState, text: str) -> None:
    """Go to Maintenance with what a button says; nothing is planned by it."""
    request = parse_plan_request(text)
    if request is not None:
        state.param.update(plan_request=request, plans_at_once=False)
        # in one step, from which Back leads to where the button was
        _go(state, *request)


def open_plan(state: PageState, text: str) -> None:
    """Go to Maintenance with what a button says, and plan it; nothing is changed by a plan."""
    request = parse_plan_request(text)
    if request is not None:
        state.param.update(plan_request=request, plans_at_once=True)
        _go(state, *request)


def _go(state: PageState, name: str, answers: Mapping[str, str]) -> None:
    operation = find_operation(name)
    said = "" if operation is None else render_answers(operation, answers)
    state.param.update(view="maintenance", operation=name, answers=said)
