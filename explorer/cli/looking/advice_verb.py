"""`advice`: what to do first about a table, with cost, benefit and operation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from explorer.cli.answering import answer
from explorer.cli.arguments.options import AsJson, StorageOptions, Uri
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.listings import print_note
from explorer.cli.printing.wording import printable

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
    uri: Uri, *, files: WithFiles = False, option: StorageOptions = None, as_json: AsJson = False
) -> None:
    """What to do first, with cost and benefit.

    At most three things, of all that health, layout, deletion vectors and reach find. Nothing is
    changed: plan the operation that each names.

    Example: delta-explorer advice ./orders --files
    """
    answer("advice", (uri, option), {"files": files}, _print, as_json=as_json)


def _print(found: Advice, _: int) -> None:
    console = build_console(sys.stdout)
    console.print(Text(printable(found.sentence), style="bold"))
    for number, step in enumerate(found.first, 1):
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
    if not found.has_listed:
        print_note(console, "the data files were not looked at; --files looks at them")
