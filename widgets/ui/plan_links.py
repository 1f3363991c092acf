"""Buttons that lead to Maintenance: they plan an operation, or open its form filled in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal

from widgets.markup import Markup, html
from widgets.text import cut

PlanRequest = tuple[str, dict[str, str]]
"""The name of an operation, and the answers to its form."""


def render_plan_link(
    label: str,
    operation: str,
    answers: Mapping[str, str] | None = None,
    *,
    action: Literal["plan-request", "plan-now"] = "plan-request",
) -> Markup:
    """A button that opens the form of a plan, or that makes the plan at once where the answers are
    complete; the label may hold text of a table."""
    value = json.dumps([operation, dict(answers or {})])
    return html(
        '<button type="button" class="dx-outlined" data-do="{}" data-value="{}">{}</button>',
        action,
        value,
        cut(label, 120),
    )


_LABELS: Final[Mapping[str, str]] = {
    "vacuum": "Plan a vacuum",
    "optimize compact": "Plan Optimize (compaction)",
    "optimize purge": "Plan Optimize (purge)",
    "checkpoint": "Plan a checkpoint",
    "clean-log": "Plan a log cleanup",
}
_OPENED: Final[Mapping[str, str]] = {"set-properties": "Open the form for properties"}
"""Operations of which only a person knows the answers."""


def render_step_link(operation: str, answers: Mapping[str, str]) -> Markup:
    """A button that plans what a finding asks for, or opens the form where its answers are not
    known; the label says which."""
    if operation in _OPENED:
        return render_plan_link(_OPENED[operation], operation, answers)
    words = " ".join([operation, *answers.values()])
    if operation == "restore":
        words = f"restore to version {answers.get('version', '')}"
    label = _LABELS.get(words, f"Plan {words}")
    return render_plan_link(label, operation, answers, action="plan-now")


def parse_plan_request(text: str) -> PlanRequest | None:
    """What such a button sends; None for anything else that a browser may send."""
    try:
        name, answers = json.loads(text)
    except (ValueError, TypeError):
        return None
    if not isinstance(name, str) or not isinstance(answers, dict):
        return None
    if not all(isinstance(value, str) for value in answers.values()):
        return None
    return name, answers


def plan_request_of_repair(repair: str) -> PlanRequest | None:
    """The operation behind a finding's repair, as `repair hint` or `clean-log`."""
    words = repair.split()
    if not words:
        return None
    if words[0] == "repair" and len(words) == 2:
        return "repair", {"what": words[1]}
    if words[:2] == ["restore", "--version"] and len(words) == 3:
        return "restore", {"version": words[2]}
    return words[0], {}
