"""`rows`: when rows were written, changed or deleted, by a search through all versions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.listings import Column, TimeColumn, print_cut, print_listing, print_note
from explorer.cli.options import (
    AsJson,
    Limit,
    StorageOptions,
    Uri,
)
from explorer.cli.row_listing import list_changes
from explorer.cli.terminal import build_console
from explorer.cli.wording import printable, render_count
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.rows.row_search import RowHistory

Where = Annotated[
    str,
    typer.Argument(metavar="WHERE", help='Which rows, such as "order_id = 4711".'),
]
From = Annotated[
    int | None,
    typer.Option("--from", metavar="N", help="The first version to search; the oldest by default."),
]
MostFiles = Annotated[
    int | None,
    typer.Option(
        "--files", min=1, metavar="N", help="Read at most N data files; 1,000 by default."
    ),
]


def rows(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    where: Where,
    *,
    first: From = None,
    files: MostFiles = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """When rows were written, changed or deleted.

    Searches every version; data files that cannot hold such rows are skipped.

    Example: delta-explorer rows ./orders "order_id = 4711"
    """
    given = {"where": where, "first": first, "files": files, "limit": limit}
    answer("rows", (uri, option), given, _print, as_json=as_json)


def _print(found: RowHistory, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    if found.versions.num_rows:
        print_listing(console, _VERSIONS, list(plain_rows(found.versions)))
        shown = found.rows.slice(0, limit)
        hidden = list_changes(console, shown)
        print_cut(console, shown.num_rows, found.rows.num_rows, "changed rows")
        if hidden:
            print_note(console, f"{count(hidden, 'more column')}; --json shows all")
    if found.unread.num_rows:
        print_listing(console, _UNREAD, list(plain_rows(found.unread, limit)))


_VERSIONS = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    TimeColumn(title="time", moment=lambda row: row["timestamp"]),
    Column(title="operation", render=lambda row: row["operation"] or "", limit=40),
    Column(title="inserted", render=lambda row: render_count(row["inserted"]), align="right"),
    Column(title="updated", render=lambda row: render_count(row["updated"]), align="right"),
    Column(title="deleted", render=lambda row: render_count(row["deleted"]), align="right"),
    Column(title="user", render=lambda row: row["user_name"] or "", shrinks=True, limit=60),
    Column(title="log file", render=lambda row: row["log_file"], from_width=120),
)
_UNREAD = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    Column(title="not readable", render=lambda row: row["path"], shrinks=True),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
)
