"""`rows`: when rows were written, changed or deleted, by a search through all versions."""

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
    Uri,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, TimeColumn, print_cut, print_listing, print_note
from explorer.cli.printing.row_listing import list_changes
from explorer.cli.printing.wording import printable, render_count
from explorer.errors import InvalidArgumentError
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.rows.row_blame import RowBlame
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


Blame = Annotated[
    bool,
    typer.Option(
        "--blame", help="Instead, which commit last set each value of the one row that matches."
    ),
]
OfVersion = Annotated[
    int | None,
    typer.Option("--version", metavar="N", help="With --blame: the row as version N has it."),
]
OfColumns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME", help="With --blame: this column. Repeatable."),
]


def rows(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    where: Where,
    *,
    first: From = None,
    files: MostFiles = None,
    blame: Blame = False,
    version: OfVersion = None,
    column: OfColumns = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """When rows were written, changed or deleted.

    Searches every version; data files that cannot hold such rows are skipped.

    --blame says which commit last set each value of a row, and who made it.

    Example: delta-explorer rows ./orders "order_id = 4711"
    """
    _check_options(first, version, column, is_blame=blame)
    given = {"where": where, "files": files, "limit": limit}
    if blame:
        asked = {**given, "version": version, "column": column}
        answer("row_blame", (uri, option), asked, _print_blame, as_json=as_json)
        return
    answer("rows", (uri, option), {**given, "first": first}, _print, as_json=as_json)


def _check_options(
    first: int | None, version: int | None, column: list[str] | None, *, is_blame: bool
) -> None:
    given = {"--from": first} if is_blame else {"--version": version, "--column": column}
    for name, value in given.items():
        if value is not None and value != []:
            raise InvalidArgumentError(
                f"{name} is given {'with' if is_blame else 'without'} --blame.",
                reason="A search goes through all versions, blame back from one of them.",
                remedy=f"Leave out {name}.",
            )


def _print_blame(found: RowBlame, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence, 2000), style="bold"))
    shown = [{**row, "value": found.texts[row["column"]]} for row in plain_rows(found.cells, limit)]
    print_listing(console, _CELLS, shown)
    print_cut(console, len(shown), found.cells.num_rows, "columns")
    if found.unread.num_rows:
        print_listing(console, _UNREAD, list(plain_rows(found.unread, limit)))


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
_CELLS = (
    Column(title="column", render=lambda row: row["column"], shrinks=True),
    Column(
        title="value",
        render=lambda row: "null" if row["value"] is None else row["value"] or '""',
        shrinks=True,
        style=lambda row: "dim" if row["value"] is None else "",
    ),
    Column(title="set", render=lambda row: row["kind"]),
    Column(
        title="version",
        render=lambda row: "" if row["version"] is None else str(row["version"]),
        align="right",
    ),
    TimeColumn(title="time", moment=lambda row: row["timestamp"], unknown="", from_width=100),
    Column(title="operation", render=lambda row: row["operation"] or "", limit=40),
    Column(title="user", render=lambda row: row["user_name"] or "", shrinks=True, limit=60),
    Column(title="why", render=lambda row: row["reason"] or "", shrinks=True),
)
_UNREAD = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    Column(title="not readable", render=lambda row: row["path"], shrinks=True),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
)
