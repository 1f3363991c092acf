"""`reach`: how far time travel and the change data feed go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import Column, Row, TimeColumn, print_listing, print_note
from explorer.cli.printing.wording import printable, render_time
from explorer.inspect.frame_rows import plain_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from datetime import datetime

    from explorer.inspect.reach.reachability import Reachability

_COLOURS = {
    "promised": "green",
    "readable": "green",
    "unprotected": "yellow",
    "readable, unprotected": "yellow",
    "not read yet": "dim",
    "not enabled": "dim",
}

WithFiles = Annotated[
    bool,
    typer.Option(
        "--files", help="Also read every commit and list the data files: which are missing."
    ),
]


def reach(  # the options of a command
    uri: Uri,
    *,
    files: WithFiles = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """How far back time travel and the change data feed go.

    With what ends each of them, and how long the versions that can be read are kept.

    Example: delta-explorer reach ./orders --files
    """
    given = {"files": files, "limit": limit}
    answer("reach", (uri, option), given, _print, as_json=as_json)


def _print(found: Reachability, limit: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    rows = [{**row, "until": _until(row, found.now)} for row in plain_rows(found.ranges, limit)]
    print_listing(console, _RANGES, rows)
    if found.ranges.num_rows > limit:
        print_note(console, f"{limit:,} of {found.ranges.num_rows:,} ranges; --limit shows more")
    print_listing(console, _WINDOWS, list(plain_rows(found.windows)))
    if found.files_outside:
        print_note(
            console,
            f"{_names_files(found.files_outside)} outside the table's folder, which were not "
            "checked",
        )
    if not found.has_listed and found.problem is None:
        print_note(console, "the data files were not checked; --files checks them")


def _names_files(actions: int) -> str:
    return f"{count(actions, 'action')} {'names' if actions == 1 else 'name'} files"


def _state(row: Row) -> str:
    from explorer.inspect.reach.wording import state_in_words  # noqa: PLC0415  # loads pyarrow

    return state_in_words(row["state"], spark_refuses=row["spark_refuses"])


def _versions(row: Row) -> str:
    return str(row["first"]) if row["first"] == row["last"] else f"{row['first']}–{row['last']}"


def _until(row: Row, now: datetime) -> str:
    from explorer.inspect.reach.wording import range_in_words  # noqa: PLC0415  # loads pyarrow

    return range_in_words(row, now, render_time)


_RANGES = (
    Column(title="what", render=lambda row: row["what"], style=lambda _: "bold"),
    Column(title="versions", render=_versions, align="right"),
    Column(
        title="state",
        render=_state,
        style=lambda row: "yellow" if row["spark_refuses"] else _COLOURS.get(row["state"], "red"),
    ),
    Column(title="kept until at least", render=lambda row: row["until"]),
    Column(
        title="Delta Spark 4.1+",
        render=lambda row: {True: "refuses it", False: "reads it"}.get(row["spark_refuses"], ""),
    ),
)
_WINDOWS = (
    Column(title="retention", render=lambda row: row["property"], shrinks=True),
    Column(title="value", render=lambda row: row["value"], limit=60, shrinks=True),
    Column(title="set by", render=lambda row: row["source"], shrinks=True),
    TimeColumn(title="reaches back to", moment=lambda row: row["cutoff"]),
    Column(
        title="version",
        render=lambda row: "" if row["first_version"] is None else str(row["first_version"]),
        align="right",
    ),
    Column(title="meaning", render=lambda row: row["meaning"], shrinks=True, from_width=140),
)
