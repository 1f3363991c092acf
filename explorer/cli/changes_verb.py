"""`changes`: the change data feed, row by row."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

import explorer
import explorer.inspect as look
from explorer.cli.json_lines import plain_rows, print_document
from explorer.cli.listings import Column, TimeColumn, print_cut, print_listing, print_note
from explorer.cli.options import (
    SCREENFUL,
    AsJson,
    Limit,
    StorageOptions,
    Uri,
    parse_storage_options,
)
from explorer.cli.row_listing import list_changes
from explorer.cli.row_values import row_objects
from explorer.cli.terminal import build_console, show_progress
from explorer.cli.wording import render_count, render_size
from explorer.table.counts import count

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.errors import Problem
    from explorer.inspect.rows.feed_counts import ChangeTotals

From = Annotated[int, typer.Argument(metavar="FROM", help="The first version.")]
To = Annotated[
    int | None, typer.Argument(metavar="TO", help="The last version; the newest by default.")
]


Counts = Annotated[
    bool,
    typer.Option(
        "--count", help="Count inserted, updated and deleted rows of each version; list no rows."
    ),
]


def changes(  # noqa: PLR0913  # the options of a command
    uri: Uri,
    from_version: From,
    to_version: To = None,
    *,
    count: Counts = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """The change data feed: rows inserted, updated and deleted.

    Both versions are included. --count counts the rows of each version instead.

    Example: delta-explorer changes ./orders 12 15 --limit 100
    """
    from explorer.rows.changes.feed import (  # noqa: PLC0415  # `--help` does without Arrow
        label_problems,
        read_changes,
    )

    table = explorer.open_table(uri, parse_storage_options(option))
    if count:
        with show_progress() as progress:
            totals = look.change_totals(table, from_version, to_version, progress=progress)
        _tell_totals(totals, limit, as_json=as_json)
        return
    wanted = limit or (None if as_json else SCREENFUL)
    one_more = None if wanted is None else wanted + 1
    told: list[Problem] = []
    with show_progress() as progress:
        found = read_changes(
            table, from_version, to_version, one_more, tell=told.append, progress=progress
        )
    shown = found if wanted is None else found.slice(0, wanted)
    problems = (*label_problems(shown.column("_change_type").to_pylist()), *told)
    if as_json:
        print_document(
            {
                "uri": table.uri,
                "from_version": from_version,
                "to_version": to_version,
                "columns": [{"name": item.name, "type": str(item.type)} for item in found.schema],
                "is_cut": found.num_rows > shown.num_rows,
                "problems": [problem.as_dict() for problem in problems],
                "rows": list(row_objects(shown)),
            }
        )
        return
    _print(shown, is_cut=found.num_rows > shown.num_rows)
    _tell_problems(problems)


def _tell_totals(totals: ChangeTotals, limit: int | None, *, as_json: bool) -> None:
    if as_json:
        print_document(
            {
                "from_version": totals.first,
                "to_version": totals.last,
                "sentence": totals.sentence,
                "problems": [problem.as_dict() for problem in totals.problems],
                "versions": list(plain_rows(totals.versions)),
            }
        )
        return
    console = build_console(sys.stdout)
    print_note(console, totals.sentence)
    rows = list(plain_rows(totals.versions.slice(0, limit or SCREENFUL)))
    if rows:
        print_listing(console, _COUNTS, rows)
        print_cut(console, len(rows), totals.versions.num_rows, "versions")
    _tell_problems(totals.problems)


def _tell_problems(problems: tuple[Problem, ...]) -> None:
    console = build_console(sys.stdout)
    for problem in problems:
        print_note(console, f"! {problem.problem} {problem.reason}")


def _print(rows: pa.Table, *, is_cut: bool) -> None:
    console = build_console(sys.stdout)
    hidden = list_changes(console, rows)
    if not rows.num_rows:
        print_note(console, "no changes")
    if is_cut:
        print_note(console, f"first {count(rows.num_rows, 'change')}; more with --limit N")
    if hidden:
        print_note(console, f"{count(hidden, 'more column')}; --json shows all")


_COUNTS = (
    Column(title="version", render=lambda row: str(row["version"]), align="right"),
    TimeColumn(title="time", moment=lambda row: row["timestamp"], from_width=100),
    Column(title="inserted", render=lambda row: render_count(row["insert"]), align="right"),
    Column(
        title="updated", render=lambda row: render_count(row["update_postimage"]), align="right"
    ),
    Column(title="deleted", render=lambda row: render_count(row["delete"]), align="right"),
    Column(title="files", render=lambda row: render_count(row["num_files"]), align="right"),
    Column(title="bytes", render=lambda row: render_size(row["bytes"]), align="right"),
)
