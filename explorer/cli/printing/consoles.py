"""Consoles that print text as text, whatever it says."""

from __future__ import annotations

import os
from typing import NoReturn, TextIO

from rich.console import Console

_WIDE = 1000
"""Columns where nobody looks: what goes into a pipe is not cut to a screen."""


def build_console(stream: TextIO) -> Console:
    """A console that treats text as text: no markup, no emoji names, no guessing
    of colours; as wide as the terminal, or wide enough for anything in a pipe."""
    width = None
    if not stream.isatty() and "COLUMNS" not in os.environ:
        width = _WIDE
    return _Console(
        file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False, width=width
    )


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Leave it to `ignore_closed_pipe`; Rich would exit with 1."""
        raise BrokenPipeError
