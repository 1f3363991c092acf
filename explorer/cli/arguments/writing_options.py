"""What the verbs share that write rows and create tables: their options, and how a write is
stopped."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from explorer.cli.printing.terminal import show_progress
from explorer.errors import InvalidArgumentError
from explorer.progress import Cancel, Watch

PartitionBy = Annotated[
    list[str] | None,
    typer.Option(
        "--partition-by",
        metavar="COLUMN",
        help="Partition the new table by this column; may be repeated.",
    ),
]
ClusterBy = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster-by",
        metavar="COLUMN",
        help="Cluster the new table by this column; may be repeated.",
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        metavar="KEY=VALUE",
        help="A property of the new table; may be repeated.",
    ),
]
UserMetadata = Annotated[
    str | None,
    typer.Option("--user-metadata", metavar="TEXT", help="A text that the commit records."),
]
WrittenBy = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who does it; the commit records this name."),
]
ApplyWrite = Annotated[
    str | None,
    typer.Option(
        "--apply",
        metavar="DIGEST",
        help="Carry out exactly the plan with this digest, with the same files and options. "
        "Without it nothing is changed.",
    ),
]


def as_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """The values of an option that may be repeated."""
    return tuple(given or ())


def parse_transaction(text: str | None) -> tuple[str, int] | None:
    """`nightly load:42` as an application id and its version; raises `InvalidArgumentError`."""
    if text is None:
        return None
    name, _, number = text.rpartition(":")
    try:
        version = int(number)
    except ValueError:
        version = None
    if not name or version is None:
        raise InvalidArgumentError(
            f"{text[:60]!r} is not a transaction.",
            reason="A transaction is the id of an application and a whole number.",
            remedy="Write it as 'nightly load:42'.",
        )
    return name, version


@contextmanager
def watched_write() -> Iterator[Watch]:
    """Progress on a terminal, and an interrupt that lets the write end in order: what it wrote
    is removed, and nothing is committed. A second one ends it at once."""
    cancel = Cancel()

    def stop(_number: int, _frame: Any) -> None:
        if cancel.is_cancelled:
            raise KeyboardInterrupt
        cancel.cancel()
        sys.stderr.write("Stopping...\n")

    # only the main thread hears signals
    hears = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, stop) if hears else None
    try:
        with show_progress() as progress:
            yield Watch(progress=progress, cancel=cancel)
    finally:
        if hears:
            signal.signal(signal.SIGINT, before)
