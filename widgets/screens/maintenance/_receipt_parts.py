"""What became of a plan, and the lists of what was kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.maintenance.documents.leftovers import leftovers_of
from explorer.maintenance.documents.receipt import Check, FileException, Receipt, StepReceipt
from explorer.maintenance.documents.step_words import words_of_steps
from explorer.maintenance.plan.plan import sentence_of
from explorer.maintenance.plan.step_types import COMMITTING_KINDS
from explorer.writing.files.leftovers import Leftovers
from widgets.markup import NOTHING, Markup, html, join
from widgets.state import Notice
from widgets.text import (
    cut,
    cut_path,
    format_bytes,
    format_count,
    format_minute,
    format_time,
    read_moment,
)
from widgets.ui.pieces import render_definitions, render_notice, render_section
from widgets.ui.place_links import CELL_LINK, PlaceLinks
from widgets.ui.table import Cell, Column, Row, render_table

STATUSES = {
    "completed": ("done", "Everything was done as planned."),
    "partly": ("partly done", "Not all of it was done."),
    "cancelled": ("cancelled", "A person stopped it after a step."),
    "refused": ("refused", "Nothing was changed."),
    "failed": ("failed", "An error ended it."),
}
"""The word for a status, and what it means."""

NOBODY = "nobody named"
"""Who approved a plan where no name was given."""

EXCEPTIONS_SHOWN = 100
"""Files named in a receipt; the document has up to a thousand."""

VERSIONS_SHOWN = 4
"""Versions that a receipt leads to; of more the first and the last."""

_STEPS = (
    Column(key="number", label="Step", align="right"),
    Column(key="what", label="What"),
    Column(key="status", label="Result"),
    Column(key="planned", label="Planned", align="right"),
    Column(key="done", label="Done", align="right"),
    Column(key="gone", label="Already gone", align="right"),
    Column(key="refused", label="Refused", align="right"),
    Column(key="failed", label="Failed", align="right"),
    Column(key="bytes", label="Size", align="right"),
)
_SELDOM = {"gone": "already_gone", "refused": "refused", "failed": "failed"}
"""Columns that are left out where no step has such files, each with its field."""

_EXCEPTIONS = (
    Column(key="path", label="File", mono=True),
    Column(key="outcome", label="Result"),
    Column(key="reason", label="Why", wraps=True),
)
_LEFTOVERS = (
    Column(key="path", label="File", mono=True),
    Column(key="state", label="State"),
)
_CHECKS = (
    Column(key="what", label="Check"),
    Column(key="holds", label="OK"),
    Column(key="detail", label="Found", wraps=True),
)
RECEIPT_COLUMNS = (
    Column(key="ended", label="Ended (UTC)"),
    Column(key="operation", label="Operation"),
    Column(key="status", label="Result"),
    Column(key="by", label="Approved by", wide=True),
    Column(key="what", label="Planned", wraps=True),
)
PLAN_COLUMNS = (
    Column(key="made", label="Made (UTC)"),
    Column(key="operation", label="Operation"),
    Column(key="status", label="Result"),
    Column(key="version", label="On version", align="right", wide=True),
    Column(key="what", label="What", wraps=True),
)

_UNDO = re.compile(r"restore to version ([0-9]{1,18})")


def undo_version(receipt: Receipt) -> int | None:
    """The version whose restore undoes what a receipt tells of; None where it names none."""
    found = _UNDO.fullmatch(receipt.undo or "")
    return int(found[1]) if found else None


def made_versions(receipt: Receipt) -> list[int]:
    """The versions that a run committed, in their order."""
    results = [step.result or {} for step in receipt.steps if step.kind in COMMITTING_KINDS]
    found = [version for result in results if isinstance(version := result.get("version"), int)]
    return list(dict.fromkeys(found))


def render_made(receipt: Receipt, links: PlaceLinks) -> Markup:
    """A link to each version that a run committed, first and last where there are many."""
    made = made_versions(receipt)
    shown = made if len(made) <= VERSIONS_SHOWN else [made[0], made[-1]]
    return join(
        html(
            " {}",
            links.render(
                "commit",
                str(version),
                html("Version {}", format_count(version)),
                to={"view": "commit", "version": version},
                attributes=CELL_LINK,
            ),
        )
        for version in shown
    )


def render_receipt(receipt: Receipt, made: Markup = NOTHING) -> Markup:
    """Everything that a receipt says; `made` are links to what it committed."""
    word, meaning = STATUSES[receipt.status]
    is_good = receipt.status == "completed"
    kind = "dx-good" if is_good else "dx-bad"
    meaning = _sentence(receipt, meaning)
    return html(
        '<div class="dx-outcome {}" role="status" tabindex="-1" data-land="{}">'
        "<strong>{}</strong> "
        "{}{}</div>{}"
        '<p class="dx-muted">Planned: {}</p>'
        "{}{}"
        "{}"
        "{}"
        "{}",
        kind,
        receipt.id,
        word.capitalize(),
        meaning,
        made,
        _render_problem(receipt),
        cut(receipt.summary, 2000),
        _render_steps(receipt),
        _render_exceptions(receipt.steps),
        _render_leftovers(leftovers_of(receipt)),
        _render_checks(receipt.checks),
        render_section("Receipt", render_definitions(_facts(receipt), code=("Plan", "Id"))),
    )


def _sentence(receipt: Receipt, meaning: str) -> str:
    changed = any(step.done or step.status == "done" for step in receipt.steps)
    left = leftovers_of(receipt)
    parts = [meaning]
    if receipt.status in {"cancelled", "failed"} and not changed:
        is_clean = not (left.num_left or left.num_unlisted)
        parts.append("Nothing was changed." if is_clean else "No version of the table changed.")
    elif receipt.status in {"partly", "cancelled"} and any(
        step.status != "done" for step in receipt.steps
    ):
        parts.append("Carrying out the same plan again goes on where it ended.")
    return " ".join([*parts, left.sentence]).rstrip()


def _render_problem(receipt: Receipt) -> Markup:
    problem = receipt.problem
    if problem is None:
        return NOTHING
    level = Notice(
        level="error" if receipt.status in {"failed", "partly"} else "warning",
        problem=cut(problem.problem, 600),
        reason=cut(problem.reason, 1200),
        remedy=cut(problem.remedy, 600),
    )
    return render_notice(level)


def _facts(receipt: Receipt) -> list[tuple[str, str]]:
    seconds = (receipt.ended_at - receipt.started_at) / 1000
    pairs = [
        ("Began", format_time(read_moment(receipt.started_at))),
        ("Took", f"{seconds:,.1f} seconds"),
        ("Approved by", cut(receipt.approved_by or NOBODY, 120)),
    ]
    if receipt.reason:
        pairs.append(("Reason", cut(receipt.reason, 2000)))
    if receipt.undo and "`" not in receipt.undo:  # which speaks of the plan's document
        pairs.append(("Undo", cut(receipt.undo, 400)))
    return [*pairs, ("Plan", receipt.digest[:12]), ("Id", receipt.id)]


def _render_steps(receipt: Receipt) -> Markup:
    steps = receipt.steps
    seldom = {name: any(getattr(step, field) for step in steps) for name, field in _SELDOM.items()}
    shown = [column for column in _STEPS if seldom.get(column.key, True)]
    told = zip(steps, words_of_steps(receipt), strict=True)
    rows = [_step_row(number, *each, shown) for number, each in enumerate(told, start=1)]
    table = render_table("Steps of the run", shown, rows, empty="No step was begun.")
    return html('<div class="dx-steps">{}</div>', table)


def _step_row(number: int, step: StepReceipt, words: str, shown: Sequence[Column]) -> Row:
    cells = {
        "number": Cell(text=str(number)),
        "what": Cell(text=cut(step.kind.replace("_", " "), 60)),
        "status": Cell(text=words, muted=step.status == "not begun"),
        "planned": _count_cell(step, step.planned),
        "done": _count_cell(step, step.done),
        "gone": _count_cell(step, step.already_gone),
        "refused": _count_cell(step, step.refused),
        "failed": _count_cell(step, step.failed),
        "bytes": Cell(text=format_bytes(step.num_bytes) if step.num_bytes else "\N{EN DASH}"),
    }
    return Row(cells=[cells[column.key] for column in shown])


def _count_cell(step: StepReceipt, count: int) -> Cell:
    """A number of files; a step that changes none has none to count."""
    counts = step.planned or step.done or step.already_gone or step.refused or step.failed
    return Cell(text=format_count(count) if counts else "\N{EN DASH}", muted=not count)


def _render_exceptions(steps: Sequence[StepReceipt]) -> Markup:
    found = [one for step in steps for one in step.exceptions]
    if not found:
        return NOTHING
    rows = [_exception_row(one) for one in found[:EXCEPTIONS_SHOWN]]
    table = render_table("Files that were not changed", _EXCEPTIONS, rows)
    more = len(found) - EXCEPTIONS_SHOWN
    note = (
        html('<p class="dx-muted">{:,} more stand in the document.</p>', more)
        if more > 0
        else NOTHING
    )
    return html(
        "<details><summary>{} files were planned and not changed"
        "</summary><div>{}{}</div></details>",
        format_count(len(found)),
        table,
        note,
    )


def _render_leftovers(left: Leftovers) -> Markup:
    """The files that a run wrote in vain and that are still there, by their names."""
    rows = [
        Row(cells=(Cell(text=cut_path(path, 70), title=cut(path, 1000)), Cell(text=word)))
        for word, paths in (("is there", left.left), ("may begin so", left.unlisted))
        for path in paths[:EXCEPTIONS_SHOWN]
    ]
    if not rows:
        return NOTHING
    table = render_table("Files that were written in vain", _LEFTOVERS, rows)
    more = left.num_left + left.num_unlisted - len(rows)
    note = (
        html('<p class="dx-muted">{:,} more are not listed here.</p>', more)
        if more > 0
        else NOTHING
    )
    what = "1 file was" if left.num_left == 1 else f"{format_count(left.num_left)} files were"
    perhaps = ", and perhaps more" if left.num_unlisted else ""
    return html(
        "<details><summary>{} written in vain and left{}</summary><div>{}{}</div></details>",
        what,
        perhaps,
        table,
        note,
    )


def _exception_row(one: FileException) -> Row:
    return Row(
        cells=(
            Cell(text=cut_path(one.path, 70), title=cut(one.path, 1000)),
            Cell(text=one.outcome),
            Cell(text=cut(one.reason, 400)),
        )
    )


def _render_checks(checks: Sequence[Check]) -> Markup:
    if not checks:
        return NOTHING
    rows = [
        Row(
            cells=(
                Cell(text=cut(check.what, 120)),
                Cell(text="yes" if check.holds else "NO"),
                Cell(text=cut(check.detail, 400)),
            )
        )
        for check in checks
    ]
    return render_section("Checked afterwards", render_table("Checks after the run", _CHECKS, rows))


def build_receipt_row(receipt: Receipt, title: str) -> Row:
    """A receipt in a list; `title` is its operation's."""
    return Row(
        action="receipt",
        value=receipt.id,
        cells=(
            Cell(text=format_minute(read_moment(receipt.ended_at))),
            Cell(text=cut(title, 40)),
            Cell(text=STATUSES[receipt.status][0], muted=receipt.status != "completed"),
            Cell(text=cut(receipt.approved_by or NOBODY, 40), muted=not receipt.approved_by),
            Cell(text=cut(receipt.summary, 240)),
        ),
    )


def build_plan_row(document: Mapping[str, Any], title: str, status: str | None) -> Row:
    """A plan that was kept; `status` is that of its newest receipt."""
    made = document.get("planned_at")
    anchor = document.get("anchor")
    version = anchor.get("version") if isinstance(anchor, Mapping) else None
    became = STATUSES[status][0] if status in STATUSES else "not carried out"
    return Row(
        action="open",
        value=str(document["digest"]),
        cells=(
            Cell(text=format_minute(read_moment(made if isinstance(made, int) else None))),
            Cell(text=cut(title, 40)),
            Cell(text=became, muted=status != "completed"),
            Cell(text=format_count(version if isinstance(version, int) else None)),
            Cell(text=cut(sentence_of(document), 240)),
        ),
    )
