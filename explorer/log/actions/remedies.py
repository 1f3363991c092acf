"""What to do about a file of the log that cannot be read (spec: Delta Log Entries)."""

from __future__ import annotations

from typing import Final

_FIRST: Final = "0" * 20
"""How the name of a file begins before which there is no version."""


def restored(name: str) -> str:
    """The way out for the reader of a log file with this name."""
    if name.startswith(_FIRST):
        return "Restore this log file from a backup."
    return "Restore this log file from a backup; versions before it can still be opened."
