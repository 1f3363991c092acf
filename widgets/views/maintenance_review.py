"""What stands below a plan: the way to approve it, or why that cannot be."""

from __future__ import annotations

from explorer.maintenance.plan import Plan
from explorer.maintenance.receipt import Receipt
from widgets.components.maintenance import Choice, FormField, render_buttons, render_lock
from widgets.components.maintenance_plan import (
    is_typeable,
    render_approval,
    render_digest,
    render_sentence,
)
from widgets.components.receipt import undo_version
from widgets.services.desk import Desk
from widgets.services.operations import (
    GROUPS,
    OPERATIONS,
    Operation,
    destroys,
    name_button,
    needs_name,
)
from widgets.services.planners import Answers
from widgets.text import format_count


def list_choices() -> list[tuple[str, list[Choice]]]:
    """The operations in their groups."""
    return [
        (
            f"{group}: {about[0].lower()}{about[1:]}",
            [
                Choice(name=one.name, title=one.title, does=one.does)
                for one in OPERATIONS
                if one.group == group
            ],
        )
        for group, about in GROUPS.items()
    ]


def build_fields(operation: Operation, answers: Answers) -> list[FormField]:
    """What an operation asks for, with what was answered."""
    return [
        FormField(
            name=one.name,
            label=one.label,
            kind=one.kind,
            value=answers.get(one.name, ""),
            hint=one.hint,
            placeholder=one.placeholder,
            choices=one.choices,
            is_required=one.is_required,
        )
        for one in operation.fields
    ]


def render_lock_of(desk: Desk, uri: str) -> str:
    """What a locked page says of itself; nothing where it is unlocked."""
    if desk.maintenance.is_unlocked:
        return ""
    return render_lock(uri, is_notebook=not desk.runner.is_background)


def render_decision(
    desk: Desk, uri: str, plan: Plan, carried_out: Receipt | None, *, can_repeat: bool
) -> str:
    """The approval of a plan; a locked page has no button for it. `can_repeat` says whether
    the page knows what was asked for."""
    again = render_buttons(("again", "", "Plan again")) if can_repeat else ""
    if carried_out is not None:
        html = render_sentence("This plan was carried out already; a plan is used once.")
        html += render_buttons(("receipt", carried_out.id, "Show its receipt"))
    elif plan.refusals:
        html = render_sentence("A guard refuses this plan: it cannot be carried out.") + again
    elif not plan.steps:
        html = render_sentence("There is nothing to do, and nothing to approve.") + again
    elif not desk.maintenance.is_unlocked:
        html = render_lock_of(desk, uri)
    elif needs_name(plan) and not is_typeable(plan.subject.name):
        html = render_sentence(
            "The table's name holds characters that cannot be typed here; carry the plan out on "
            "the command line, with --confirm."
        )
    else:
        html = render_approval(
            plan, name_button(plan), asks_for_name=needs_name(plan), is_final=destroys(plan)
        )
    return html + render_digest(plan)


def render_ways_on(receipt: Receipt, *, can_repeat: bool) -> str:
    """What can be done after a run: the way back where there is one, or the plan anew."""
    buttons, version = [], undo_version(receipt)
    if version is not None:
        buttons.append(("undo", "", f"Plan the way back to version {format_count(version)}"))
    elif receipt.operation == "set-properties" and receipt.undo:
        buttons.append(("undo", "", "Plan the way back"))
    if receipt.status != "completed" and can_repeat:
        buttons.append(("again", "", "Plan again"))
    return render_buttons(*buttons, ("back", "", "All operations"))
