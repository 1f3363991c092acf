"""`schema`: the columns of a table, and which data files hold them by what name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli import printing
from explorer.cli.answering import answer
from explorer.cli.listings import Column, Row, print_cut, print_listing
from explorer.cli.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
    Version,
)
from explorer.cli.terminal import build_console
from explorer.cli.wording import printable, render_count
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.inspect.columns.presence import ColumnPresence

WithFiles = Annotated[
    bool,
    typer.Option(
        "--files",
        help="Also read the footers of the data files (at most --limit N, 1,000 by default): "
        "which files have each column, and under which name.",
    ),
]


def schema(  # the options of a command
    uri: Uri,
    *,
    version: Version = None,
    files: WithFiles = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Columns with their types, rules and names in data files.

    --files also reads the footers of data files: which files lack a column, so that it is NULL.

    Example: delta-explorer schema ./orders --version 3 --files
    """
    place, given = (uri, option), {"version": version, "limit": limit}
    if files:
        answer(
            "columns_by_files",
            place,
            given,
            lambda found, _: _print(found),
            as_json=as_json,
            screenful=None,
        )
    else:
        answer("schema", place, given, printing.print_schema, as_json=as_json, screenful=None)


def _print(found: ColumnPresence) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence, 2000), style="bold"))
    print_listing(console, _COLUMNS, list(plain_rows(found.columns)))
    for frame, columns, noun in (
        (found.absent, _ABSENT, "files without a column"),
        (found.unused, _UNUSED, "columns of files that the table does not read"),
        (found.unrelated, _UNRELATED, "files without any column of the table"),
        (found.unread, _UNREAD, "files that were not read"),
    ):
        if frame.num_rows:
            print_listing(console, columns, list(plain_rows(frame, SCREENFUL)))
            if frame.num_rows > SCREENFUL:
                print_cut(console, SCREENFUL, frame.num_rows, noun)


def _count(row: Row, name: str) -> str:
    return "" if row[name] is None else render_count(row[name])


def _id(row: Row) -> str:
    return "" if row["field_id"] is None else str(row["field_id"])


_COLUMNS = (
    Column(title="column", render=lambda row: row["path"], shrinks=True),
    Column(title="name in files", render=lambda row: row["name_in_files"], shrinks=True),
    Column(title="id", render=_id, align="right"),
    Column(title="files with it", render=lambda row: _count(row, "files_with"), align="right"),
    Column(title="without it", render=lambda row: _count(row, "files_without"), align="right"),
    Column(title="all null", render=lambda row: _count(row, "files_all_null"), align="right"),
)
_ABSENT = (
    Column(title="column", render=lambda row: row["column"], shrinks=True),
    Column(title="missing in", render=lambda row: row["file"], shrinks=True),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
)
_UNUSED = (
    Column(title="only in files", render=lambda row: row["name_in_files"], shrinks=True),
    Column(title="id", render=_id, align="right"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
)
_UNRELATED = (
    Column(
        title="files without any column of the table", render=lambda row: row["file"], shrinks=True
    ),
)
_UNREAD = (
    Column(title="not read", render=lambda row: row["file"], shrinks=True),
    Column(title="why", render=lambda row: row["reason"], shrinks=True),
)
