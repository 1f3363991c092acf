"""`preview`: the first rows of a version."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.cli.answering import answer
from explorer.cli.arguments.options import (
    AsJson,
    Columns,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
)
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import print_note
from explorer.cli.printing.row_listing import list_rows
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.answers.previewed_rows import PreviewedRows

Where = Annotated[
    str | None,
    typer.Option("--where", "-w", metavar="SQL", help="Only rows for which this is true."),
]


def preview(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    *,
    version: Version = None,
    timestamp: Timestamp = None,
    column: Columns = None,
    where: Where = None,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The first rows of a version.

    Example: delta-explorer preview ./orders --where "country = 'DE'" --column id --limit 9
    """
    given = {
        "version": version,
        "timestamp": timestamp,
        "column": column,
        "where": where,
        "limit": limit,
    }
    answer(
        "preview",
        (uri, option),
        given,
        lambda previewed, _: _print_rows(previewed),
        as_json=as_json,
    )


def _print_rows(previewed: PreviewedRows) -> None:
    console, found = build_console(sys.stdout), previewed.found
    hidden = list_rows(console, found.rows)
    if not found.rows.num_rows:
        print_note(console, "no rows")
    if found.is_cut:
        print_note(console, f"first {count(found.rows.num_rows, 'row')}; more with --limit N")
    if hidden:
        text = f"{count(hidden, 'more column')}; --column NAME shows one, --json all"
        print_note(console, text)
    for problem in previewed.snapshot.problems:
        print_note(console, f"! {problem.problem}")
