"""The streams that are written to, and progress on the one of them that is a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from explorer.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_PATIENCE_SECONDS = 0.4
"""Work that is done by then shows no bar: one that flashes up says nothing."""


def is_looked_at(stream: TextIO) -> bool:
    """Whether colours and the width of a screen matter to what is written there, as Rich decides
    it: a terminal, or a pipe that the environment says to treat as one or gives a width."""
    asked = os.environ.get
    return (
        stream.isatty()
        or bool(asked("FORCE_COLOR"))
        or asked("TTY_COMPATIBLE") == "1"
        or "COLUMNS" in os.environ
    )


def escape_unencodable_output() -> None:
    """Let the output streams write every string that a table may hold, whatever
    the encoding of the terminal: what it cannot show appears escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def ignore_closed_pipe() -> Iterator[None]:
    """End quietly what is written to a pipe whose reader has seen enough (`| head`).

    Used around each verb, because typer would answer exit code 1.
    """
    try:
        yield
    except BrokenPipeError:
        # what is left goes to nowhere, so that closing the stream does not fail
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextmanager
def show_progress() -> Iterator[ProgressCallback | None]:
    """A callback for long work, or None where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with ProgressLine() as line:
        yield line.report


class ProgressLine:
    """One bar on standard error, which appears when work takes its time and
    goes away when it is done."""

    def __init__(self) -> None:
        self._appears_at = time.monotonic() + _PATIENCE_SECONDS
        self._bar: Bar | None = None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def report(self, progress: Progress) -> None:
        """Draw one report; nothing while the work is young."""
        if self._bar is None:
            if time.monotonic() < self._appears_at:
                return
            self._bar = _start_bar()
        task = self._bar.task_ids[0]
        self._bar.update(
            task, completed=progress.done, total=progress.total, description=progress.label
        )


def _start_bar() -> Bar:
    # most work shows no bar, and Rich takes longer to import than a small table to open
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    from explorer.cli.printing.consoles import build_console  # noqa: PLC0415

    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        console=build_console(sys.stderr),
        transient=True,
    )
    bar.add_task("", total=None)
    bar.start()
    return bar
