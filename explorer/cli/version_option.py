"""The command without a verb: `--version`, else the help."""

from __future__ import annotations

from typing import Annotated

import typer

from explorer.cli.printing.failures import EXIT_USAGE


def _print_version(asked: bool) -> None:  # noqa: FBT001  # Typer hands the flag over
    if not asked:
        return
    # most lines ask something else, and it brings the parser of e-mail
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        found = version("delta-explorer")
    except PackageNotFoundError:
        found = "(not installed: run from its sources)"
    typer.echo(f"delta-explorer {found}")
    raise typer.Exit


def about(
    context: typer.Context,
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """What the command answers without a verb: its help, as wrong usage."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(EXIT_USAGE)
