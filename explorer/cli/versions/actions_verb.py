"""`actions`: the lines of one commit, as the log has them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, print_cut, print_listing
from explorer.cli.printing.wording import UNKNOWN, printable, render_size
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.inspect.commits.action_lines import CommitActions

CommitVersion = Annotated[
    int, typer.Argument(metavar="VERSION", min=0, help="The version that the commit made.")
]
FromLine = Annotated[
    int | None,
    typer.Option("--from-line", min=1, metavar="N", help="Begin with this line of the commit."),
]


def actions(
    uri: Uri,
    version: CommitVersion,
    *,
    from_line: FromLine = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The actions of one commit, line by line, as the log has them.

    With --json each has its line in the field json, unchanged. --from-line and --limit
    page through a commit of many.

    Example: delta-explorer actions ./orders 63 --json
    """
    given = {"version": version, "from_line": from_line, "limit": limit}
    answer("actions", (uri, option), given, _print, as_json=as_json)


def _print(found: CommitActions, _: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.log_file), style="bold"))
    rows = list(plain_rows(found.rows))
    print_listing(console, _LINES, rows)
    print_cut(console, len(rows), found.num_lines, "lines")


def _size(row: Row) -> str:
    return "" if row["size"] is None else render_size(row["size"])


def _records(row: Row) -> Any:
    return "" if row["num_records"] is None else f"{row['num_records']:,}"


_LINES = (
    Column(title="line", render=lambda row: str(row["line"]), align="right"),
    Column(title="action", render=lambda row: row["action"] or UNKNOWN, limit=24),
    Column(title="size", render=_size, align="right"),
    Column(title="rows", render=_records, align="right"),
    Column(title="what", render=lambda row: row["summary"] or "", shrinks=True),
)
