"""What this package adds to the command line (entry points `delta_explorer.verbs`).

`register_serve` adds the verb `serve`; `open_page` shows tables, for `demo`. The
page and its libraries are loaded when a page is opened, not for `--help`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from explorer.cli.options import parse_storage_options
from explorer.errors import StorageError

_EXAMPLE = "Example: delta-explorer serve ./orders s3://bucket/events --option anon=true"


def register_serve(app: typer.Typer) -> None:
    """Add the verb `serve` to the command line."""

    @app.command(name="serve", epilog=_EXAMPLE)
    def serve(
        uris: Annotated[
            list[str] | None, typer.Argument(metavar="[URI]...", help="Tables to offer.")
        ] = None,
        port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 5006,
        address: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
        show: Annotated[  # noqa: FBT002 - typer turns it into --open and --no-open
            bool, typer.Option("--open/--no-open", help="Open a browser on the page.")
        ] = True,
        option: Annotated[
            list[str] | None,
            typer.Option("--option", metavar="KEY=VALUE", help="A storage option; repeatable."),
        ] = None,
        maintenance: Annotated[  # noqa: FBT002 - a flag of the command line
            bool,
            typer.Option(
                "--maintenance", help="Let the browser that opens the link change tables."
            ),
        ] = False,
    ) -> None:
        """Show tables in a browser: versions, files, protocol and log.

        Listens on this machine only unless --address says otherwise; then only
        the tables named here can be opened. Nothing can be changed unless
        --maintenance is given; then the link that is printed works once.
        """
        open_page(
            uris or [],
            port=port,
            address=address,
            show=show,
            storage_options=parse_storage_options(option),
            maintenance=maintenance,
        )


def open_page(
    uris: Sequence[str],
    *,
    port: int,
    address: str,
    show: bool,
    storage_options: Mapping[str, Any] | None,
    maintenance: bool = False,
) -> None:
    """Show tables in a browser; returns when the server has been stopped.

    Raises `DeltaError` for a place that cannot be one, or an address or port
    that cannot be listened on.
    """
    # Loads Panel, which `--help` need not wait for.
    from widgets.app import serve as serve_page  # noqa: PLC0415

    try:
        serve_page(
            uris,
            port=port,
            address=address,
            open_browser=show,
            storage_options=storage_options,
            maintenance=maintenance,
        )
    except OSError as error:
        raise StorageError(
            f"The page cannot be served at {address}, port {port}.",
            reason=f"The system says: {error.strerror or error}.",
            remedy="Choose another --port (0 takes a free one) or another --address.",
        ) from error
