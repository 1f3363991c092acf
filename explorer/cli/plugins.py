"""Verbs that other packages bring, through the entry-point group `delta_explorer.verbs`.

An entry point is a function that takes the `typer.Typer` and registers its
verbs. One name is special: `open_page` is the function that shows tables in a
browser, which `demo` calls. Nothing is loaded for a verb that is built in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, cast

import typer

from explorer.errors import UnsupportedError

GROUP = "delta_explorer.verbs"
_OPEN_PAGE = "open_page"


class OpenPage(Protocol):
    """Shows tables in a browser; returns when the server has been stopped."""

    def __call__(
        self,
        uris: Sequence[str],
        *,
        port: int,
        address: str,
        show: bool,
        storage_options: Mapping[str, Any] | None,
    ) -> None:
        """Serve the tables at `uris`, and open a browser where `show` says so."""
        ...


def register_plugin_verbs(app: typer.Typer) -> None:
    """Add the verbs of every installed plugin to `app`.

    A plugin that cannot be loaded brings one verb of its name that says why.
    """
    for entry in _entries():
        if entry.name == _OPEN_PAGE:
            continue
        try:
            register = _load(entry)
        except UnsupportedError as error:
            register = _registers_refusal(entry.name, error)
        register(app)


def load_open_page() -> OpenPage:
    """The installed page, or `UnsupportedError` (missing_dependency) without one."""
    for entry in _entries():
        if entry.name == _OPEN_PAGE:
            return cast(OpenPage, _load(entry))
    raise UnsupportedError(
        "The page cannot be opened.",
        reason="The package `widgets` of this distribution is not installed.",
        remedy="Install the whole distribution (pip install delta-explorer), or write the "
        "table alone: delta-explorer demo FOLDER --write-only",
        kind="missing_dependency",
    )


def _registers_refusal(name: str, error: UnsupportedError) -> Callable[[typer.Typer], None]:
    def refuse() -> None:
        raise error

    takes_anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    def register(app: typer.Typer) -> None:
        app.command(name, hidden=True, context_settings=takes_anything)(refuse)

    return register


def _entries() -> Iterator[EntryPoint]:
    # An editable install beside a wheel names each entry twice.
    seen: set[str] = set()
    for entry in entry_points(group=GROUP):
        if entry.name not in seen:
            seen.add(entry.name)
            yield entry


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise UnsupportedError(
            f"The verb `{entry.name}` cannot be loaded.",
            reason=f"Python says: {error}",
            remedy="Install the distribution again with all it needs: pip install delta-explorer",
            kind="missing_dependency",
        ) from error
