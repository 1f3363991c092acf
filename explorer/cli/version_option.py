"""`--version`: which release this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer


def _print_version(asked: bool) -> None:  # noqa: FBT001  # Typer hands the flag over
    if not asked:
        return
    try:
        found = version("delta-explorer")
    except PackageNotFoundError:
        found = "(not installed: run from its sources)"
    typer.echo(f"delta-explorer {found}")
    raise typer.Exit


def about(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """What the command answers without a verb."""
