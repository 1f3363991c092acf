"""Verbs that another program asks instead of a person at a terminal.

The program calls the verb's function with `as_json=True` within `hosted`: it says how tables
are opened, and takes what would go to standard output. There is no progress then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import explorer
from explorer.cli.options import parse_storage_options

if TYPE_CHECKING:
    from explorer.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Whoever asks in place of a terminal. Both functions may raise `DeltaError`."""

    open_table: Callable[[str], Table]
    write: Callable[[str], object]


_HOST: ContextVar[Host | None] = ContextVar("host", default=None)


@contextmanager
def hosted(host: Host) -> Iterator[None]:
    """Verbs that are called in here, in this thread, answer to `host`."""
    token = _HOST.set(host)
    try:
        yield
    finally:
        _HOST.reset(token)


def is_hosted() -> bool:
    """Whether there is no terminal to report to."""
    return _HOST.get() is not None


def open_named(uri: str, options: list[str] | None) -> Any:
    """The table that an argument of a verb names, with its `--option`s."""
    host = _HOST.get()
    if host is not None:
        return host.open_table(uri)
    return explorer.open_table(uri, parse_storage_options(options))


def write_out(text: str) -> None:
    """What a verb answers."""
    host = _HOST.get()
    if host is None:
        sys.stdout.write(text)
    else:
        host.write(text)
