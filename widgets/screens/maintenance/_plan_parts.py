"""A plan as a person reviews it: what becomes impossible first, then why, then every file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from explorer.maintenance.plan.plan import Plan, Verdict
from explorer.maintenance.plan.step_types import Step
from widgets.markup import NOTHING, Markup, html, join
from widgets.screens.maintenance._facts import list_facts
from widgets.text import (
    cut,
    cut_path,
    format_bytes,
    format_count,
    format_many,
    format_minute,
    format_time,
)
from widgets.ui.exports import EXPORT_BUTTONS
from widgets.ui.pieces import render_section
from widgets.ui.table import Cell, Column, Row, render_table

FILE_COLUMNS = (
    Column(key="path", label="File", sortable=True, mono=True),
    Column(key="bytes", label="Size", align="right", sortable=True),
    Column(key="reason", label="Why", wraps=True),
)
TIME_COLUMN = Column(key="deletable_from", label="May go from (UTC)", sortable=True, wide=True)
"""Behind them where a plan tells from when files may go."""

ACTION_COLUMN = Column(key="action", label="What happens")
"""In front where files with different actions are listed."""

EXPORTED = {
    "action": pa.string(),
    "path": pa.string(),
    "bytes": pa.int64(),
    "reason": pa.string(),
    "deletable_from": pa.timestamp("ms", "UTC"),
    "modified": pa.timestamp("ms", "UTC"),
}
"""Columns of an export."""

STEP_COLUMNS = (
    Column(key="number", label="Step", align="right"),
    Column(key="what", label="What"),
    Column(key="files", label="Files", align="right"),
    Column(key="bytes", label="Size", align="right"),
    Column(key="why", label="Why", wraps=True),
)
ACTIONS = {
    "delete": "deleted for good",
    "remove": "leaves the table",
    "add": "joins the table",
    "write": "is written",
    "leave": "stays",
}
"""What happens to a file, in words."""

_TOGETHER = {
    "delete": "deleted for good",
    "remove": "leave the table",
    "add": "join the table",
    "write": "are written",
    "leave": "stay",
}
"""What happens to several files, in words."""

_LONGEST = 20


def render_consequence(plan: Plan, *, is_grave: bool) -> Markup:
    """The first sentence of a review: what blocks the plan; else what is done, and what becomes
    impossible."""
    kind = "dx-destroys" if is_grave and plan.steps else "dx-harmless"
    shown, planned = html("{}", cut(plan.summary, 2000)), NOTHING
    if plan.refusals:
        kind, planned = "dx-refused", html('<p class="dx-muted">The plan: {}</p>', shown)
        shown = html(" ").join(map(_render_block, plan.refusals))
    return html(
        '<p class="dx-consequence {}" tabindex="-1" data-land="{}">{}</p>{}',
        kind,
        plan.digest[:12],
        shown,
        planned,
    )


def _render_block(verdict: Verdict) -> Markup:
    remedy = html(" {}", cut(verdict.remedy, 600)) if verdict.remedy else NOTHING
    return html(
        "<strong>Blocked by {}:</strong> {}{}",
        cut(verdict.guard, 60),
        cut(verdict.message, 1200),
        remedy,
    )


def render_guards(plan: Plan) -> Markup:
    """What the guards say that do not block it: those that warn in full, the others on demand."""
    return _render_verdicts([one for one in plan.verdicts if one.outcome != "refuse"])


def render_grounds(plan: Plan) -> Markup:
    """The facts and the steps of a plan."""
    facts = join(
        html("<div><dt>{}</dt><dd>{}</dd></div>", name, value) for name, value in list_facts(plan)
    )
    facts = html('<dl class="dx-facts">{}</dl>', facts)
    return html("{}{}", render_section("Based on", facts), _render_steps(plan.steps))


def _render_verdicts(verdicts: Sequence[Verdict]) -> Markup:
    loud = [one for one in verdicts if one.outcome != "allow"]
    quiet = [one for one in verdicts if one.outcome == "allow"]
    shown = NOTHING
    if loud:
        shown += html('<ul class="dx-guards">{}</ul>', join(map(_render_verdict, loud)))
    if quiet:
        title = f"{format_many(len(quiet), 'check')} passed"
        items = join(map(_render_verdict, quiet))
        shown += html(
            '<details><summary>{}</summary><ul class="dx-guards">{}</ul></details>', title, items
        )
    return shown


_OUTCOMES = {"allow": "{}: passed.", "warn": "Warning about {}:"}


def _render_verdict(verdict: Verdict) -> Markup:
    remedy = html(" <em>{}</em>", cut(verdict.remedy, 600)) if verdict.remedy else NOTHING
    return html(
        '<li class="dx-{}"><strong>{}</strong> {}{}</li>',
        verdict.outcome,
        _OUTCOMES[verdict.outcome].format(cut(verdict.guard, 60)),
        cut(verdict.message, 1200),
        remedy,
    )


def _render_steps(steps: Sequence[Step]) -> Markup:
    if not steps:
        return NOTHING
    rows = [_step_row(number, step) for number, step in enumerate(steps, start=1)]
    names = ", ".join(name_step(step) for step in steps[:_LONGEST])
    title = "1 step" if len(steps) == 1 else f"{format_count(len(steps))} steps, in this order"
    return html(
        "<details><summary>{}: {}</summary><div>{}</div></details>",
        title,
        cut(names, 200),
        render_table("Steps of the plan", STEP_COLUMNS, rows),
    )


def name_step(step: Step) -> str:
    """What a step does, in a word or two."""
    return cut(step.title, 60)


def _step_row(number: int, step: Step) -> Row:
    return Row(
        cells=(
            Cell(text=str(number)),
            Cell(text=name_step(step)),
            Cell(text=format_count(step.num_files) if step.num_files else "\N{EN DASH}"),
            Cell(text="\N{EN DASH}" if step.num_bytes is None else format_bytes(step.num_bytes)),
            Cell(text=cut(step.reason, 400)),
        )
    )


def render_files_head(counts: Sequence[tuple[str, int, int | None]], action: str | None) -> Markup:
    """What to look at: files by what happens to them, a filter, the export. `counts` has
    actions with their files and bytes."""
    total = sum(number for _, number, _ in counts)
    options = [(name, _TOGETHER.get(name, name), number, size) for name, number, size in counts]
    options.append(("", "all", total, None))
    buttons = join(
        html(
            '<button type="button" data-do="action" data-value="{}" '
            'aria-pressed="{}"'
            "{}>{} {}</button>",
            name,
            "true" if name == (action or "") else "false",
            _title(size),
            label,
            format_count(number),
        )
        for name, label, number, size in options
    )
    which = html(
        '<span class="dx-segments" role="group" aria-label="Which files">{}</span>', buttons
    )
    if len(counts) == 1:
        _, label, number, _ = options[0]
        which = html("<span>{} {}</span>", format_count(number), label)
    return html(
        '<div class="dx-head dx-plan-files"><h3>Every file, with its reason</h3>{}'
        '<input type="search" data-do="filter" aria-label="Filter the files of the plan" '
        'placeholder="Filter by path or reason">'
        "{}</div>",
        which,
        EXPORT_BUTTONS,
    )


def _title(size: int | None) -> Markup:
    return NOTHING if size is None else html(' title="{}"', format_bytes(size))


def build_file_row(entry: Mapping[str, Any], *, with_action: bool, with_time: bool) -> Row:
    """One file of a plan; `entry` has the columns of the plan's list."""
    action = Cell(
        text=ACTIONS.get(str(entry["action"]), cut(str(entry["action"]), 30)),
        muted=entry["action"] == "leave",
    )
    path, reason, size = str(entry["path"]), str(entry["reason"]), entry["bytes"]
    moment = entry["deletable_from"]
    time = Cell(
        text="\N{EN DASH}" if moment is None else format_minute(moment),
        title=None if moment is None else format_time(moment),
    )
    return Row(
        cells=(
            *([action] if with_action else []),
            Cell(text=cut_path(path, 54), title=cut(path, 1000)),
            Cell(
                text=format_bytes(size),
                title=None if size is None else f"{format_count(size)} bytes",
            ),
            Cell(text=cut(reason, 200)),
            *([time] if with_time else []),
        )
    )


def build_export_row(entry: Mapping[str, Any]) -> list[object]:
    """One file in the order of `EXPORTED`."""
    return [entry[name] for name in EXPORTED]


def render_approval(plan: Plan, button: str, *, asks_for_name: bool, is_final: bool) -> Markup:
    """What a person types, and the button that names what it does. The digest goes with it."""
    kind = "dx-danger" if asks_for_name else "dx-primary"
    warning = "This cannot be undone. " if is_final else ""
    name = _render_name(plan.subject.name, warning) if asks_for_name else NOTHING
    reason = NOTHING
    if plan.asks_for_reason:
        reason = _render_reason("The reason, which the receipt keeps", html(" required"))
    elif asks_for_name:
        reason = _render_reason("Reason (optional), kept in the receipt", NOTHING)
    return (
        # what was typed for one plan approves no other
        html(
            '<div class="dx-form dx-approval" id="dx-approve-{}" data-form="">'
            "{}{}"
            '<input type="hidden" name="digest" value="{}">'
            '<div class="dx-buttons">'
            '<button type="button" class="{}" data-do="approve" data-value="" data-submit="">'
            "{}</button>"
            '<button type="button" data-do="back" data-value="">Cancel</button></div></div>',
            plan.digest[:12],
            name,
            reason,
            plan.digest,
            kind,
            button,
        )
    )


def _render_reason(label: str, required: Markup) -> Markup:
    return html(
        "<label><span>{}</span>"
        '<input type="text" name="reason"{} autocomplete="off" maxlength="2000"></label>',
        label,
        required,
    )


def _render_name(name: str, warning: str) -> Markup:
    return html(
        "<label><span>{}To approve it, type the table's name: "
        '<code>{}</code></span><input type="text" name="table_name" '
        'data-expected="{}" autocomplete="off" spellcheck="false"></label>',
        warning,
        name,
        name,
    )


def is_typeable(name: str) -> bool:
    """Whether a person can enter the name in a line of text as it is."""
    return name.isprintable() and bool(name)


def render_digest(plan: Plan) -> Markup:
    """What tells this plan from every other."""
    return html(
        '<p class="dx-evidence">Plan <code>{}</code>, of the table with id <code>{}</code></p>',
        plan.digest[:12],
        cut(plan.subject.id, 80),
    )


def render_sentence(text: str, *, kind: str = "dx-muted") -> Markup:
    """Why there is nothing to approve."""
    return html('<p class="{}">{}</p>', kind, text)
