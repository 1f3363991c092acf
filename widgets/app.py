"""The server of the page: one session per browser tab."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from explorer.storage.location import parse_location
from widgets.served.assembly import build_server, free_port
from widgets.served.settings import ANY_ADDRESS, Settings, check_settings
from widgets.session.access import is_loopback
from widgets.session.page_services import MOST_BYTES
from widgets.session.runs import Runs
from widgets.session.tokens import UNLOCK, Gate

DEFAULT_PORT = 5006
SWITCH_SECONDS = 0.0005
ALLOCATIONS_BETWEEN_LOOKS = 10_000
"""Python's 700 are for small programs: a page makes a hundred thousand objects that stay."""

__all__ = ["DEFAULT_PORT", "build_server", "page_link", "serve"]


def serve(  # noqa: PLR0913 - one name for each thing that can be set
    uris: Sequence[str] | str = (),
    *,
    port: int = DEFAULT_PORT,
    address: str = "127.0.0.1",
    open_browser: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    maintenance: bool = False,
    by: str | None = None,
    catalog: str | None = None,
    scan: Sequence[str] | str = (),
    roots: Sequence[str] | str = (),
    users: str | None = None,
    oauth: str | None = None,
    cookie_secret: str | None = None,
    prefix: str = "",
    origins: Sequence[str] | str = (),
    behind_proxy: bool = False,
    state_dir: str | None = None,
    cache_bytes: int = MOST_BYTES,
) -> None:
    """Serve the page until interrupted.

    `uris` are offered, with the tables of a `catalog` file and those found below `scan`; the
    first of `uris` is opened. With port 0 a free one is taken. On an `address` that other
    machines reach, or behind a proxy, only these tables and what lies below them and below
    `roots` can be opened, and there alone their logs may lead. `storage_options` go to fsspec
    with every table that is opened. What is kept of all open tables takes `cache_bytes`.

    With a `users` file or an `oauth` file people sign in, and their browsers hold cookies
    that `cookie_secret` signs. With `maintenance` those with that role may carry out plans;
    without a sign-in, and on this machine alone, the browser that opens the printed link
    first, which works once. Receipts and commits carry the name of who signed in, or `by`
    where nobody does. What is being carried out when the server is stopped ends between two
    changes, with a receipt.

    Behind a proxy the page lies below the path `prefix`, and `origins` are the hosts by which
    browsers know it; `behind_proxy` believes the proxy's word on who sends a request.

    Raises `InvalidArgumentError` for settings that do not go together, and `OSError` where
    the port is taken.
    """
    settings = Settings(
        uris=_texts(uris),
        port=port,
        address=address,
        storage_options=dict(storage_options or {}),
        maintenance=maintenance,
        by=by,
        catalog=catalog,
        scans=_texts(scan),
        roots=_texts(roots),
        users=users,
        oauth=oauth,
        cookie_secret=cookie_secret,
        prefix=prefix,
        origins=_texts(origins),
        behind_proxy=behind_proxy,
        state_dir=state_dir,
        most_bytes=cache_bytes,
    )
    check_settings(settings)
    serve_settings(settings, open_browser=open_browser)


def serve_settings(settings: Settings, *, open_browser: bool) -> None:
    """Serve the page with `settings` that were checked, until it is stopped."""
    gate = None
    if settings.maintenance and not settings.has_sign_in:
        gate = Gate(settings.port or free_port(settings.address), settings.home)
    runs = Runs()
    running = build_server(settings, gate=gate, runs=runs)
    link = page_link(settings, running.port, gate)
    _say(f"Delta Explorer is at {link}")
    for sentence in running.notices:
        _say(sentence)
    if gate is not None:
        _say("Maintenance is on: the browser that opens this link first may change tables.")
    if open_browser:
        running.show(_path_of(link))
    # Each of the many short turns of the serving thread waits this long for every busy
    # worker: with Python's 5 ms a page takes half a minute while a long log is read.
    sys.setswitchinterval(SWITCH_SECONDS)
    # What is loaded by now stays; to look it through for garbage again and again takes a tenth
    # of what a page does.
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN_LOOKS)
    # Themed plots come back from the browser as models that the server has already.
    warnings.filterwarnings("ignore", message="reference already known")
    try:
        running.run()  # stops itself, by Ctrl-C and by SIGTERM
    finally:
        if runs.num_running:
            _say("Stopping: running plans end after their current step.")
        if runs.stop():
            _say("The running plans have ended; their receipts say what was done.")


def page_link(settings: Settings, port: int, gate: Gate | None = None) -> str:
    """The address of the page, with the table that it opens. Its only secret is the token of a
    `gate`, which is invalid once it was used."""
    address = settings.address
    host = "localhost" if is_loopback(address) or address in ANY_ADDRESS else address
    query = {} if gate is None else {"token": gate.token}
    query |= {"table": parse_location(settings.uris[0]).shown} if settings.uris else {}
    path = settings.home if gate is None else settings.home + UNLOCK[1:]
    named = f"[{host}]" if ":" in host else host
    return f"http://{named}:{port}{path}{'?' + urlencode(query) if query else ''}"


def _texts(value: Sequence[str] | str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the lines that people wait for


def _path_of(link: str) -> str:
    return "/" + link.split("/", 3)[3]
