"""`preview`: the first rows of a version."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

import explorer
from explorer.cli.json_lines import print_document
from explorer.cli.listings import print_note
from explorer.cli.options import (
    SCREENFUL,
    AsJson,
    Columns,
    Limit,
    StorageOptions,
    Timestamp,
    Uri,
    Version,
    check_one_point_in_time,
    parse_storage_options,
)
from explorer.cli.row_listing import list_rows
from explorer.cli.row_values import row_objects
from explorer.cli.terminal import build_console, show_progress
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.rows.read import Preview
    from explorer.table.snapshot import Snapshot

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
    from explorer.rows.read import (  # noqa: PLC0415  # `--help` does without Arrow
        PREVIEW_ROWS,
    )
    from explorer.rows.read import preview as read_preview  # noqa: PLC0415  # as above

    check_one_point_in_time(version, timestamp)
    table = explorer.open_table(uri, parse_storage_options(option))
    wanted = limit or (PREVIEW_ROWS if as_json else SCREENFUL)
    with show_progress() as progress:
        snapshot = table.snapshot(version=version, timestamp=timestamp, progress=progress)
        found = read_preview(snapshot, column, where, wanted, progress=progress)
    if as_json:
        print_document(_document(snapshot, found))
    else:
        _print_rows(found)
        for problem in snapshot.problems:
            print_note(build_console(sys.stdout), f"! {problem.problem}")


def _document(snapshot: Snapshot, found: Preview) -> dict[str, Any]:
    return {
        "version": snapshot.version,
        "columns": [{"name": item.name, "type": str(item.type)} for item in found.rows.schema],
        "is_cut": found.is_cut,
        "problems": [problem.as_dict() for problem in snapshot.problems],
        "rows": list(row_objects(found.rows)),
    }


def _print_rows(found: Preview) -> None:
    console = build_console(sys.stdout)
    hidden = list_rows(console, found.rows)
    if not found.rows.num_rows:
        print_note(console, "no rows")
    if found.is_cut:
        print_note(console, f"first {count(found.rows.num_rows, 'row')}; more with --limit N")
    if hidden:
        text = f"{count(hidden, 'more column')}; --column NAME shows one, --json all"
        print_note(console, text)
