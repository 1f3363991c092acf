"""`changes`: the change data feed, row by row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

import explorer
from explorer.cli.json_lines import print_document
from explorer.cli.listings import print_note
from explorer.cli.options import AsJson, Limit, StorageOptions, Uri, parse_storage_options
from explorer.cli.row_listing import list_rows
from explorer.cli.row_values import row_objects
from explorer.cli.terminal import build_console, show_progress

if TYPE_CHECKING:
    import pyarrow as pa

_SCREENFUL = 50

From = Annotated[int, typer.Argument(metavar="FROM", help="The first version of the range.")]
To = Annotated[
    int | None, typer.Argument(metavar="[TO]", help="The last one; by default the latest.")
]


def changes(  # the options of a command
    uri: Uri,
    from_version: From,
    to_version: To = None,
    *,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """Which rows came, went and changed between two versions, both inclusive.

    Example: delta-explorer changes ./orders 12 15 --limit 100
    """
    from explorer.rows.changes import read_changes  # noqa: PLC0415  # `--help` does without Arrow

    table = explorer.open_table(uri, parse_storage_options(option))
    wanted = limit or (None if as_json else _SCREENFUL)
    one_more = None if wanted is None else wanted + 1
    with show_progress() as progress:
        found = read_changes(table, from_version, to_version, one_more, progress=progress)
    shown = found if wanted is None else found.slice(0, wanted)
    if as_json:
        print_document(
            {
                "uri": table.uri,
                "from_version": from_version,
                "to_version": to_version,
                "columns": [{"name": item.name, "type": str(item.type)} for item in found.schema],
                "is_cut": found.num_rows > shown.num_rows,
                "rows": list(row_objects(shown)),
            }
        )
        return
    _print(shown, is_cut=found.num_rows > shown.num_rows)


def _print(rows: pa.Table, *, is_cut: bool) -> None:
    console = build_console(sys.stdout)
    names = rows.column_names
    # what happened comes first: the screen may be narrow
    hidden = list_rows(console, rows.select([*names[-3:], *names[:-3]]))
    if not rows.num_rows:
        print_note(console, "no row changed")
    if is_cut:
        shown = rows.num_rows
        print_note(console, f"the first {shown:,} changes; there are more: --limit N shows N")
    if hidden:
        print_note(console, f"{hidden:,} more columns; --json shows all")
