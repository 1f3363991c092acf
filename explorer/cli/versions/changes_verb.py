"""`changes`: the change data feed, row by row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, TimeColumn, print_cut, print_listing, print_note
from explorer.cli.printing.row_listing import list_changes
from explorer.cli.printing.wording import render_count, render_size
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.answers.changed_rows import ChangedRows
    from explorer.errors import Problem
    from explorer.inspect.rows.feed_counts import ChangeTotals

From = Annotated[int, typer.Argument(metavar="FROM", help="The first version.")]
To = Annotated[
    int | None, typer.Argument(metavar="TO", help="The last version; the newest by default.")
]


Counts = Annotated[
    bool,
    typer.Option(
        "--count", help="Count inserted, updated and deleted rows of each version; list no rows."
    ),
]


def changes(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    from_version: From,
    to_version: To = None,
    *,
    count: Counts = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The change data feed: rows inserted, updated and deleted.

    Both versions are included. --count counts the rows of each version instead.

    Example: delta-explorer changes ./orders 12 15 --limit 100
    """
    place = (uri, option)
    versions = {"from_version": from_version, "to_version": to_version}
    if count:
        most = limit or SCREENFUL
        answer("change_totals", place, versions, _print_totals, as_json=as_json, screenful=most)
    else:
        given = {**versions, "limit": limit}
        answer("changes", place, given, lambda found, _: _print(found), as_json=as_json)


def _print_totals(totals: ChangeTotals, limit: int) -> None:
    console = build_console(sys.stdout)
    print_note(console, totals.sentence)
    rows = list(plain_rows(totals.versions, limit))
    if rows:
        print_listing(console, _COUNTS, rows)
        print_cut(console, len(rows), totals.versions.num_rows, "versions")
    _print_problems(console, totals.problems)


def _print_problems(console: Console, problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        print_note(console, f"! {problem.problem} {problem.reason}")


def _print(found: ChangedRows) -> None:
    console = build_console(sys.stdout)
    hidden = list_changes(console, found.rows)
    if not found.rows.num_rows:
        print_note(console, "no changes")
    if found.is_cut:
        print_note(console, f"first {count(found.rows.num_rows, 'change')}; more with --limit N")
    if hidden:
        print_note(console, f"{count(hidden, 'more column')}; --json shows all")
    _print_problems(console, found.problems)


_COUNTS = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    TimeColumn(title="time", moment=lambda row: row["timestamp"], from_width=100),
    Column(title="inserted", render=lambda row: render_count(row["insert"]), align="right"),
    Column(
        title="updated", render=lambda row: render_count(row["update_postimage"]), align="right"
    ),
    Column(title="deleted", render=lambda row: render_count(row["delete"]), align="right"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
)
