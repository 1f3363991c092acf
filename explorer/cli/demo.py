"""The verb `demo`: write a realistic table, then show it."""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from explorer.cli.arguments.options import parse_instant
from explorer.cli.plugins import load_open_page
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.terminal import show_progress
from explorer.cli.printing.wording import printable

_ADDRESS = "127.0.0.1"
_PORT = 5006

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="FOLDER", help="An empty or new folder; a temporary one by default."),
]
Now = Annotated[
    str | None,
    typer.Option(metavar="T", help="When its history ends; now by default."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The seed of its random values.")]
Port = Annotated[
    int, typer.Option(min=0, max=65535, help="The port of the page; 0 takes a free one.")
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open a browser on the page.")]
WriteOnly = Annotated[bool, typer.Option("--write-only", help="Write the table and open no page.")]


def demo(  # the options of a command
    folder: Folder = None,
    *,
    now: Now = None,
    seed: Seed = 0,
    port: Port = _PORT,
    show: Open = True,
    write_only: WriteOnly = False,
) -> None:
    """Write a demo table and open the page on it.

    The table holds the orders of an online shop, with a history of some weeks.

    Example: delta-explorer demo ./orders --seed 7
    """
    instant = datetime.now(UTC) if now is None else parse_instant(now)
    open_page = None if write_only else load_open_page()
    place = Path(tempfile.mkdtemp(prefix="delta-explorer-demo-")) if folder is None else folder
    _write(place, instant, seed)
    if open_page is not None:
        open_page([str(place)], port=port, address=_ADDRESS, show=show, storage_options=None)


def _write(folder: Path, now: datetime, seed: int) -> None:
    from explorer.demo.write import write_demo  # noqa: PLC0415  # slow, and for this verb alone

    with show_progress() as progress:
        write_demo(folder, now=now, seed=seed, progress=progress)
    build_console(sys.stdout).print(Text(f"Wrote the demo table to {printable(str(folder))}"))
