"""How far maintenance has come while it plans and while it changes a table."""

from __future__ import annotations

from explorer.maintenance.plan.plan import Plan
from explorer.progress import Progress
from widgets.markup import NOTHING, Markup, html
from widgets.screens.maintenance._plan_parts import name_step
from widgets.text import cut, format_count, format_many, format_time, read_moment

_LABEL = 200


def render_planning(progress: Progress | None, *, can_stop: bool) -> Markup:
    """A plan that is being made."""
    count, label = _count_of(progress), _label_of(progress)
    button = "Stop planning" if can_stop else None
    return _render("Looking, and changing nothing", progress, count, label, button)


def render_run(
    plan: Plan, begun_at: float, progress: Progress | None, *, is_stopping: bool, can_stop: bool
) -> Markup:
    """A plan that is being carried out since `begun_at`, in seconds since the epoch."""
    begun = format_time(read_moment(begun_at * 1000))
    lead = "Stopping after this step" if is_stopping else f"Carrying out the plan, begun {begun}"
    count, label = describe_progress(plan, progress)
    button = "Stop after this step" if can_stop and not is_stopping else None
    summary = html('<p class="dx-muted">{}</p>', cut(plan.summary, 2000))
    return summary + _render(lead, progress, count, label, button)


def describe_progress(plan: Plan, progress: Progress | None) -> tuple[str, str]:
    """How much is done and of what, and what is being done. A run tells of the steps of its
    plan, of the files that a step deletes, and of the parts that other work on files has."""
    if progress is None or not progress.total:
        return _count_of(progress), _label_of(progress)
    done, total = min(progress.done, progress.total), progress.total
    steps = [step for step in plan.steps if step.reason == progress.label]
    if not steps:
        # nothing of it is done, or the log is listed: then the number is that of the steps
        count = f"{format_count(done)} of {format_many(total, 'part')}" if done else ""
        return count, progress.label
    label = f"{name_step(steps[0]).capitalize()}: {progress.label}"
    if total == len(plan.steps) and done < total and plan.steps[done] in steps:
        return f"Step {format_count(done + 1)} of {format_count(total)}", label
    return f"{format_count(done)} of {format_many(total, 'file')}", label


def _count_of(progress: Progress | None) -> str:
    if progress is None:
        return ""
    if progress.total:
        done = min(progress.done, progress.total)
        return f"{format_count(done)} of {format_count(progress.total)}"
    return format_count(progress.done) if progress.done else ""


def _label_of(progress: Progress | None) -> str:
    return "" if progress is None else progress.label


def _render(
    lead: str, progress: Progress | None, count: str, label: str, button: str | None
) -> Markup:
    bar = html('<progress aria-label="Progress"></progress>')
    if progress is not None and progress.total:
        done = min(progress.done, progress.total)
        bar = html(
            '<progress max="{}" value="{}" aria-label="Progress"></progress>', progress.total, done
        )
    stop = (
        NOTHING
        if button is None
        else html(
            '<button type="button" class="dx-outlined" data-do="stop" data-value="">{}</button>',
            button,
        )
    )
    return (
        # what is read out is what is going on, and not each of its numbers
        html(
            '<div class="dx-run" tabindex="-1" data-land="run">'
            '<strong role="status">{}</strong><div>{}<span>{}</span></div>'
            "<p>{}&nbsp;</p>{}</div>",
            lead,
            bar,
            count,
            cut(label, _LABEL),
            stop,
        )
    )
