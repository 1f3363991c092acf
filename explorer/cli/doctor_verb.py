"""`doctor`: what is installed, what is missing for what, and how to get it."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from explorer.cli.arguments.options import AsJson
from explorer.cli.printing.consoles import build_console
from explorer.cli.printing.failures import EXIT_PROBLEM
from explorer.cli.printing.json_lines import print_document
from explorer.cli.printing.listings import Column, print_listing, print_note

if TYPE_CHECKING:
    from explorer.inspect.installation import Part

_COLOURS = {"ok": "green", "missing": "yellow", "does not fit": "red", "broken": "red"}

_PARTS = (
    Column(title="part", render=lambda row: row["name"], style=lambda _: "bold"),
    Column(
        title="state", render=lambda row: row["status"], style=lambda row: _COLOURS[row["status"]]
    ),
    Column(title="found", render=lambda row: row["found"] or "", limit=200, shrinks=True),
    Column(title="needed", render=lambda row: row["wanted"], shrinks=True),
    Column(title="used for", render=lambda row: row["purpose"], shrinks=True, limit=80),
)


def doctor(*, as_json: AsJson = False) -> None:
    """What is installed, what is missing and how to get it.

    Example: delta-explorer doctor
    """
    from explorer.inspect.installation import (  # noqa: PLC0415  # for this verb alone
        installation,
        installation_sentence,
    )

    parts = [*installation(), _state_folder()]
    if as_json:
        sentence = installation_sentence(parts)
        print_document({"sentence": sentence, "parts": [asdict(part) for part in parts]})
    else:
        console = build_console(sys.stdout)
        console.print(Text(installation_sentence(parts), style="bold"))
        print_listing(console, _PARTS, [asdict(part) for part in parts])
        for part in parts:
            if part.remedy:
                print_note(console, f"{part.name}: {part.remedy}")
    if any(part.is_needed and part.status != "ok" for part in parts):
        raise typer.Exit(EXIT_PROBLEM)


def _state_folder() -> Part:
    from explorer.inspect.installation import Part  # noqa: PLC0415  # as above
    from explorer.maintenance.documents.state_folder import default_state_dir  # noqa: PLC0415  # brings Arrow

    place = default_state_dir()
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    can_write = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return Part(
        name="state folder",
        purpose="plans and receipts of maintenance",
        status="ok" if can_write else "broken",
        wanted="a folder that can be written",
        found=_shown(place),
        is_needed=False,
        remedy="" if can_write else f"Make {_shown(there)} writable, or name one: --state-dir.",
    )


def _shown(place: Path) -> str:
    return str(place).encode("utf-8", "replace").decode()
