"""The choice of operations; and the way to approve a plan, or why that cannot be."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.maintenance.documents.receipt import Receipt
from explorer.maintenance.plan.plan import Plan
from widgets.markup import NOTHING, Markup
from widgets.screens.maintenance._losses import render_losses
from widgets.screens.maintenance._offers import Offers
from widgets.screens.maintenance._parts import (
    Choice,
    FormField,
    render_buttons,
    render_choices,
    render_form,
    render_lock,
)
from widgets.screens.maintenance._plan_parts import (
    is_typeable,
    render_approval,
    render_digest,
    render_grounds,
    render_sentence,
)
from widgets.screens.maintenance._receipt_parts import undo_version
from widgets.screens.maintenance._run_parts import render_run
from widgets.session.maintenance import UNLOCKS
from widgets.session.operations import (
    GROUPS,
    OPERATIONS,
    Operation,
    destroys,
    find_operation,
    name_button,
    needs_name,
)
from widgets.session.page_services import PageServices
from widgets.session.planners import Answers
from widgets.session.runs import Run
from widgets.state import Notice
from widgets.text import cut, format_count, format_time, read_moment
from widgets.ui.pieces import render_notice


def render_start(services: PageServices, uri: str) -> Markup:
    """What there is to choose from, with what happens to a choice."""
    lead = render_sentence(
        "Every change is planned first. You see what becomes impossible, and every file with "
        "its reason; only a plan that you approve is carried out.",
        kind="dx-lead",
    )
    return lead + render_lock_of(services, uri) + render_choices(_list_choices())


PLANNING = Notice(
    level="info",
    problem="A plan is being made.",
    reason="It would be lost, were something else opened now.",
    remedy="Wait for it, or stop it first.",
)


FILLED_IN = render_sentence(
    "The link has filled in this form. Nothing has been planned yet.", kind="dx-muted"
)


def build_unknown(name: str) -> Notice:
    """What is said of an operation that an address names and that is not offered."""
    return Notice(
        level="warning",
        problem="The address named something that is not there.",
        reason=f"There is no operation called {cut(name, 40)!r}.",
        remedy="Choose one of those below.",
    )


def _list_choices() -> list[tuple[str, list[Choice]]]:
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


def render_form_of(operation: Operation, answers: Answers, offers: Offers) -> Markup:
    """What an operation asks for, with what was answered and what the table offers."""
    fields = [
        FormField(
            name=one.name,
            label=one.label,
            kind=one.kind,
            value=answers.get(one.name, ""),
            hint=one.hint,
            placeholder=_placeholder(one.placeholder, offers.get(one.name, ())),
            choices=one.choices,
            offers=offers.get(one.name, ()),
            is_required=one.is_required,
            only=one.only,
        )
        for one in operation.fields
    ]
    return render_form(operation.name, operation.does, fields, "Make the plan")


def _placeholder(text: str, columns: Sequence[str]) -> str:
    """With a column that the table has; nothing while none is known."""
    if "{column}" not in text:
        return text
    return text.replace("{column}", columns[0]) if columns else ""


def render_run_of(services: PageServices, run: Run) -> Markup:
    """How far a run is; whoever may approve plans here may stop it. In a notebook only the
    kernel can be interrupted: it hears of a click when the run has ended."""
    return render_run(
        run.plan,
        run.begun_at,
        run.progress,
        is_stopping=run.is_stopping,
        can_stop=services.maintenance.is_unlocked and services.runner.is_background,
    )


def render_lock_of(services: PageServices, uri: str) -> Markup:
    """What a locked page says of itself; nothing where it is unlocked."""
    if services.maintenance.is_unlocked:
        return NOTHING
    return render_lock(
        uri,
        is_notebook=not services.runner.is_background,
        unlocks=UNLOCKS[by] if (by := services.maintenance.unlocked_by) else "",
    )


def render_decision(
    services: PageServices, plan: Plan, carried_out: Receipt | None, *, can_repeat: bool
) -> Markup:
    """The approval of a plan, and what it rests on; a locked page has no button for it.
    `can_repeat` says whether the page knows what was asked for."""
    uri = plan.subject.uri
    again = render_buttons(("again", "", "Plan again")) if can_repeat else NOTHING
    if carried_out is not None:
        shown = render_sentence("This plan was carried out already; a plan is used once.")
        shown += render_buttons(("receipt", carried_out.id, "Show its receipt"))
    elif plan.refusals:
        shown = render_sentence("This plan is blocked: it cannot be carried out.") + again
    elif not plan.steps:
        shown = render_sentence("There is nothing to do, and nothing to approve.") + again
    elif not services.maintenance.is_unlocked:
        shown = render_lock_of(services, uri)
    elif needs_name(plan) and not is_typeable(plan.subject.name):
        shown = render_sentence(
            "The table's name holds characters that cannot be typed here; carry the plan out on "
            "the command line, with --confirm."
        )
    elif any(run.plan.digest == plan.digest for run in services.maintenance.running(uri)):
        shown = render_sentence("This plan is being carried out; a plan is used once.")
        shown += render_buttons(("run", plan.digest, "Show how far it is"))
    else:
        shown = _render_others(services.maintenance.running(uri)) + render_losses(plan)
        shown += render_approval(
            plan, name_button(plan), asks_for_name=needs_name(plan), is_final=destroys(plan)
        )
    return shown + render_digest(plan) + render_grounds(plan)


def _render_others(running: Sequence[Run]) -> Markup:
    """What is being done to the table already, for whoever is about to approve more."""
    if not running:
        return NOTHING
    found = find_operation(running[-1].plan.operation)
    begun = format_time(read_moment(running[-1].begun_at * 1000))
    return render_notice(
        Notice(
            level="warning",
            problem=f"Another plan of this table has been under way since {begun}.",
            reason="" if found is None else f"It is of the operation {found.title}.",
            remedy="Wait until it has ended; what it changes may make this plan stale.",
        )
    )


def render_ways_on(services: PageServices, receipt: Receipt, *, can_repeat: bool) -> Markup:
    """What can be done after a run: undo it where that can be done, or plan again."""
    buttons, version = [], undo_version(receipt)
    if version is not None:
        buttons.append(("undo", "", f"Plan the undo: back to version {format_count(version)}"))
    elif receipt.operation == "set-properties" and receipt.undo:
        buttons.append(("undo", "", "Plan the undo"))
    if receipt.status != "completed" and services.maintenance.keeps_documents:
        buttons.append(("open", receipt.digest, "Show the plan"))
    if receipt.status != "completed" and can_repeat:
        buttons.append(("again", "", "Plan again"))
    return render_buttons(*buttons, ("back", "", "All operations"))
