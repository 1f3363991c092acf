"""`schema`: the columns of a table, when they changed, and which data files hold them by what
name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
    Version,
)
from explorer.cli.printing import answer_printing
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, TimeColumn, print_cut, print_listing
from explorer.cli.printing.wording import printable, render_count
from explorer.errors import InvalidArgumentError
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.inspect.columns.presence import ColumnPresence

WithFiles = Annotated[
    bool,
    typer.Option(
        "--files",
        help="Also read the footers of the data files (at most --limit N, 1,000 by default): "
        "which files have each column, and under which name.",
    ),
]


WithHistory = Annotated[
    bool,
    typer.Option("--history", help="Instead, each version that changed the schema, by field."),
]


def schema(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    version: Version = None,
    files: WithFiles = False,
    history: WithHistory = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Columns with their types, rules and names in data files.

    --files also reads the footers of data files: which files lack a column, so that it is NULL.
    --history shows when columns were added, dropped, renamed, widened or changed otherwise.

    Example: delta-explorer schema ./orders --history
    """
    place, given = (uri, option), {"version": version, "limit": limit}
    if files and history:
        raise InvalidArgumentError(
            "Both --files and --history are given.",
            reason="One is about data files of one version, the other about all versions.",
            remedy="Leave out one of them.",
        )
    if history:
        answer("schema_history", place, given, _print_history, as_json=as_json)
    elif files:
        answer(
            "columns_by_files",
            place,
            given,
            lambda found, _: _print(found),
            as_json=as_json,
            screenful=None,
        )
    else:
        answer(
            "schema", place, given, answer_printing.print_schema, as_json=as_json, screenful=None
        )


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


def _print_history(found: pa.Table, limit: int | None) -> None:
    from explorer.inspect.columns.schema_history import schema_history_sentence  # noqa: PLC0415  # Arrow

    console = build_console(sys.stdout)
    console.print(Text(printable(schema_history_sentence(found), 2000), style="bold"))
    print_listing(console, _HISTORY, list(plain_rows(found, limit)))
    if limit is not None:
        print_cut(console, min(limit, found.num_rows), found.num_rows, "changes")


def _version(row: Row) -> str:
    return str(row["version"]) if row["version_exact"] else f"{row['version']} or before"


def _change(row: Row) -> str:
    if row["kind"] == "unreadable":
        return str(row["meaning"])
    from explorer.inspect.columns.schema_history import (  # noqa: PLC0415  # Arrow
        sides_in_words,
    )

    return " -> ".join(sides_in_words(row))


def _count(row: Row, name: str) -> str:
    return "" if row[name] is None else render_count(row[name])


def _id(row: Row) -> str:
    return "" if row["field_id"] is None else str(row["field_id"])


_HISTORY = (
    Column(title="version", render=_version, align="right", style=lambda _: "bold"),
    TimeColumn(title="committed", moment=lambda row: row["timestamp"], from_width=80),
    Column(title="change", render=lambda row: row["kind"]),
    Column(title="column", render=lambda row: row["path"], shrinks=True),
    Column(title="what", render=_change, shrinks=True),
    Column(title="by", render=lambda row: row["user_name"] or "", from_width=100, shrinks=True),
)
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
