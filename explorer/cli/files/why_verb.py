"""`why`: why a file is still here, and from when on it may be deleted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, TimeColumn, print_cut, print_listing
from explorer.cli.printing.wording import printable
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.inspect.files.file_judgement import FileReason


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A path below the table, as in the folder or as in the log."
    ),
]


def why(  # the options of a command
    uri: Uri,
    file: File,
    *,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Why a file is still in the folder.

    Which versions need it, and from when on VACUUM may delete it.

    Example: delta-explorer why ./orders part-00000.parquet
    """
    given = {"file": file, "limit": limit}
    answer("why", (uri, option), given, _print, as_json=as_json)


def _print(found: FileReason, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    rows = list(plain_rows(found.evidence, limit))
    if rows:
        print_listing(console, _LINES, rows)
        print_cut(console, len(rows), found.evidence.num_rows, "lines")


_LINES = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    Column(title="action", render=lambda row: row["action"], style=lambda _: "bold"),
    Column(title="role", render=lambda row: row["role"]),
    TimeColumn(title="time", moment=lambda row: row["time"], unknown=""),
    Column(title="log file", render=lambda row: f"{row['log_file']}:{row['line']}"),
    Column(title="data file", render=lambda row: row["data_file"], shrinks=True, from_width=120),
)
