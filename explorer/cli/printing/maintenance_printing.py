"""Plans and receipts for people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.failures import report_as_text
from explorer.cli.printing.listings import (
    Column,
    Row,
    TimeColumn,
    print_cut,
    print_listing,
    print_note,
)
from explorer.cli.printing.wording import printable, render_count, render_size, render_time
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.maintenance.documents.older_plan import OlderStep
    from explorer.maintenance.documents.receipt import Receipt
    from explorer.maintenance.plan.plan import Plan

# verbs that are not called like their operation
_VERBS = {"set-properties": "set"}

_LEFTOVERS = 10
"""Files named in a receipt; the document has up to a thousand."""


def print_plan(plan: Plan, limit: int, further: Sequence[str] = ()) -> None:
    """What blocks a plan, what it does and what becomes impossible, then warnings, steps and
    files, and how it is applied; `further` are words that belong to the command then."""
    console = build_console(sys.stdout)
    # a blocked plan must not read as if it could still be done
    for verdict in plan.refusals:
        text = f"Blocked: {verdict.message} {verdict.remedy}".rstrip()
        console.print(Text(printable(text, 2000), style="bold red"))
    before, style = ("The plan: ", "dim") if plan.refusals else ("", "bold")
    console.print(Text(f"{before}{printable(plan.summary, 2000)}", style=style))
    for verdict in plan.verdicts:
        if verdict.outcome == "warn":
            text = f"! {verdict.message} {verdict.remedy}".rstrip()
            console.print(Text(printable(text, 2000), style="yellow"))
    if plan.steps:
        console.print()
        print_listing(console, _STEPS, [_step(number, step) for number, step in _counted(plan)])
    if plan.files.num_rows:
        console.print()
        rows = list(plain_rows(plan.files, limit))
        print_listing(console, _FILES, rows)
        print_cut(console, len(rows), plan.files.num_rows, "files")
    console.print()
    _print_way_on(console, plan, further)


def _print_way_on(console: Console, plan: Plan, further: Sequence[str]) -> None:
    print_note(console, f"plan {plan.digest}")
    if plan.refusals:
        print_note(console, "Nothing was changed. A blocked plan cannot be applied.")
        return
    if not plan.steps:
        return
    words = [_VERBS.get(plan.operation, plan.operation), shlex.quote(plan.subject.uri)]
    if plan.operation == "repair":
        words.append(str(plan.parameters["what"]))
    words += ["--apply", plan.digest[:12]]
    if plan.asks_for_name:
        words += ["--confirm", "NAME"]
    if plan.asks_for_reason:
        words += ["--reason", "TEXT"]
    command = " ".join((*words, *further))
    print_note(console, f"Nothing was changed. To apply this plan: delta-explorer {command}")


def print_receipt(receipt: Receipt, *, was_done_before: bool = False) -> None:
    """What became of a plan; its problem goes to standard error. `was_done_before` says that
    the receipt is that of an earlier run, after which there was nothing left to do."""
    from explorer.maintenance.documents.step_words import words_of_steps  # noqa: PLC0415  # after Arrow

    console = build_console(sys.stdout)
    is_done = receipt.status == "completed"
    style = "bold" if is_done else "bold red"
    console.print(Text(f"{receipt.operation}: {receipt.status}", style=style))
    if was_done_before:
        when = render_time(_moment(receipt.ended_at))
        text = f"This plan was already carried out at {when}; nothing was changed now."
        console.print(Text(text, style="yellow"))
    if receipt.approved_by:
        print_note(console, printable(f"approved by {receipt.approved_by}", 400))
    # a summary speaks as if it had happened
    planned = "" if is_done else "Planned: "
    print_note(console, printable(f"{planned}{receipt.summary}", 2000))
    rows = [
        {
            "number": number,
            "kind": step.kind,
            "status": word,
            "planned": step.planned,
            "done": step.done,
            "gone": step.already_gone,
            "refused": step.refused,
            "failed": step.failed,
            "bytes": step.num_bytes,
        }
        for number, (step, word) in enumerate(
            zip(receipt.steps, words_of_steps(receipt), strict=True), start=1
        )
    ]
    # what never happened needs no column
    columns = [
        column
        for key, column in _STEP_RECEIPTS.items()
        if key not in _RARE or any(row[key] for row in rows)
    ]
    if rows:
        print_listing(console, columns, rows)
    for step in receipt.steps:
        for found in step.exceptions[:10]:
            print_note(console, f"{found.outcome}: {found.path} ({found.reason})")
    _print_leftovers(console, receipt)
    for check in receipt.checks:
        sign = "OK" if check.holds else "Failed"
        print_note(console, f"{sign} {check.what}: {check.detail}")
    if receipt.undo is not None:
        print_note(console, f"Undo: {receipt.undo}")
    print_note(console, f"receipt {receipt.id}")
    if receipt.problem is not None:
        report_as_text(receipt.problem.as_dict())


def _print_leftovers(console: Console, receipt: Receipt) -> None:
    """What the run wrote in vain, and which of it is still there."""
    from explorer.maintenance.documents.leftovers import leftovers_of  # noqa: PLC0415  # after Arrow

    found = leftovers_of(receipt)
    if found.sentence:
        print_note(console, printable(found.sentence, 2000))
    for word, paths, number in (
        ("left", found.left, found.num_left),
        ("name may begin with", found.unlisted, found.num_unlisted),
    ):
        for path in paths[:_LEFTOVERS]:
            print_note(console, f"{word}: {path}")
        more = number - min(len(paths), _LEFTOVERS)
        if more > 0:
            print_note(console, f"and {more:,} more; --json names up to a thousand")


def print_noted_plan(document: Mapping[str, Any], steps: Iterable[OlderStep], told: str) -> None:
    """A plan that another release made, as its document has it; `told` is how far its execution
    came."""
    console = build_console(sys.stdout)
    console.print(Text(printable(_what_is_planned(document), 2000), style="bold"))
    rows = [
        {
            "number": number,
            "what": step.title,
            "files": step.num_files or None,
            "bytes": step.num_bytes,
            "why": step.reason,
        }
        for number, step in enumerate(steps, start=1)
    ]
    if rows:
        console.print()
        print_listing(console, _STEPS, rows)
    console.print()
    print_note(console, f"plan {document['digest']}")
    print_note(console, printable(told, 2000))


def print_plans(documents: Iterable[Mapping[str, Any]], place: Path) -> None:
    """A line for each plan."""
    _print_kept(_PLANS, list(documents), f"No plans in {place} yet.")


def print_receipts(rows: Iterable[Mapping[str, Any]], place: Path) -> None:
    """A line for each receipt."""
    _print_kept(_RECEIPTS, list(rows), f"No receipts in {place} yet.")


def _print_kept(columns: Sequence[Column], rows: Sequence[Row], nothing: str) -> None:
    console = build_console(sys.stdout)
    if rows:
        print_listing(console, columns, rows)
    else:
        print_note(console, nothing)


def _counted(plan: Plan) -> Iterable[tuple[int, Any]]:
    return enumerate(plan.steps, start=1)


def _step(number: int, step: Any) -> Row:
    files = step.num_files or None
    return {
        "number": number,
        "what": step.title,
        "files": files,
        "bytes": step.num_bytes,
        "why": step.reason,
    }


def _what_is_planned(row: Mapping[str, Any]) -> str:
    from explorer.maintenance.plan.plan import sentence_of  # noqa: PLC0415  # after Arrow

    return sentence_of(row)


def _none_for(value: int | None, text: str) -> str:
    return "" if value is None else text


def _counted_files(row: Row, key: str) -> str:
    """A number of files; a step that is about none has none to count."""
    has_files = any(row[name] for name in ("planned", "done", "gone", "refused", "failed"))
    return render_count(row[key]) if has_files else ""


def _moment(milliseconds: int | None) -> datetime | None:
    from explorer.table.times import utc_time as time_of  # noqa: PLC0415  # after Arrow

    return None if milliseconds is None else time_of(milliseconds)


_STEPS = (
    Column(title="step", render=lambda row: str(row["number"]), align="right"),
    Column(title="what", render=lambda row: row["what"]),
    Column(
        title="files",
        render=lambda row: _none_for(row["files"], render_count(row["files"])),
        align="right",
    ),
    Column(
        title="size",
        render=lambda row: _none_for(row["bytes"], render_size(row["bytes"])),
        align="right",
    ),
    Column(title="why", render=lambda row: row["why"], shrinks=True),
)

_FILES = (
    Column(
        title="",
        render=lambda row: row["action"],
        style=lambda row: "dim" if row["action"] == "leave" else "bold",
    ),
    Column(title="size", render=lambda row: render_size(row["bytes"]), align="right"),
    TimeColumn(
        title="deletable from",
        moment=lambda row: row["deletable_from"],
        unknown="",
        from_width=90,
    ),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
    Column(title="path", render=lambda row: row["path"], shrinks=True),
)

_RARE = frozenset({"gone", "refused", "failed"})
_STEP_RECEIPTS = {
    "number": Column(title="step", render=lambda row: str(row["number"]), align="right"),
    "kind": Column(title="what", render=lambda row: row["kind"].replace("_", " ")),
    "status": Column(title="status", render=lambda row: row["status"]),
    **{
        key: Column(title=title, render=partial(_counted_files, key=key), align="right")
        for key, title in (
            ("planned", "planned"),
            ("done", "done"),
            ("gone", "already gone"),
            ("refused", "refused"),
            ("failed", "failed"),
        )
    },
    "bytes": Column(
        title="size",
        render=lambda row: render_size(row["bytes"]) if row["bytes"] else "",
        align="right",
    ),
}

_PLANS = (
    Column(title="plan", render=lambda row: row["digest"][:12]),
    TimeColumn(title="made", moment=lambda row: _moment(row["planned_at"]), unknown=""),
    Column(title="operation", render=lambda row: row["operation"]),
    Column(title="table", render=lambda row: row["subject"]["uri"], shrinks=True),
    Column(title="what", render=_what_is_planned, shrinks=True, from_width=100),
)

_RECEIPTS = (
    Column(title="receipt", render=lambda row: row["id"]),
    TimeColumn(title="ended", moment=lambda row: _moment(row.get("ended_at")), unknown=""),
    Column(title="operation", render=lambda row: row.get("operation", "")),
    Column(
        title="status",
        render=lambda row: row.get("status", "altered"),
        style=lambda row: "" if row.get("status") == "completed" else "bold red",
    ),
    Column(title="table", render=lambda row: row.get("uri", ""), shrinks=True, from_width=100),
    Column(
        title="what",
        render=lambda row: row.get("summary", "The document was changed after it was saved."),
        shrinks=True,
        from_width=130,
    ),
)
