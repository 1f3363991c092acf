"""`skip`: which files a predicate leaves to read, which it rules out, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    AsJson,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_cut, print_listing, print_note
from explorer.cli.printing.wording import printable, render_count, render_size
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.scan.plan import ReasonGroup, ScanPlan

_FILES_OF_A_GROUP = 10
"""Files that are shown of each reason unless `--limit` says otherwise."""

Where = Annotated[
    str,
    typer.Argument(
        metavar="WHERE", help="A condition, such as \"region = 'emea' AND amount > 10\"."
    ),
]


def skip(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    where: Where,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which files a query must read, and why it skips the others.

    Example: delta-explorer skip ./orders "day >= '2026-11-01' AND amount > 100"
    """
    answer(
        "skip",
        (uri, option),
        {"where": where, "version": version, "timestamp": timestamp, "limit": limit},
        _print_plan,
        as_json=as_json,
        screenful=_FILES_OF_A_GROUP,
    )


def _print_plan(plan: ScanPlan, limit: int) -> None:
    console = build_console(sys.stdout)
    total = render_size(plan.bytes_kept + plan.bytes_skipped)
    many = count(plan.num_files, "file")
    text = f"{render_count(plan.num_kept)} of {many} must be read"
    console.print(Text(f"{text}: {render_size(plan.bytes_kept)} of {total}", style="bold"))
    if more := plan.num_reference_skips:
        print_note(
            console,
            f"Delta Spark would skip {render_count(more)} of them: it takes bounds as they are, "
            "although NaN may be left out of them and texts may be cut",
        )
    groups = plan.by_reason(limit)
    print_listing(console, _GROUPS, [_as_row(group) for group in groups])
    for group in groups:
        console.print()
        console.print(Text(f"{_fate(group)}: {printable(group.reason)}", style="bold"))
        rows = [{**row, "reason": _facts(row, group)} for row in plain_rows(group.files)]
        print_listing(console, _FILES, rows)
        print_cut(console, len(rows), group.num_files, "files")
    for problem in plan.problems:
        print_note(console, f"! {problem.problem} {problem.reason}")


def _as_row(group: ReasonGroup) -> Row:
    return {
        "fate": _fate(group),
        "num_files": group.num_files,
        "size": group.size_in_bytes,
        "reason": group.reason,
    }


def _fate(group: ReasonGroup) -> str:
    return "read" if group.kept else "skipped"


def _facts(row: Row, group: ReasonGroup) -> str:
    """What the file holds, without what is said of the whole group."""
    return str(row["reason"]).removeprefix(group.reason).removeprefix(": ")


_GROUPS = (
    Column(title="", render=lambda row: row["fate"], style=lambda _: "bold"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
)
_FILES = (
    Column(title="size", render=lambda row: render_size(row["size"]), align="right"),
    Column(title="path", render=lambda row: row["path"], shrinks=True),
    Column(title="holds", render=lambda row: row["reason"], shrinks=True),
)
