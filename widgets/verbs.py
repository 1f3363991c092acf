"""What this package adds to the command line (entry points `delta_explorer.verbs`).

`register_serve` adds the verbs `serve` and `password`; `open_page` shows tables, for `demo`.
The page and its libraries are loaded when a page is opened, not for `--help`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from explorer.cli.arguments.options import parse_storage_options
from explorer.cli.help_pages import Group, add_verb
from explorer.errors import InvalidArgumentError, StorageError
from explorer.storage.local_file import read_local_text

SECRET = "DELTA_EXPLORER_COOKIE_SECRET"

_Many = list[str] | None
_GROUP: Final[Group] = "Page and installation"
_SERVED = "Options of a server for others"


def register_serve(app: typer.Typer) -> None:
    """Add the verbs `serve` and `password` to the command line."""
    add_verb(app, "serve", _GROUP, _serve)
    add_verb(app, "password", _GROUP, _password)


def _serve(  # noqa: PLR0913, PLR0917 - the options of a command line
    uris: Annotated[_Many, typer.Argument(metavar="URI...", help="Tables to show.")] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 5006,
    address: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    show: Annotated[  # noqa: FBT002 - typer turns it into --open and --no-open
        bool, typer.Option("--open/--no-open", help="Open a browser on the page.")
    ] = True,
    option: Annotated[
        _Many,
        typer.Option("--option", metavar="KEY=VALUE", help="A storage option; may be repeated."),
    ] = None,
    maintenance: Annotated[  # noqa: FBT002 - a flag of the command line
        bool,
        typer.Option(
            "--maintenance",
            help="Let people with the maintenance role change tables; without sign-in, the "
            "browser that opens the printed link.",
        ),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Who changes tables where nobody signs in: receipts and commits carry the name.",
        ),
    ] = None,
    catalog: Annotated[
        str | None, typer.Option(metavar="FILE", help="List the tables of a YAML or TOML file.")
    ] = None,
    scan: Annotated[
        _Many, typer.Option(metavar="FOLDER", help="List the tables below it; may be repeated.")
    ] = None,
    state_dir: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where plans and receipts are kept.")
    ] = None,
    cache: Annotated[
        int, typer.Option(min=16, metavar="MIB", help="The memory for open tables.")
    ] = 512,
    root: Annotated[
        _Many,
        typer.Option(
            metavar="PLACE",
            help="Below it tables may be opened and logs may point; may be repeated.",
            rich_help_panel=_SERVED,
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The people who may sign in; see `password`.",
            rich_help_panel=_SERVED,
        ),
    ] = None,
    oauth: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Sign in through an OAuth provider.", rich_help_panel=_SERVED
        ),
    ] = None,
    cookie_secret_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help=f"The secret that signs cookies; or set {SECRET}.",
            rich_help_panel=_SERVED,
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="Serve below this path, such as /delta.", rich_help_panel=_SERVED
        ),
    ] = "",
    origin: Annotated[
        _Many,
        typer.Option(
            metavar="HOST[:PORT]",
            help="A host by which browsers reach the page; may be repeated.",
            rich_help_panel=_SERVED,
        ),
    ] = None,
    behind_proxy: Annotated[  # noqa: FBT002 - a flag of the command line
        bool,
        typer.Option(
            "--behind-proxy",
            help="Trust a proxy's X-Forwarded headers.",
            rich_help_panel=_SERVED,
        ),
    ] = False,
) -> None:
    """Show tables in a browser.

    Listens on this machine only unless --address says otherwise; then only
    the tables named here can be opened. Nothing can be changed unless
    --maintenance is given. See docs/serving.md for a server for a team.

    Example: delta-explorer serve ./orders s3://bucket/events --option anon=true
    """  # fmt: skip
    serve_tables(
        uris or [],
        port=port,
        address=address,
        open_browser=show,
        storage_options=parse_storage_options(option),
        maintenance=maintenance,
        by=by,
        catalog=catalog,
        scan=scan or (),
        state_dir=state_dir,
        cache_bytes=cache * 2**20,
        roots=root or (),
        users=users,
        oauth=oauth,
        cookie_secret=read_secret(cookie_secret_file),
        prefix=prefix,
        origins=origin or (),
        behind_proxy=behind_proxy,
    )


def _password(
    name: Annotated[str, typer.Argument(help="The person's name.")],
    maintenance: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--maintenance", help="With the right to change tables.")
    ] = False,
    stdin: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--stdin", help="Read the password from standard input.")
    ] = False,
) -> None:
    """Print a line for the users file of `serve --users`.

    Asks for the password twice and shows it nowhere. The line holds the name,
    the role and a salted scrypt hash.

    Example: delta-explorer password anna --maintenance >> users.txt
    """
    from widgets.session.people import render_user  # noqa: PLC0415  # loads with the package

    if stdin:
        password = typer.get_text_stream("stdin").readline().rstrip("\r\n")
    else:
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < 8:
        raise InvalidArgumentError(
            "This password is too short.",
            reason="It has fewer than eight characters.",
            remedy="Choose a longer one; some words in a row are easy to keep in mind.",
        )
    typer.echo(render_user(name, "maintenance" if maintenance else "read-only", password))


def read_secret(file: str | None) -> str | None:
    """The cookie secret in a file, or in the environment; None where neither is given."""
    if file is None:
        return os.environ.get(SECRET) or None
    try:
        return read_local_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(
            f"The cookie secret {file} cannot be read.",
            reason=getattr(error, "strerror", None) or "It is not text.",
            remedy=f"Name a file that this user may read, or set {SECRET}.",
        ) from error


def open_page(
    uris: Sequence[str],
    *,
    port: int,
    address: str,
    show: bool,
    storage_options: Mapping[str, Any] | None,
) -> None:
    """Show tables in a browser; returns when the server has been stopped.

    Raises `DeltaError` for a place that cannot be one, or an address or port
    that cannot be listened on.
    """
    serve_tables(
        uris, port=port, address=address, open_browser=show, storage_options=storage_options
    )


def serve_tables(uris: Sequence[str], *, port: int, address: str, **named: Any) -> None:
    """`widgets.serve`, where the system's refusal to listen is a `StorageError`."""
    # Loads Panel, which `--help` need not wait for.
    from widgets.app import serve as serve_page  # noqa: PLC0415

    with _telling_of_sockets(address, port):
        serve_page(uris, port=port, address=address, **named)


@contextmanager
def _telling_of_sockets(address: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The page cannot be served at {address}, port {port}.",
            reason=f"The system says: {error.strerror or error}.",
            remedy="Choose another --port (0 takes a free one) or another --address.",
        ) from error
