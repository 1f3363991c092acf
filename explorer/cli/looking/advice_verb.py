"""`advice`: what to do first about a table, with cost, benefit and operation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, Limit, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import print_note
from explorer.cli.printing.wording import printable
from explorer.table.counts import count

if TYPE_CHECKING:
    from explorer.inspect.advice.advice import Advice

_COLOURS = {"error": "bold red", "warning": "yellow", "note": "dim"}
_LONGEST = 600
"""Characters of a sentence."""

WithFiles = Annotated[
    bool,
    typer.Option(
        "--files",
        help="Also list the data files: which are missing, and what a vacuum would free.",
    ),
]


def advice(
    uri: Uri,
    *,
    files: WithFiles = False,
    limit: Limit = None,
    option: StorageOptions = None,
    as_json: AsJson = False,
) -> None:
    """What to do first, with cost and benefit.

    The first three things, or --limit of them, of all that health, layout, deletion vectors and
    reach find. Nothing is changed: plan the operation that each names.

    Example: delta-explorer advice ./orders --files
    """
    given = {"files": files, "limit": limit}
    answer("advice", (uri, option), given, _print, as_json=as_json, screenful=None)


def _print(found: Advice, limit: int | None) -> None:
    shown = found.first if limit is None else found.steps[:limit]
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence_of(limit)), style="bold"))
    for number, step in enumerate(shown, 1):
        console.print(
            Text(f"{number}. {printable(step.problem, _LONGEST)}", style=_COLOURS[step.severity])
        )
        operation = " ".join(filter(None, (step.operation, *step.arguments.values())))
        told = (
            ("cost", step.cost),
            ("benefit", step.benefit),
            ("operation", operation),
            ("by hand", step.by_hand),
        )
        for name, value in told:
            if value:
                console.print(Text(f"   {name}: {printable(value, _LONGEST)}"))
    if left := len(found.steps) - len(shown):
        print_note(
            console, f"{count(left, 'more thing')} to do; --limit {len(found.steps)} shows all"
        )
    if not found.has_listed:
        print_note(console, "the data files were not checked; --files checks them")
