"""Plans of deletes and updates for people, and what came of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console

from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, print_listing
from explorer.cli.printing.row_listing import list_rows
from explorer.cli.printing.wording import render_count, render_size
from explorer.cli.printing.writing_printing import (
    print_note_line,
    print_result,
    print_title,
    print_way_on,
)
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.pipeline.changing.first_rows import FirstRows
    from explorer.pipeline.planned_writes.change_plan import ChangePlan
    from explorer.writing.statements.options import WriteResult

_VERBS: Final = {"DELETE": "Deletes", "UPDATE": "Updates"}


def print_change_plan(plan: ChangePlan, words: Sequence[str], limit: int) -> None:
    """What a delete or an update would do; `words` are those of the command that does it, `limit`
    how many of its files are shown."""
    console = build_console(sys.stdout)
    verb = _VERBS[plan.operation]
    print_title(console, f"{verb} {_rows(plan)} of {plan.uri}, version {plan.version}.")
    if not plan.num_files:
        return
    console.print()
    shown = plan.files.slice(0, limit).to_pylist()
    print_listing(console, _FILES, shown)
    if plan.num_files > len(shown):
        print_note_line(console, f"and {count(plan.num_files - len(shown), 'more file')}")
    if plan.first_rows is not None:
        _print_rows(console, plan.first_rows)
    console.print()
    for text in _notes(plan):
        print_note_line(console, text)
    print_way_on(console, plan.digest, words)


def print_change_result(result: WriteResult, uri: str, *, as_json: bool) -> None:
    """What came of it."""
    if as_json or result.version is not None:
        print_result(result, uri, as_json=as_json)
        return
    print_title(build_console(sys.stdout), "Nothing was committed. No row matched.")


def _print_rows(console: Console, rows: FirstRows) -> None:
    shown = [("before", rows.before), ("after", rows.after)]
    for title, table in shown:
        if table is None or not table.num_rows:
            continue
        console.print()
        is_delete = rows.after is None
        said = "the first rows" if is_delete else f"the first rows, {title}"
        print_note_line(console, f"{said}:")
        if missing := list_rows(console, table):
            print_note_line(console, f"and {count(missing, 'more column')}")


def _rows(plan: ChangePlan) -> str:
    if plan.is_everything:
        number = "" if plan.most_rows is None else f" ({count(plan.most_rows, 'row')})"
        return f"every row{number}"
    if plan.num_rows is not None:
        return count(plan.num_rows, "row")
    if not plan.num_files:
        return "no row"
    if plan.least_rows is not None and plan.least_rows == plan.most_rows:
        return count(plan.least_rows, "row")
    most = None if plan.most_rows is None else f"at most {count(plan.most_rows, 'row')}"
    if not plan.least_rows:
        return most or "an unknown number of rows"
    least = f"at least {count(plan.least_rows, 'row')}"
    return least if most is None else f"{least}, {most},"


def _notes(plan: ChangePlan) -> list[str]:
    size = render_size(plan.num_bytes)
    of = f"{count(plan.num_files, 'file')} ({size}) of {plan.num_live_files:,} may hold such rows"
    notes = [of if not plan.num_whole else f"{of}; all rows of {plan.num_whole:,} match"]
    deletes = plan.operation == "DELETE"
    if deletes and plan.way == "log alone":
        notes.append("whole files are removed, and no row is read")
    elif plan.way == "deletion vectors":
        notes.append("rows leave their files by deletion vectors")
    elif plan.way == "copies":
        notes.append("the rows that stay of a file are copied to a new one")
    if not deletes:
        notes.append("the new rows are written to new files")
    if plan.writes_change_data:
        notes.append("change data are written")
    if plan.needs_spark is not None:
        notes.append(f"! Spark is needed: {plan.needs_spark}")
    if plan.is_everything:
        notes.append(f"! Every row goes: type the table's name as NAME, {plan.table_name}")
    return notes


_FILES = (
    Column(title="rows", render=lambda row: render_count(row["num_records"]), align="right"),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="match", render=lambda row: "all" if row["whole"] else "some"),
    Column(title="file", render=lambda row: row["path"], shrinks=True),
)
