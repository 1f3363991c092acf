"""`health`: whether the log is sound, what opening the table costs, and what would repair it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.failures import EXIT_PROBLEM
from explorer.cli.printing.listings import (
    Column,
    Row,
    TimeColumn,
    print_cut,
    print_grid,
    print_listing,
    print_note,
)
from explorer.cli.printing.wording import printable, render_count, render_size
from explorer.inspect.frame_rows import plain_rows

if TYPE_CHECKING:
    from explorer.inspect.health.table_health import Health

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}

_LONGEST = 600
"""Characters of a finding."""
_WIDE = 120
"""Columns of a terminal that has room for the reason of a finding, too."""

WithFiles = Annotated[
    bool,
    typer.Option(
        "--files",
        help="Also read the whole checkpoint and list the data files: which are missing, which "
        "have nulls in NOT NULL columns, and which no column of the table; compare checkpoints "
        "and checksums with the commits.",
    ),
]

FailOn = Annotated[
    Literal["note", "warning", "error"] | None,
    typer.Option(
        "--fail-on",
        help="Exit with code 1 if a finding is of this severity or a higher one.",
    ),
]


def health(  # the options of a command
    uri: Uri,
    *,
    files: WithFiles = False,
    fail_on: FailOn = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """What is wrong with the log, and what repairs it.

    Checks for gaps, and checks checkpoints, the hint, checksums and clocks. Also shows what
    opening the table costs. --files also finds missing data files.

    Example: delta-explorer health ./orders --fail-on warning
    """
    given = {"files": files, "limit": limit}
    found: Health = answer("health", (uri, option), given, _print, as_json=as_json)
    if fail_on is not None and found.has_finding(fail_on):
        raise typer.Exit(EXIT_PROBLEM)


def _print(found: Health, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    _print_findings(console, list(plain_rows(found.findings)))
    print_listing(console, _BYTES, list(plain_rows(found.log_bytes)))
    if found.missing is not None and found.missing.num_rows:
        print_listing(console, _MISSING, list(plain_rows(found.missing, limit)))
        print_cut(console, min(limit, found.missing.num_rows), found.missing.num_rows, "files")
    if found.nulls is not None and (total := found.nulls.files.num_rows):
        print_listing(console, _NULLS, list(plain_rows(found.nulls.files, limit)))
        print_cut(console, min(limit, total), total, "files")
    if found.unrelated is not None and (total := found.unrelated.num_rows):
        print_listing(console, _UNRELATED, list(plain_rows(found.unrelated.slice(0, limit))))
        print_cut(console, min(limit, total), total, "files")
    if not found.has_listed:
        print_note(console, "the data files were not checked; --files checks them")
    if found.opens and not found.is_checkpoint_read:
        print_note(
            console, "the checkpoint is large and was only partly read; --files reads all of it"
        )


def _print_findings(console: Console, rows: Sequence[Row]) -> None:
    """Each finding whole, with its evidence and what repairs it: a cut one has lost its point."""
    grid = Grid.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(
            Text(row["severity"], style=_COLOURS[row["severity"]]),
            Text(printable(row["problem"], _LONGEST)),
        )
        why = row["reason"] if console.width >= _WIDE else None
        facts = (("evidence", row["evidence"]), ("repair", row["repair"]), ("why", why))
        told = "; ".join(f"{name}: {value}" for name, value in facts if value)
        if told:
            grid.add_row(Text(""), Text(printable(told, _LONGEST), style="dim"))
    if rows:
        print_grid(console, grid)


_BYTES = (
    Column(title="log files", render=lambda row: row["kind"], style=lambda _: "bold"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
    TimeColumn(title="oldest", moment=lambda row: row["oldest"]),
    TimeColumn(title="newest", moment=lambda row: row["newest"]),
)
_MISSING = (
    Column(title="missing", render=lambda row: row["what"]),
    Column(title="file", render=lambda row: row["file"], shrinks=True),
    Column(title="rows", render=lambda row: render_count(row["num_rows"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
)
_UNRELATED = (Column(title="no column of the table", render=lambda row: row["path"], shrinks=True),)
_NULLS = (
    Column(title="NOT NULL column", render=lambda row: row["column"]),
    Column(title="file", render=lambda row: row["path"], shrinks=True),
    Column(title="nulls", render=lambda row: render_count(row["num_nulls"]), align="right"),
    Column(title="known by", render=lambda row: row["known_by"]),
    Column(title="", render=lambda row: "or in deleted rows" if row["may_be_deleted"] else ""),
)
